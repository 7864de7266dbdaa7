#include "server/scheduler/watchdog_loop.h"

#include <algorithm>
#include <exception>

#include "domain/limits.h"
#include "domain/service_loops.h"
#include "server/engine/engine.h"
#include "server/text/utf8_text.h"

namespace signalbox {
void WatchdogLoop::arm() {
  if (!due_ns_) due_ns_ = clock_.monotonic_ns() + interval_ms_ * 1'000'000;
}

void WatchdogLoop::apply(std::span<const Record> records) {
  if (due_ns_) return;
  for (const Record& record : records) {
    const auto* started = event_as<TickStarted>(record.event);
    const bool outside_tick = started != nullptr && !is_service_loop(started->loop);
    if (outside_tick || event_as<StationClaimed>(record.event) != nullptr) return arm();
  }
}

void WatchdogLoop::run_if_due() {
  if (!due_ns_ || clock_.monotonic_ns() < *due_ns_) return;
  due_ns_.reset();
  end_again();
  if (!has_work_(engine_.world())) return;
  arm();
  tick();
}

void WatchdogLoop::tick() {
  BeginTick command;
  command.loop = watchdog_loop_name;
  command.stage = "sweep";
  command.reason = "interval";
  command.lease_ms = std::min(limits::tick_lease_ms_default, 10 * interval_ms_);
  command.own_loop = true;
  Token token = 0;
  {
    auto transaction = engine_.begin(by_the_service);
    const auto begun = transaction.apply(command);
    if (!begun) {
      if (begun.error().code == ErrorCode::TICK_IN_PROGRESS) {
        (void)transaction.apply(NoteTickSkipped{command});
      }
      return;  // on other errors the log accepts nothing now; the next tick is due anyway
    }
    token = transaction.records().back().position;
  }
  engine_.release_when_durable([this, token](Durability durability) {
    if (durability == Durability::durable) work(token);
  });
}

void WatchdogLoop::work(Token token) {
  EndTick& end = last_end_;
  end = {};
  end.loop = watchdog_loop_name;
  end.token = token;
  try {
    sweep_();
  } catch (const std::exception& failure) {
    end.outcome = TickOutcome::failed;
    end.error = shortened(failure.what(), limits::reason_bytes_max);
  }
  // Refused if the tick ended meanwhile, by its lease or by `tick.recover`; that is fine. If the
  // log takes nothing now, end_again() follows.
  (void)engine_.begin(by_the_service).apply(end);
}

void WatchdogLoop::end_again() {
  const auto tick = engine_.world().ticks.find(std::string(watchdog_loop_name));
  if (tick == engine_.world().ticks.end() || tick->second.token != last_end_.token) return;
  (void)engine_.begin(by_the_service).apply(last_end_);
}

}  // namespace signalbox
