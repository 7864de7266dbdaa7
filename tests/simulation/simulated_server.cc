#include "tests/simulation/simulated_server.h"

#include <array>
#include <utility>

#include <boost/json/parse.hpp>

#include "domain/check.h"
#include "domain/evolve.h"
#include "domain/pipeline.h"
#include "projections/history_base.h"
#include "server/engine/engine.h"
#include "server/followers/recorded_run.h"
#include "server/rpc/command_call.h"
#include "server/rpc/due_leases.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/results.h"
#include "server/scheduler/incarnation.h"
#include "store/sha256.h"
#include "tests/simulation/network.h"
#include "tests/simulation/runner_client.h"
#include "tests/simulation/simulated_job_runner.h"
#include "tests/simulation/tampering.h"

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

void fill(SeededRandom& random, std::span<std::byte> bytes) {
  for (std::byte& each : bytes) each = static_cast<std::byte>(random.below(256));
}
constexpr std::size_t jobs_max = 3;

constexpr std::int64_t watchdog_interval_ms = 2000;

}  // namespace

World fold(const EventLog& log, Mutant mutant) {
  World world = initial_world(log).value();
  if (mutant == Mutant::dropped_dedupe) {
    world.commands = Remembered<std::string, RememberedCommand>{0};
  }
  const auto scanned = log.scan(world.position + 1, log.tail(), [&world](Record&& record) {
    evolve(world, record);
    return true;
  });
  SIGNALBOX_CHECK(scanned.has_value());
  return world;
}

SimulatedServer::SimulatedServer(Environment& environment, SimulatedDisk& disk,
                                 SimulatedMachine& machine, Witness& witness, RunRootFiles& files,
                                 std::shared_ptr<SimulatedRepositories> repositories,
                                 const BoardRhythm& rhythm, Owner owner, World world,
                                 const CellSite* site)
    : environment_(environment),
      site_(site),
      disk_(disk),
      machine_(machine),
      witness_(witness),
      files_(files),
      repositories_(std::move(repositories)),
      owner_(owner),
      ids_(environment.random),
      reading_ids_(environment.reading_random),
      lease_clock_(environment),
      engine_(std::move(world), environment.schedule, hooks()),
      index_(table_),
      projector_(disk.log(), index_,
                 [this](const StoreError& error) { environment_.violate(error.message); }),
      claims_(
          engine_, ids_,
          [this](std::span<const Record> records) { return claim_result(api_, records); },
          [this](const Origin& origin, const Responder& responder) {
            Call call{{}, origin, responder};
            answered_before(api_, call, claim_result);
          },
          [this](const std::optional<Token>& lock_token) {
            if (environment_.mutant != Mutant::claim_under_old_lock) {
              expire_due_lock(api_, lock_token);
            }
          },
          [this] { schedule_turn(); }),
      locks_(api_, [this] { schedule_turn(); }),
      steps_(api_, [this] { schedule_turn(); }),
      timer_loop_({engine_, lease_clock_, claims_, locks_, steps_}, watchdog_interval_ms,
                  {[this](const ClockJump& jump) {
                     environment_.note("clock jump: " + jump.cause);
                     timers_before_jump_ = timer_loop_.timers();
                     post([this, cause = jump.cause] {
                       if (stopping_) return;
                       tamper_with_due(environment_.mutant, engine_, loops_, environment_.schedule);
                       loops_.clock_jumped(cause);
                     });
                   },
                   [this](const OverdueItem& item) {
                     environment_.note("overdue: " + item.what);
                     if (!item.job_id.empty()) jobs_.end_overdue(item.job_id);
                   },
                   [] {}}),
      board_({engine_, environment.schedule, ids_, board_files_pool(), repositories_,
              [this](Position position, const std::set<std::string>& run_ids) {
                return over(position, run_ids);
              },
              [this](Position position, const RunId& run_id) {
                return find_failed_run(projector_, disk_.log(), position, run_id);
              },
              [this](bool, const std::string& text) { environment_.note("board: " + text); }},
             read_board_settings(rhythm.texts).value(), CoderunnerMode::mock),
      redactions_(redaction_parts()),
      loops_(engine_),
      feed_(
          disk.log(),
          [this](const StoreError& error) {
            if (error.kind != StoreError::Kind::dropped) environment_.violate(error.message);
          },
          reading_pool()),
      runners_(environment.schedule.monotonic_ns(),
               [this](const std::string& runner) {
                 post([this, runner] { runner_queue_.wake(runner); });
               }),
      runner_queue_(engine_, environment.schedule, runners_, runner_removals_),
      runner_executor_({[](const std::string& job_id) { return "secret of " + job_id; }}, runners_),
      executor_(site != nullptr ? site->machine : machine, machine, runner_executor_),
      artifacts_("/nonexistent"),
      authentication_(engine_, environment.schedule, {}),
      api_(api(ids_, blocking_pool(),
               [this](std::function<void()> action) { post(std::move(action)); })),
      reading_api_(api(reading_ids_, reading_pool(),
                       [this](std::function<void()> action) {
                         environment_.reading.after(0, owner_, std::move(action));
                       })),
      dispatcher_(api_, all_methods(method_parts())),
      reading_dispatcher_(reading_api_, all_methods(method_parts())),
      committer_(environment, disk, owner,
                 [this](CommitOutcome outcome) { engine_.on_committed(std::move(outcome)); }),
      jobs_(
          engine_, ids_,
          [this, &environment, owner](JobReports reports) {
            return std::make_unique<SimulatedJobRunner>(environment, executor_, owner,
                                                        std::move(reports));
          },
          [this](std::function<void()> action) {
            environment_.schedule.after(environment_.random.between(0, 5000) * ns_per_us, owner_,
                                        [this, action = std::move(action)] {
                                          if (!stopping_) action();
                                        });
          },
          [this](const Job& job, const std::string& text) {
            environment_.note("job " + job.id + ": " + text);
          },
          {.ownership = ownership(),
           .runs_root = "/runs",
           .jobs_max = jobs_max,
           .runners = RunnerClient::is_in(environment.seed)
                          ? FindRunners([this] { return runners_.offers(); })
                          : nullptr,
           .note_late_usage = [this](const Job& job, const Usage& used) {
             note_usage(job, used);
           }}) {
  if (site != nullptr) {
    const auto done = [this](CommitOutcome outcome) { engine_.on_committed(std::move(outcome)); };
    seat_ = std::make_unique<SimulatedSeat>(environment, *site, disk.log(), owner, done);
    api_.refuses_commands = [this] { return cell_refusal(); };
    api_.ownership = std::make_shared<const JobOwnership>(ownership());
    reading_api_.refuses_commands = api_.refuses_commands;
    engine_.set_committer(*seat_);
  } else {
    engine_.set_committer(committer_);
  }
  loops_.add(board_);
  if (environment_.retains) add_retention();
  if (environment_.redacts) redact_later();
}

