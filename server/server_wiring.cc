// Constructs the parts of the service and connects them with each other. server_methods.cc,
// server_transport.cc, server_jobs.cc, server_files.cc and server_rewriting.cc each do that for
// their part. server.cc has what the service does afterwards: run, take turns, roll back.
#include <algorithm>
#include <iterator>
#include <utility>

#include <boost/asio/post.hpp>

#include "server/access/secret.h"
#include "server/followers/recorded_run.h"
#include "server/followers/run_root/run_root_disk.h"
#include "server/platform/call_bounds.h"
#include "server/platform/child_process.h"
#include "server/platform/service_manager.h"
#include "server/rpc/attempt_surroundings.h"
#include "server/rpc/command_call.h"
#include "server/rpc/due_leases.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/methods/service_conditions.h"
#include "server/rpc/query_turns.h"
#include "server/rpc/results.h"
#include "server/server.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;

// Jobs don't get the credentials of the store of artifacts.
std::vector<std::string> environment_of_jobs(const Config& config) {
  std::vector<std::string> variables = environment_of_children();
  if (!config.artifacts || !config.artifact_texts.credentials.empty()) return variables;
  std::erase_if(variables, [](const std::string& variable) {
    return std::any_of(std::begin(aws_variables), std::end(aws_variables), [&](const char* name) {
      return variable.starts_with(std::string(name) + "=");
    });
  });
  return variables;
}

}  // namespace

