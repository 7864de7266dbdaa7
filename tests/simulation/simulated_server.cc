#include "tests/simulation/simulated_server.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "domain/check.h"
#include "domain/evolve.h"
#include "server/rpc/command_call.h"
#include "server/rpc/results.h"
#include "tests/simulation/simulated_job_runner.h"

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

const Origin by_the_service{"signalbox", {}, {}};
constexpr std::size_t jobs_max = 3;

// Mutant: whoever speaks for a station is taken for its holder.
std::string with_present_token(const World& world, const std::string& line) {
  json::object request = json::parse(line).as_object();
  json::object& params = request.at("params").as_object();
  if (!params.contains("token")) return line;
  const auto id = parse_uuid(std::string(params.at("run_id").as_string()));
  const Run* run = id ? world.find_run(*id) : nullptr;
  if (run == nullptr || !run->attempt) return line;
  params["token"] = run->attempt->token;
  return json::serialize(request);
}

// What a refusal leaves in the log.
std::optional<Command> worth_an_event(const Command& command, ErrorCode code) {
  if (code == ErrorCode::LOCK_NOT_OWNED) {
    if (const auto* refresh = std::get_if<RefreshLock>(&command)) {
      return NoteRefreshFailure{refresh->key, refresh->token, refresh->token_owner};
    }
    if (const auto* release = std::get_if<ReleaseLock>(&command)) {
      return NoteRefreshFailure{release->key, release->token, release->token_owner};
    }
  }
  const auto* begin = std::get_if<BeginTick>(&command);
  if (begin == nullptr) return std::nullopt;
  if (code == ErrorCode::TICK_IN_PROGRESS) return NoteTickSkipped{*begin};
  if (code == ErrorCode::PREVIOUS_TICK_INCOMPLETE) return NoteTickIncomplete{*begin};
  return std::nullopt;
}

}  // namespace

Uuid SeededIds::draw() {
  Uuid uuid;
  const std::uint64_t words[2] = {random_.next(), random_.next()};
  std::memcpy(uuid.bytes.data(), words, sizeof words);
  return uuid;
}

World fold(const EventLog& log, Mutant mutant) {
  World world;
  if (mutant == Mutant::dropped_dedupe) {
    world.commands = Remembered<std::string, RememberedCommand>{0};
  }
  const auto scanned = log.scan(1, log.tail(), [&world](Record&& record) {
    evolve(world, record);
    return true;
  });
  SIGNALBOX_CHECK(scanned.has_value());
  return world;
}