SimulatedServer::~SimulatedServer() = default;

Engine::Hooks SimulatedServer::hooks() {
  return {
      [this](std::span<const Record> records) {
        witness_.applied(engine_.world(), records);
        if (stands_by_) return;
        files_.applied(records);
        apply(records);
        if (retention_) retention_->note_applied(records);
        redactions_.note_applied(records);
        if (environment_.mutant == Mutant::effect_before_commit) {
          jobs_.apply(Commit(records.begin(), records.end()));
        }
        if (environment_.mutant == Mutant::event_before_commit) {
          feed_.publish(std::array{Commit(records.begin(), records.end())});
        }
        schedule_turn();
      },
      [this](const CommitOutcome& outcome) {
        witness_.durable(disk_.whole());
        if (environment_.mutant != Mutant::effect_before_commit) {
          for (const Commit& commit : outcome.batch) {
            if (!stands_by_) jobs_.apply(commit);
          }
        }
        for (const Commit& commit : outcome.batch) {
          if (stands_by_) break;
          if (runners_.apply(commit)) schedule_turn();
          files_.observe(commit);
          if (!stopping_) loops_.apply(commit);
        }
        project_later();
        if (environment_.mutant != Mutant::event_before_commit) feed_.publish(outcome.batch);
        if (stopping_) post([this] { stop_when_idle(); });
      },
      [this](const std::string& why) {
        if (!stands_by_) return environment_.crash("fatal: " + why);
        post([this] { stop_when_idle(); });  // it gave its last append up itself
      },
      [this](const std::string&) { return roll_back(); },
      [this](const std::string& why) { deposed(why); },
  };
}

Api SimulatedServer::api(IdSource& ids, const BlockingPool& pool, Post post_to_engine) {
  Api api{engine_,
          disk_.log(),
          projector_,
          artifacts_,
          timer_loop_.timers(),
          environment_.schedule,
          ids,
          {"/data", "/data/signalbox.sock", environment_.schedule.wall_ns()},
          pool,
          pool,
          pool,
          std::move(post_to_engine),
          [this](Position position, RunRootFiles::Written written) {
            files_.when_written(position, std::move(written));
          },
          [this](const std::filesystem::path& path, std::size_t) {
            return files_.look(path.string());
          }};
  api.renew_lease = [this](const Run& run) {
    if (environment_.mutant != Mutant::unheard_renewals && !timer_loop_.renew_lease(run)) {
      return false;
    }
    witness_.renewed(run.attempt->token);
    return true;
  };
  api.renew_step_lease = [this](const Run& run, const StepState& step) {
    if (!timer_loop_.renew_lease(run, step)) return false;
    witness_.renewed(step.token);
    return true;
  };
  api.is_dropped = [this](const RunId& run_id) {
    return retention_ && retention_->has_dropped(run_id);
  };
  return api;
}

MethodParts SimulatedServer::method_parts() {
  MethodParts parts{claims_,
                    locks_,
                    steps_,
                    feed_,
                    loops_,
                    [this] { return digest(); },
                    trace_resource("signalbox", "/data")};
  parts.access = access_parts(authentication_);
  parts.access.random = [this](std::span<std::byte> bytes) { fill(environment_.random, bytes); };
  parts.runners->random = parts.access.random;
  if (RunnerClient::is_in(environment_.seed)) add_runners(*parts.runners);
  parts.trigger_heartbeat = [this](const std::string& reason) { board_.trigger_heartbeat(reason); };
  parts.check_repository = [this](const PutProject& command) {
    return repositories_->check(command);
  };
  parts.find_repository_fault = [](const std::string&) { return std::nullopt; };
  return parts;
}

