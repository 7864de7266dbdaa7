#include "server/replay/past_service.h"

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "domain/check.h"
#include "domain/evolve.h"
#include "domain/try.h"
#include "projections/memory_table.h"
#include "projections/world_digest.h"
#include "projections/world_snapshot.h"
#include "server/engine/recovery.h"
#include "server/engine/timers.h"
#include "server/platform/artifact_store.h"
#include "server/replay/fixed_clock.h"
#include "server/replay/log_prefix.h"
#include "server/replay/past_leases.h"
#include "server/rpc/claim_queue.h"
#include "server/rpc/dispatcher.h"
#include "server/rpc/error_json.h"
#include "server/rpc/event_feed.h"
#include "server/rpc/lock_queue.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/read_models.h"
#include "server/rpc/results.h"
#include "server/rpc/step_queue.h"
#include "server/scheduler/service_loops.h"
#include "store/event_log.h"

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

Stored<World> world_at(const EventLog& log, const std::filesystem::path& data, Position at) {
  auto loaded = load_newest_snapshot(data / "projections" / "snapshots", at);
  auto begun = begin_fold(log, std::move(loaded.snapshot));
  if (!begun) return begun;
  World world = std::move(*begun);
  TRY(log.scan(world.position + 1, at, [&world](Record&& record) {
    evolve(world, record);
    return true;
  }));
  return world;
}

// access.list is included although it needs a higher role: the caller can read the data directory,
// and so everything in it.
bool is_query(const Method& method) {
  return !method.mutates && (method.needs == Role::viewer || method.name == "access.list") &&
         method.name != "events.subscribe";
}

}  // namespace

struct PastService::Parts {
  Parts(const EventLog& whole, const std::filesystem::path& data, World world, std::int64_t wall_ns,
        const std::map<Position, std::int64_t>& leases)
      : log(whole, world.position),
        clock(wall_ns),
        engine(std::move(world), clock, {}),
        index(table),
        projector(log, index, [this](const StoreError& error) { failure = error; }),
        claims(
            engine, ids, [](std::span<const Record>) { return json::object(); },
            [](const Origin&, const Responder&) {}, [](const std::optional<Token>&) {}, [] {}),
        locks(api, [] {}),
        steps(api, [] {}),
        feed(
            log, [this](const StoreError& error) { failure = error; }, blocking_pool()),
        artifacts(data / "artifacts"),
        api{engine,
            log,
            projector,
            artifacts,
            timers,
            clock,
            ids,
            {data.string(), {}, wall_ns},
            blocking_pool(),
            blocking_pool(),
            blocking_pool(),
            [this](std::function<void()> action) { post(std::move(action)); },
            [](Position, const std::function<void(const std::string&)>& written) { written(""); },
            read_found_file},
        dispatcher(api, all_methods({claims, locks, steps, feed, loops,
                                     [this] { return world_digest(engine.world()); },
                                     trace_resource("signalbox", data.string())})) {
    timers.arm_all(engine.world(), wall_ns, clock.monotonic_ns());
    timers.count_leases_from(engine.world(), [&](Position renewed) {
      return clock.monotonic_ns() + leases.at(renewed) - wall_ns;
    });
  }

  void post(std::function<void()> action) { actions.push_back(std::move(action)); }
  // Returns a pool that does work at once, and continues when settle() runs posted actions.
  BlockingPool blocking_pool() {
    return {Post([](const std::function<void()>& work) { work(); }),
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
  MemoryTable table;
  RunIndex index;
  std::optional<StoreError> failure;
  std::deque<std::function<void()>> actions;
  Projector projector;
  ClaimQueue claims;
  LockQueue locks;
  StepQueue steps;
  ServiceLoops loops{engine};
  EventFeed feed;
  ArtifactStore artifacts;
  Timers timers;
  Api api;
  Dispatcher dispatcher;
};

PastService::PastService(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
PastService::~PastService() = default;

Stored<std::unique_ptr<PastService>> PastService::open(const EventLog& log,
                                                       const std::filesystem::path& data,
                                                       Position at) {
  SIGNALBOX_CHECK(at > 0 && at <= log.tail());
  if (const Horizon horizon = log.horizon(); at <= horizon.position) {
    return tl::unexpected(dropped_record(at, horizon));
  }
  auto world = TRY(world_at(log, data, at));
  const auto wall_ns = TRY(recorded_at(log, at));
  const auto leases = TRY(lease_begins(log, world));
  auto parts = std::make_unique<Parts>(log, data, std::move(world), wall_ns, leases);
  parts->settle();
  if (parts->failure) return tl::unexpected(std::move(*parts->failure));
  return std::unique_ptr<PastService>(new PastService(std::move(parts)));
}

json::object PastService::call(std::string_view method, const json::object& params) {
  for (const Method& each : parts_->dispatcher.methods()) {
    if (each.name != method || is_query(each)) continue;
    return {{"error", rejection_to_json(
                          {ErrorCode::NOT_ALLOWED,
                           std::string(method) + " isn't a query: what has been can't be changed",
                           {},
                           {"signalbox rpc " + std::string(method)}})}};
  }
  const json::object request{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}};
  const auto peer = std::make_shared<CapturingPeer>();
  parts_->dispatcher.handle(json::serialize(request), {"past", Role::admin}, peer);
  parts_->settle();
  SIGNALBOX_CHECK(peer->line().has_value());
  return json::parse(*peer->line()).as_object();
}

}  // namespace signalbox