SimulatedServer::SimulatedServer(Environment& environment, SimulatedDisk& disk,
                                 SimulatedMachine& machine, Oracle& oracle, RunRoots& run_roots,
                                 Owner owner, World world)
    : environment_(environment),
      disk_(disk),
      oracle_(oracle),
      run_roots_(run_roots),
      owner_(owner),
      ids_(environment.random),
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
          [this] { schedule_turn(); }),
      locks_(api_, [this] { schedule_turn(); }),
      feed_(
          disk.log(), [this](const StoreError& error) { environment_.violate(error.message); },
          [this](std::function<void()> action) { post(std::move(action)); }),
      artifacts_("/nonexistent"),
      api_(api()),
      dispatcher_(api_),
      committer_(environment, disk, owner,
                 [this](CommitOutcome outcome) { engine_.on_committed(std::move(outcome)); }),
      jobs_(
          engine_, ids_,
          [&environment, &machine, owner](JobReports reports) {
            return std::make_unique<SimulatedJobRunner>(environment, machine, owner,
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
          {"/runs", jobs_max}) {
  engine_.set_committer(committer_);
}

SimulatedServer::~SimulatedServer() = default;

std::int64_t SimulatedServer::lease_clock_ns() const {
  return environment_.mutant == Mutant::wall_clock_lease ? environment_.schedule.wall_ns()
                                                         : environment_.schedule.monotonic_ns();
}

Engine::Hooks SimulatedServer::hooks() {
  return {
      [this](std::span<const Record> records) {
        oracle_.applied(engine_.world(), records);
        timers_.observe(engine_.world(), records, environment_.schedule.wall_ns(),
                        lease_clock_ns());
        locks_.observe(records);
        if (environment_.mutant == Mutant::effect_before_commit) {
          jobs_.observe(Commit(records.begin(), records.end()));
        }
        schedule_turn();
      },
      [this](const CommitOutcome& outcome) {
        oracle_.durable(disk_.log());
        if (environment_.mutant != Mutant::effect_before_commit) {
          for (const Commit& commit : outcome.batch) jobs_.observe(commit);
        }
        for (const Commit& commit : outcome.batch) {
          for (const Record& record : commit) {
            if (record.stream.kind == StreamKind::tick) run_roots_.follow(record, owner_);
          }
        }
        project_later();
        feed_.publish(outcome.batch);
        if (stopping_) stop_when_idle();
      },
      [this](const std::string& why) { environment_.crash("fatal: " + why); },
      [this](const std::string&) { return roll_back(); },
  };
}

Api SimulatedServer::api() {
  return {engine_,
          disk_.log(),
          projector_,
          claims_,
          locks_,
          feed_,
          artifacts_,
          environment_.schedule,
          ids_,
          {"/data", "/data/signalbox.sock", environment_.schedule.wall_ns()},
          [this](std::function<std::function<void()>()> work) { post(work()); },
          [this](std::function<void()> action) { post(std::move(action)); },
          timers_,
          [this] { return digest(); }};
}

void SimulatedServer::post(Schedule::Action action) {
  environment_.schedule.after(0, owner_, std::move(action));
}

void SimulatedServer::start() {
  SIGNALBOX_CHECK(projector_.catch_up().has_value());
  run_roots_.reconcile(engine_.world());
  announce_start();
  if (environment_.mutant != Mutant::forgotten_timers) {
    timers_.arm_all(engine_.world(), environment_.schedule.wall_ns(), lease_clock_ns());
  }
  jobs_.adopt();
  schedule_turn();
}

void SimulatedServer::announce_start() {
  engine_.begin(by_the_service).apply(StartServer{"simulated"}).value();
  incarnation_ = engine_.world().server.incarnation;
}

void SimulatedServer::handle(const std::string& line, const std::string& actor,
                             const std::shared_ptr<Peer>& peer) {
  project_later();  // for queries
  const bool blind = environment_.mutant == Mutant::missing_token_check;
  dispatcher_.handle(blind ? with_present_token(engine_.world(), line) : line, {actor, Role::admin},
                     peer);
}

void SimulatedServer::decide(const Command& command, const std::string& actor,
                             std::function<void(const Decided<Commit>&)> told) {
  if (stopping_) return told(reject(ErrorCode::SHUTTING_DOWN, "the server is stopping"));
  auto verdict = std::make_shared<Decided<Commit>>();
  {
    auto transaction = engine_.begin({actor, {}, {}});
    if (const auto* acquire = std::get_if<AcquireLock>(&command)) {
      const auto expired = timers_.expired_lock(engine_.world(), acquire->key, lease_clock_ns());
      if (expired) (void)transaction.apply(*expired);
    }
    const auto applied = transaction.apply(command);
    if (applied) {
      verdict->emplace(transaction.records().begin(), transaction.records().end());
    } else {
      *verdict = tl::unexpected(applied.error());
      if (const auto note = worth_an_event(command, applied.error().code)) {
        (void)transaction.apply(*note);
      }
    }
  }
  engine_.release_when_durable([verdict, told = std::move(told)](Durability durability) {
    if (durability == Durability::durable) return told(*verdict);
    told(reject(
        durability == Durability::unknown ? ErrorCode::UNKNOWN_OUTCOME : ErrorCode::STORAGE_FULL,
        "not durable"));
  });
}

void SimulatedServer::schedule_turn() {
  if (std::exchange(turn_scheduled_, true)) return;
  post([this] {
    turn_scheduled_ = false;
    turn();
  });
}

void SimulatedServer::turn() {
  if (!stopping_) {
    jobs_.dispatch_ready();
    claims_.serve(environment_.schedule.monotonic_ns());
    locks_.serve(environment_.schedule.monotonic_ns());
  }
  engine_.flush();
  wait_for_time();
}

void SimulatedServer::wait_for_time() {
  const std::int64_t now_ns = environment_.schedule.monotonic_ns();
  std::optional<std::int64_t> left_ns;
  const auto timer = timers_.next_due_ns();
  if (timer && !engine_.storage_full()) left_ns = *timer - lease_clock_ns();
  for (const auto due : {claims_.next_due_ns(), locks_.next_due_ns()}) {
    if (due) left_ns = std::min(left_ns.value_or(*due - now_ns), *due - now_ns);
  }
  if (!left_ns || stopping_) return;
  environment_.schedule.after(std::clamp<std::int64_t>(*left_ns, 0, ns_per_s), owner_,
                              [this, alarm = ++alarm_] {
                                if (alarm == alarm_) fire_timers();
                              });
}

void SimulatedServer::fire_timers() {
  if (stopping_) return;
  if (!engine_.storage_full()) {
    for (const Command& command : timers_.take_due(engine_.world(), lease_clock_ns())) {
      (void)engine_.begin(by_the_service).apply(command);
    }
  }
  schedule_turn();
}

World SimulatedServer::roll_back() {
  environment_.note("disk: full; back to " + std::to_string(disk_.log().tail()));
  oracle_.rolled_back();
  digest_.forget();
  projector_.roll_back(disk_.log().tail());
  if (stopping_) {
    post([this] { stop_when_idle(); });
  } else {
    watch_for_space();
  }
  return fold(disk_.log(), environment_.mutant);
}

void SimulatedServer::watch_for_space() {
  environment_.schedule.after(ns_per_s, owner_, [this] {
    if (stopping_) return;
    if (!disk_.has_space()) return watch_for_space();
    environment_.note("disk: space again");
    engine_.leave_storage_full();
    if (engine_.world().server.incarnation != incarnation_) announce_start();
    timers_.arm_all(engine_.world(), environment_.schedule.wall_ns(), lease_clock_ns());
    jobs_.adopt();
    schedule_turn();
  });
}

void SimulatedServer::stop() {
  if (std::exchange(stopping_, true)) return;
  const Rejection stopping{ErrorCode::SHUTTING_DOWN, "the server is stopping", {}, {}};
  dispatcher_.refuse_all(stopping);
  claims_.refuse_all(stopping);
  locks_.refuse_all(stopping);
  engine_.flush();
  stop_when_idle();
}

void SimulatedServer::stop_when_idle() {
  if (!engine_.idle()) return engine_.flush();
  if (!stopped_ && !engine_.storage_full()) {
    stopped_ = true;
    (void)engine_.begin(by_the_service).apply(StopServer{});
    return engine_.flush();
  }
  ended_ = true;
}

// Read models come after the log, by up to a second.
void SimulatedServer::project_later() {
  if (std::exchange(projection_scheduled_, true)) return;
  environment_.schedule.after(ns_per_s, owner_, [this] {
    projection_scheduled_ = false;
    SIGNALBOX_CHECK(projector_.catch_up().has_value());
  });
}

}  // namespace signalbox::simulation