tl::expected<std::set<std::string>, std::string> SimulatedServer::over(
    Position position, const std::set<std::string>& run_ids) {
  if (environment_.mutant == Mutant::failed_run_orphaned) return run_ids;
  return runs_over(projector_, position, run_ids);
}

void SimulatedServer::apply(std::span<const Record> records) {
  tamper_with(environment_.mutant, engine_.world(), records);
  for (const Record& record : records) {
    if (const auto command = injected_command(environment_.mutant, record)) {
      post([this, command = *command] { (void)engine_.begin(by_the_service).apply(command); });
    }
  }
  const bool is_beat = event_as<StationHeartbeat>(records.front().event) != nullptr;
  if (is_beat && environment_.mutant == Mutant::unheard_beats) return;
  timer_loop_.apply(records);
  if (environment_.mutant == Mutant::jump_ends_leases && timers_before_jump_) {
    timer_loop_.timers() = *std::exchange(timers_before_jump_, std::nullopt);
  }
}

void SimulatedServer::post(Schedule::Action action) {
  environment_.schedule.after(0, owner_, std::move(action));
}

JobOwnership SimulatedServer::ownership() const {
  const bool is_apart = site_ != nullptr && environment_.mutant != Mutant::absent_means_never_ran;
  return {is_apart ? "machine of " + site_->server : "simulated machine",
          [](const std::string&) { return false; }};
}

void SimulatedServer::start() {
  SIGNALBOX_CHECK(projector_.catch_up().has_value());
  if (seat_) return stand_by();
  begin_serving();
  if (RunnerClient::is_in(environment_.seed)) sweep_runners();
}

void SimulatedServer::begin_serving() {
  files_.start(disk_.whole(), owner_);
  announce_start();
  conclude_retention(engine_, disk_.log().horizon().dropped_at);
  environment_.dropped.going.clear();  // only a drop that is durable outlives a life
  started_ = true;
  if (environment_.mutant != Mutant::forgotten_timers) timer_loop_.arm(engine_.world());
  jobs_.adopt();
  loops_.arm();
  schedule_turn();
}

void SimulatedServer::announce_start() {
  if (environment_.mutant == Mutant::silent_recovery) {
    engine_.begin(by_the_service).apply(StartServer{"simulated"}).value();
  } else {
    const auto begun = begin_incarnation(
        engine_, {"simulated", environment_.schedule.wall_ns(), 0},
        {[this](const Run& run) { return executor_.poll(job_of(run, "/data/runs")); },
         [own = ownership()](const Run& run) { return own.is_elsewhere(run); },
         [](const std::string& report) -> Stored<Artifact> {
           return Artifact{"crash_report.json", "application/json", report.size(), sha256(report)};
         }});
    SIGNALBOX_CHECK(begun.has_value());
  }
  incarnation_ = engine_.world().server.incarnation;
}

void SimulatedServer::receive(const std::string& line, const std::string& actor,
                              const std::shared_ptr<SimulatedPeer>& peer) {
  post([this, line, actor, peer] { handle(line, actor, peer); });
}

void SimulatedServer::handle(const std::string& line, const std::string& actor,
                             const std::shared_ptr<SimulatedPeer>& peer) {
  check_clocks();
  project_later();  // queries read the projections
  const std::string taken = tampered_line(environment_.mutant, engine_.world(), line);
  if (!peer->caller()) return dispatcher_.handle(taken, {actor, Role::admin}, peer);
  witness_.handled(std::string(json::parse(line).at("id").as_string()), peer->caller()->token_id);
  const Decided<Principal> principal = principal_of(*peer->caller());
  if (principal) {
    dispatcher_.handle(taken, *principal, peer);
  } else {
    dispatcher_.handle_unknown(taken, peer->caller()->actor(), principal.error(), peer);
  }
}

void SimulatedServer::receive_reading(const std::string& line, const std::string& actor,
                                      const std::shared_ptr<Peer>& peer) {
  environment_.reading.after(0, owner_, [this, line, actor, peer] {
    reading_dispatcher_.handle(tampered_line(environment_.mutant, engine_.world(), line),
                               {actor, Role::admin}, peer);
  });
}

Decided<Principal> SimulatedServer::principal_of(const signalbox::Caller& caller) {
  Decided<Principal> principal = authentication_.of(caller);
  if (environment_.mutant != Mutant::revoked_token_works || !caller.token_id) return principal;
  if (principal) {
    // Without the token itself, about which the engine would ask.
    known_principals_[*caller.token_id] = *principal;
    known_principals_[*caller.token_id].access_token = {};
    return principal;
  }
  const auto known = known_principals_.find(*caller.token_id);
  return known == known_principals_.end() ? principal : known->second;
}

}  // namespace signalbox::simulation
