#include "server/replay/past_service.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <boost/json/serialize.hpp>

#include "domain/check.h"
#include "domain/evolve.h"
#include "domain/try.h"
#include "projections/memory_table.h"
#include "projections/world_digest.h"
#include "projections/world_snapshot.h"
#include "server/engine/recovery.h"
#include "server/engine/timers.h"
#include "server/limits.h"
#include "server/platform/artifact_settings.h"
#include "server/platform/call_bounds.h"
#include "server/platform/clock.h"
#include "server/replay/past_leases.h"
#include "server/rpc/claim_queue.h"
#include "server/rpc/dispatcher.h"
#include "server/rpc/error_json.h"
#include "server/rpc/event_feed.h"
#include "server/rpc/lock_queue.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/read_models.h"
#include "server/rpc/step_queue.h"
#include "server/scheduler/service_loops.h"
#include "server/text/json_text.h"
#include "store/event_log.h"
#include "store/log_prefix.h"

namespace signalbox {

namespace {

namespace json = boost::json;

// A connection that keeps the response to its only request.
class CapturingPeer final : public Peer {
 public:
  void expect_answer(std::size_t) override {}
  void answer(std::string line, std::size_t) override { line_ = std::move(line); }
  void deliver(std::string) override {}
  [[nodiscard]] bool takes_deliveries() const override { return false; }
  void keep_open() override {}
  [[nodiscard]] std::size_t outgoing_bytes() const override { return 0; }
  void on_drained(std::function<void()>) override {}
  void close_after_flush() override {}
  [[nodiscard]] bool closed() const override { return false; }

  [[nodiscard]] const std::optional<std::string>& line() const { return line_; }

 private:
  std::optional<std::string> line_;
};

constexpr std::size_t apply_events_at_once_max = 32 * 1024;

tl::unexpected<StoreError> canceled() {
  return store_failure(StoreError::Kind::io, "the service stops");
}

// Reads each record once for both, which may begin at different positions.
Stored<void> fold_world_and_rows(const EventLog& log, World& world, Table& rows, Position at) {
  RunIndex index(rows);
  TRY(index.begin(log));
  while (std::min(world.position, index.applied()) < at) {
    if (CallBounds::is_canceled()) return canceled();
    const Position done = std::min(world.position, index.applied());
    const Position end = std::min(at, done + apply_events_at_once_max);
    TRY(index.apply(log, done + 1, end, [&world](const Record& record) {
      if (record.position > world.position) evolve(world, record);
    }));
  }
  return {};
}

}  // namespace

struct PastService::Parts {
  Parts(const EventLog& whole, const std::filesystem::path& data, ArtifactStore& artifacts,
        const PresentFacts& present, World world, std::unique_ptr<Table> rows, std::int64_t wall_ns,
        const std::map<Position, std::int64_t>& leases)
      : log(whole, world.position),
        clock(wall_ns),
        engine(std::move(world), clock, {}),
        table(std::move(rows)),
        index(*table),
        projector(log, index, [this](const StoreError& error) { failure = error; }),
        claims(
            engine, ids, [](std::span<const Record>) { return json::object(); },
            [](const Origin&, const Responder&) {}, [](const std::optional<Token>&) {}, [] {}),
        locks(api, [] {}),
        steps(api, [] {}),
        feed(
            log, [this](const StoreError& error) { failure = error; }, blocking_pool()),
        api{engine,
            log,
            projector,
            artifacts,
            timers,
            clock,
            ids,
            {},
            blocking_pool(),
            blocking_pool(),
            blocking_pool(),
            [this](std::function<void()> action) { post(std::move(action)); },
            [](Position, const std::function<void(const std::string&)>& written) { written(""); },
            read_found_file},
        dispatcher(api, all_methods(method_parts(present, data))) {
    show(present);
    timers.arm_all(engine.world(), wall_ns, clock.monotonic_ns());
    timers.count_leases_from(engine.world(), [&](Position renewed) {
      return clock.monotonic_ns() + leases.at(renewed) - wall_ns;
    });
  }

  // `present` outlives these parts.
  MethodParts method_parts(const PresentFacts& present, const std::filesystem::path& data) {
    MethodParts parts{claims,
                      locks,
                      steps,
                      feed,
                      loops,
                      [this] { return world_digest(engine.world()); },
                      trace_resource("signalbox", data.string())};
    parts.access.roles_without_token = [&present] { return present.roles_without_token; };
    return parts;
  }
  void show(const PresentFacts& present) {
    api.facts = present.server;
    // An earlier incarnation was started at another time, which the state doesn't say.
    if (engine.world().server.incarnation != present.incarnation) api.facts.started_at_ns = 0;
    api.run_root_rule = present.run_root_rule;
    api.ownership = present.ownership;
    api.are_files_removed = present.are_files_removed;
  }

