#include "tools/bench/cell_lag.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include <boost/json/array.hpp>

#include "domain/try.h"
#include "tools/cli/client.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;
using LagClock = std::chrono::steady_clock;
using Times = std::unordered_map<std::string, LagClock::time_point>;  // by the run's id

constexpr std::chrono::seconds all_within{30};

// Notes when the start of each run shows at a server.
class RunWatcher {
 public:
  // `client` has subscribed.
  explicit RunWatcher(Client client) : client_(std::move(client)), thread_([this] { watch(); }) {}
  RunWatcher(const RunWatcher&) = delete;
  RunWatcher& operator=(const RunWatcher&) = delete;
  ~RunWatcher() {
    client_.interrupt();
    thread_.join();
  }

  // Blocks until that many runs have shown.
  Called<Times> await(std::size_t runs) {
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, all_within,
                                        [&] { return !error_.empty() || seen_at_.size() >= runs; });
    if (!error_.empty()) return tl::unexpected(io_error("the server that stands by: " + error_));
    if (!came) return tl::unexpected(io_error("the server that stands by doesn't follow"));
    return seen_at_;
  }

 private:
  void watch() {
    for (;;) {
      const auto event = client_.next_notification();
      const auto now = LagClock::now();
      const std::lock_guard lock(mutex_);
      if (event) {
        seen_at_.emplace(text_at(object_at(*event, "params"), "span_id"), now);
      } else {
        error_ = message_of(event.error());
      }
      changed_.notify_all();
      if (!event) return;
    }
  }

  Client client_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Times seen_at_;
  std::string error_;
  std::thread thread_;
};

}  // namespace

Called<Quantiles> measure_lag(const LagPlan& plan) {
  auto active = TRY(Client::connect(plan.active));
  auto standby = TRY(Client::connect(plan.standby));
  TRY(standby.call("events.subscribe", {{"types", json::array{"RunStarted"}}}));
  RunWatcher watcher(std::move(standby));
  const json::object pipeline{{"name", "lag"},
                              {"station", json::array{json::object{{"name", "work"}}}}};
  Times answered_at;
  const auto end = LagClock::now() + plan.duration;
  while (LagClock::now() < end) {
    const auto run = TRY(active.call("run.start", {{"goal", "measure"}, {"pipeline", pipeline}}));
    answered_at.emplace(text_at(run, "run_id"), LagClock::now());
    std::this_thread::sleep_for(plan.pause);
  }
  const auto seen_at = TRY(watcher.await(answered_at.size()));
  Quantiles lags;
  for (const auto& [run, answered] : answered_at) {
    const auto seen = seen_at.find(run);
    if (seen == seen_at.end()) return tl::unexpected(io_error("no event of the run " + run));
    lags.add(std::max(seen->second - answered, LagClock::duration{}));
  }
  return lags;
}

}  // namespace signalbox