Server::Server(Config& config, Recovered& recovered, RunIndex& index, spdlog::logger& logger,
               const Given& given)
    : config_(config),
      torn_bytes_(recovered.torn_bytes),
      job_key_(given.job_key),
      failing_(given.failing),
      log_(*recovered.log),
      cell_(given.cell),
      logger_(logger),
      machine_(given.machine),
      artifacts_(config.data / "artifacts", config.artifacts),
      processes_({config.data / "jobs", own_program, config.socket, environment_of_jobs(config),
                  [this](const std::string& job_id) { return make_job_secret(job_key_, job_id); },
                  commit_in_log(),
                  [this](const std::filesystem::path& directory) {
                    return make_run_directory(directory, run_root_rule_.get());
                  }},
                 artifacts_),
      modal_({config.data / "jobs", environment_of_jobs(config)}, artifacts_),
      runners_(clock_.monotonic_ns(),
               [this](const std::string& runner) {
                 asio::post(io_, [this, runner] { runner_queue_.wake(runner); });
               }),
      at_runners_({[this](const std::string& job_id) { return make_job_secret(job_key_, job_id); },
                   commit_in_log()},
                  runners_),
      executor_(processes_, modal_, at_runners_),
      engine_(std::move(recovered.world), clock_, hooks()),
      projector_(
          log_, index, [this](const StoreError& error) { fail_from_thread(error); }, log_outcome(),
          [this](const Rebuild& rebuild) { note_rebuild(rebuild); }),
      log_check_(log_, [this](const std::string& text) { logger_.error("{}", text); }),
      snapshotter_(log_, snapshots_directory(config.data), config.snapshot_events,
                   recovered.snapshot_position,
                   [this](bool ok, const std::string& text) {
                     logger_.log(ok ? spdlog::level::debug : spdlog::level::warn, text);
                   }),
      run_root_rule_(std::make_shared<RunRootRule>(config.data, config.run_roots)),
      run_roots_(log_, projector_, config.data, log_outcome(),
                 run_root_lane(lanes_.run_root_writes), run_root_rule_),
      traces_(log_, projector_, config.traces, config.data, log_outcome()),
      claims_(
          engine_, ids_,
          [this](std::span<const Record> records) { return claim_result(api_, records); },
          [this](const Origin& origin, const Responder& responder) {
            Call call{{}, origin, responder};
            answered_before(api_, call, claim_result);
          },
          [this](const std::optional<Token>& lock_token) { expire_due_lock(api_, lock_token); },
          [this] { schedule_turn(); }),
      locks_(api_, [this] { schedule_turn(); }),
      steps_(api_, [this] { schedule_turn(); }),
      runner_queue_(engine_, clock_, runners_, runner_removals_),
      timer_loop_({engine_, clock_, claims_, locks_, steps_,
                   [this](const Attempt& attempt) {
                     return runners_.has_job(attempt.machine, attempt.job_id);
                   }},
                  config.watchdog_interval_ms, timer_loop_reports()),
      board_({engine_, clock_, ids_, blocking_pool(lanes_.repositories, /*while_serving=*/true),
              board_files(),
              [this](Position position, const std::set<std::string>& run_ids) {
                return runs_over(projector_, position, run_ids);
              },
              [this](Position position, const RunId& run_id) {
                return find_failed_run(projector_, log_, position, run_id);
              },
              log_outcome(), removal_at_runner()},
             read_board_settings(config.board).value(), config.coderunner_mode),
      loops_(engine_),
      retention_(retention_loop(given.stage_retention)),
      redactions_(redaction_parts(given.plan_redaction)),
      file_markers_(config.data),
      file_retention_(file_retention()),
      feed_(
          log_,
          [this](const StoreError& error) {
            logger_.error("events can't be read for a subscriber: {}", error.message);
          },
          blocking_pool(lanes_.backlogs, /*while_serving=*/false)),
      agent_logs_(agent_log_context()),
      authentication_(engine_, clock_, access_settings(config)),
      metrics_(
          {engine_, log_, projector_, claims_, feed_, traces_, loops_,
           [this] { return retention_ && retention_->latest() && retention_->latest()->failed(); },
           [this] { return log_check_.trouble().has_value(); },
           [this] { return run_roots_.failure_count(); },
           [this] { return !settings_reload_.status().error.empty(); },
           [this]() -> std::int64_t { return tls_ ? tls_->certificate.not_after_ns : 0; },
           config.data.string(), [this] { return listener_.figures(); },
           [this] { return cell_view(); },
           [this]() -> const FileRetentionReport* {
             if (!file_retention_ || !file_retention_->measured()) return nullptr;
             return &*file_retention_->measured();
           },
           [this] {
             return file_retention_ && file_retention_->latest() &&
                    !file_retention_->latest()->error.empty();
           },
           [this] { return attention_bounds(api_); },
           [this] { return count_conditions(api_, service_sources()); }},
          clock_.wall_ns()),
      past_worlds_({log_,
                    clock_,
                    config.data,
                    blocking_pool(lanes_.past_worlds, /*while_serving=*/false),
                    {},
                    [this] { return present_facts(); },
                    std::shared_ptr<ArtifactStore>(std::shared_ptr<void>(), &artifacts_)}),
      api_(api()),
      dispatcher_(api_, all_methods(method_parts())),
      listener_(io_, http_service()),
      signals_(io_, SIGTERM, SIGINT),
      clock_timer_(io_),
      listen_timer_(io_),
      token_timer_(io_),
      runner_timer_(io_),
      space_watch_(io_, config.data),
      agent_log_timer_(io_),
      cell_timer_(io_),
      answers_timer_(io_),
      certificate_watch_(io_, clock_, log_outcome()),
      settings_reload_(config, given.reload_source,
                       blocking_pool(lanes_.files, /*while_serving=*/false), clock_, logger,
                       [this](const Config& changed, const std::optional<TlsIdentity>& tls) {
                         apply_settings(changed, tls);
                       }) {
  api_.query_turns = std::make_shared<QueryTurns>(post_to_engine());
  api_.renew_lease = [this](const Run& run) { return timer_loop_.renew_lease(run); };
  api_.renew_step_lease = [this](const Run& run, const StepState& step) {
    return timer_loop_.renew_lease(run, step);
  };
  api_.ask_past = [this](PastQuestion question, const Responder& responder) {
    past_worlds_.ask(std::move(question), responder);
  };
  wire_runners();
  if (cell_ != nullptr) wire_cell();
  api_.compare_past = [this](PastComparison question, const Responder& responder) {
    past_worlds_.compare(std::move(question), responder);
  };
  if (config_.artifacts) {
    api_.artifact_store.emplace(blocking_pool(lanes_.artifact_store, /*while_serving=*/false));
  }
  loops_.add(board_);
  if (retention_) loops_.add(*retention_);
  if (file_retention_) loops_.add(*file_retention_);
}