  void post(std::function<void()> action) { actions.push_back(std::move(action)); }
  // Returns a pool that does work at once, and continues when settle() runs posted actions.
  BlockingPool blocking_pool() {
    return {Post([](const std::function<void()>& work) {
              const CallBounds bounds(CallBounds::now_ms() + limits::past_artifact_ms_max);
              work();
            }),
            [this](std::function<void()> action) { post(std::move(action)); }};
  }

  // Runs posted actions and applies the log until nothing is left to do.
  void settle() {
    do {
      while (!actions.empty()) {
        const auto action = std::move(actions.front());
        actions.pop_front();
        action();
      }
      if (auto caught_up = projector.catch_up(); !caught_up) failure = caught_up.error();
    } while (!actions.empty());
  }

  LogPrefix log;
  FixedClock clock;
  RandomIdSource ids;
  Engine engine;
  std::unique_ptr<Table> table;
  RunIndex index;
  std::optional<StoreError> failure;
  std::deque<std::function<void()>> actions;
  Projector projector;
  ClaimQueue claims;
  LockQueue locks;
  StepQueue steps;
  ServiceLoops loops{engine};
  EventFeed feed;
  Timers timers;
  Api api;
  Dispatcher dispatcher;
};

PastService::PastService(const EventLog& log, std::filesystem::path data,
                         std::shared_ptr<ArtifactStore> artifacts)
    : log_(log),
      data_(std::move(data)),
      artifacts_(artifacts ? std::move(artifacts) : open_artifacts(data_)) {
  present_.server.data_directory = data_.string();
}
PastService::~PastService() = default;

Stored<std::unique_ptr<PastService>> PastService::open(const EventLog& log,
                                                       const std::filesystem::path& data,
                                                       Position at) {
  auto loaded = load_newest_snapshot(snapshots_directory(data), at);
  auto world = TRY(begin_fold(log, std::move(loaded.snapshot)));
  return open(log, data, at, std::move(world), std::make_unique<MemoryTable>());
}

Stored<std::unique_ptr<PastService>> PastService::open(const EventLog& log,
                                                       const std::filesystem::path& data,
                                                       Position at, World world,
                                                       std::unique_ptr<Table> rows,
                                                       std::shared_ptr<ArtifactStore> artifacts) {
  SIGNALBOX_CHECK(at > 0 && at <= log.tail());
  if (const Horizon horizon = log.horizon(); at <= horizon.position) {
    return tl::unexpected(dropped_record(at, horizon));
  }
  std::unique_ptr<PastService> service(new PastService(log, data, std::move(artifacts)));
  TRY(service->build(std::move(world), std::move(rows), at));
  return service;
}

Stored<void> PastService::build(World world, std::unique_ptr<Table> rows, Position at) {
  TRY(fold_world_and_rows(log_, world, *rows, at));
  const auto wall_ns = TRY(recorded_at(log_, at));
  auto leases = TRY(lease_begins(log_, world, leases_));
  leases_ = std::move(leases);
  parts_ = std::make_unique<Parts>(log_, data_, *artifacts_, present_, std::move(world),
                                   std::move(rows), wall_ns, leases_.begins);
  parts_->settle();
  if (parts_->failure) return tl::unexpected(std::move(*parts_->failure));
  return {};
}

void PastService::show(PresentFacts facts) {
  present_ = std::move(facts);
  parts_->show(present_);
}

Position PastService::position() const { return parts_->log.tail(); }

Stored<void> PastService::advance(Position at) {
  SIGNALBOX_CHECK(at >= position() && at <= log_.tail());
  if (at == position()) return {};
  World none;
  none.position = position();
  World world = parts_->engine.exchange_world(std::move(none));
  std::unique_ptr<Table> rows = std::move(parts_->table);
  parts_.reset();
  return build(std::move(world), std::move(rows), at);
}

std::optional<std::string> PastService::answer(std::string_view line, const Principal& principal) {
  const auto peer = std::make_shared<CapturingPeer>();
  parts_->dispatcher.handle(line, principal, peer);
  parts_->settle();
  return peer->line();
}

std::optional<Rejection> PastService::refusal_of(std::string_view method,
                                                 const json::object& params) const {
  for (const Method& each : methods()) {
    if (each.name == method && !answers_about_past(each)) return not_about_past(each, params);
  }
  return std::nullopt;
}

const std::vector<Method>& PastService::methods() const { return parts_->dispatcher.methods(); }

json::object PastService::call(std::string_view method, const json::object& params) {
  if (const auto refusal = refusal_of(method, params))
    return {{"error", rejection_to_json(*refusal)}};
  const json::object request{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}};
  const auto line = answer(json::serialize(request), {"past", Role::admin});
  SIGNALBOX_CHECK(line.has_value());
  return parse_own_answer(*line);
}

}  // namespace signalbox