// Mostly the threads have ended in run(). Lanes end before what their work refers to.
Server::~Server() { (void)lanes_.stop(CallBounds::never_ms); }

Post Server::post_to_engine() {
  return [this](std::function<void()> action) { asio::post(io_, std::move(action)); };
}

Post Server::post_while_serving() {
  return [this](std::function<void()> action) {
    asio::post(io_, [this, action = std::move(action)] {
      if (!stopping_) action();
    });
  };
}

BlockingPool Server::blocking_pool(LanePool& lanes, bool while_serving) {
  return {[&lanes](Lane lane, std::function<void()> work) {
            lanes.run(std::move(lane), std::move(work));
          },
          [this, while_serving](std::function<void()> then) {
            asio::post(io_, [this, while_serving, then = std::move(then)] {
              check_clocks();  // this process may have been stopped
              if (!while_serving || !stopping_) then();
            });
          }};
}

Engine::Hooks Server::hooks() {
  return {
      [this](std::span<const Record> records) {
        redactions_.note_applied(records);
        if (stands_by_) return end_revoked(records);
        timer_loop_.apply(records);
        if (retention_) retention_->note_applied(records);
        end_revoked(records);
        schedule_turn();
      },
      [this](const CommitOutcome& outcome) {
        for (const Commit& commit : outcome.batch) {
          if (runners_.apply(commit)) schedule_turn();
          if (stands_by_) continue;
          jobs_->apply(commit);
          set_job_pauses(job_pauses_of(engine_.world(), commit));
          if (!stopping_) loops_.apply(commit);
          for (const Record& record : commit) event_lines_.write(record);
        }
        metrics_.apply(outcome);
        projector_.notify();
        if (!stands_by_) run_roots_.apply(engine_.world(), outcome.batch);
        feed_.publish(outcome.batch);
        snapshotter_.offer(outcome.frontier);
        // Posted, not called: actions that this commit releases may still apply commands.
        if (stopping_) asio::post(io_, [this] { stop_when_idle(); });
      },
      [this](const std::string& why) {
        // A deposed server has given its last append up itself.
        if (!stands_by_) fail(74, "the log can't be written: " + why);
      },
      [this](const std::string& why) { return roll_back(why); },
      [this](const std::string& why) {
        // What was appended is durable in the cell's log, also if this server's disk has no space.
        if (member_) member_->ask_to_stop(/*lets_go=*/true, successor_);
        step_down(why);
      },
  };
}

void Server::apply_settings(const Config& config, const std::optional<TlsIdentity>& tls) {
  logger_.set_level(spdlog::level::from_str(config.log_level));
  listener_.use_host_rule(HostRule(config.http_hosts));
  authentication_.use(access_settings(config));
  api_.facts.jobs_max = config.jobs_max;
  api_.facts.remote_jobs_max = config.remote_jobs_max;
  api_.facts.connections_max = config.connections_max;
  api_.facts.caller_connections_max = config.caller_connections_max;
  jobs_->use_limits(config.jobs_max, config.remote_jobs_max);
  listener_.use_limits(connection_limits(config));
  if (tls) use_tls(*tls);
  (void)resolve_run_roots();
  schedule_turn();  // there may be slots for stations that wait
}

TimerLoop::Reports Server::timer_loop_reports() {
  return {
      [this](const ClockJump& jump) {
        logger_.warn("{}: {} ms by the wall clock, {} ms by the monotonic one; all leases restart",
                     jump.cause, jump.wall_ms, jump.monotonic_ms);
        asio::post(io_, [this, cause = jump.cause] {
          if (acts()) loops_.clock_jumped(cause);
        });
      },
      [this](const OverdueItem& item) {
        // Each sweep finds the job again until it has ended: that is said once.
        const bool is_news = item.job_id.empty() || jobs_->end_overdue(item.job_id);
        if (is_news) logger_.warn("watchdog: {}", item.what);
      },
      // Pauses are set again, because a job may have got its directory after its run was paused.
      [this] { set_job_pauses(all_job_pauses(engine_.world())); },
  };
}

}  // namespace signalbox
