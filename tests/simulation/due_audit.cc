#include "tests/simulation/due_audit.h"

#include <algorithm>

#include "tests/simulation/audited_run.h"

namespace signalbox::simulation {
namespace {

// If the clock is set back by more than this, the loops repeat the due times in between.
constexpr std::int64_t relived_ns = 60 * ns_per_s;
// Ticks up to this much later than the fault may be missed because of it; a loop needs up to
// `notice_ns_max` to notice them.
constexpr std::int64_t late_ns_max = 5 * ns_per_s;
constexpr std::int64_t notice_ns_max = 10 * ns_per_s;
// The clock may be set back between a loop's look at it and the record of what it found.
constexpr std::int64_t recording_ns_max = ns_per_s;
// A tick begins once the policies are read, and all work on repositories waits in one queue.
constexpr std::int64_t late_tick_ns_max = 120 * ns_per_s;

}  // namespace

DueAudit::DueAudit(Environment& environment, const BoardRhythm& rhythm)
    : environment_(environment) {
  for (const auto& [name, interval_ns] : rhythm.interval_ns) {
    loops_[name].interval_ns = interval_ns;
  }
  follow_wall_clock();
}

void DueAudit::follow_wall_clock() {
  const std::int64_t now_ns = environment_.schedule.wall_ns();
  if (now_ns < wall_ns_) {
    set_back_from_ns_ = wall_ns_;
    set_back_at_ns_ = environment_.schedule.monotonic_ns();
    for (auto& [name, loop] : loops_) loop.lowest_wall_ns = std::min(loop.lowest_wall_ns, now_ns);
  }
  wall_ns_ = now_ns;
}

void DueAudit::read(const Record& record) {
  if (record.stream.kind != StreamKind::tick) return;
  const auto place = loops_.find(record.stream.name);
  if (place == loops_.end()) return;
  Loop& loop = place->second;
  if (const auto* started = event_as<TickStarted>(record.event)) {
    loop.ticks.insert(record.position);
    if (started->due_ns != 0) due(record, loop, started->due_ns, started->due_ns);
  } else if (const auto* skipped = event_as<TickSkipped>(record.event)) {
    if (skipped->due_ns != 0) {
      due(record, loop, skipped->due_ns, skipped->due_ns);
    } else {
      ++loop.skipped;
    }
  } else if (const auto* none = event_as<TickMissed>(record.event)) {
    missed(record, loop, *none);
  }
}

void DueAudit::missed(const Record& record, Loop& loop, const TickMissed& missed) {
  const auto count = static_cast<std::int64_t>(missed.missed);
  if (missed.last_due_ns - missed.first_due_ns != (count - 1) * loop.interval_ns) {
    report_contradiction(environment_, record, "it isn't as many as were due in that time");
  }
  const std::int64_t excused_until_ns =
      disturbed_until_ns_ + count * loop.interval_ns + late_ns_max + notice_ns_max;
  if (environment_.schedule.monotonic_ns() > excused_until_ns) {
    report_contradiction(environment_, record, "nothing kept the service from doing it");
  }
  // A loop that was kept from running ticks for the latest due time; only those before are missed.
  const bool was_late = missed.reason == "late" || missed.reason == "asleep";
  const std::int64_t seen_ns = was_just_set_back()
                                   ? std::max(record.recorded_at_ns, set_back_from_ns_)
                                   : record.recorded_at_ns;
  if (was_late && missed.last_due_ns + loop.interval_ns > seen_ns) {
    report_contradiction(environment_, record, "the latest one could begin at once");
  }
  due(record, loop, missed.first_due_ns, missed.last_due_ns);
}

// Returns whether the wall clock was set back while the newest records were being decided or
// written.
bool DueAudit::was_just_set_back() const {
  return environment_.schedule.monotonic_ns() - set_back_at_ns_ <= recording_ns_max;
}

void DueAudit::due(const Record& record, Loop& loop, std::int64_t first_ns, std::int64_t last_ns) {
  if (first_ns % loop.interval_ns != 0 || last_ns % loop.interval_ns != 0) {
    report_contradiction(environment_, record, "it wasn't due then");
  }
  const bool relived = loop.due_ns && *loop.due_ns - loop.lowest_wall_ns > relived_ns &&
                       first_ns >= loop.lowest_wall_ns;
  if (loop.due_ns && first_ns != *loop.due_ns + loop.interval_ns && !relived) {
    const std::int64_t apart_ms = (first_ns - *loop.due_ns) / ns_per_ms;
    report_contradiction(environment_, record,
                         "it was due " + std::to_string(apart_ms) +
                             " ms after the one before it, and that isn't the next one");
  }
  loop.due_ns = last_ns;
  // Where the clock was set back between the decision and its being durable, the times since then
  // count as well.
  const bool is_set_back = record.recorded_at_ns > wall_ns_ || was_just_set_back();
  loop.lowest_wall_ns = is_set_back ? std::min(loop.lowest_wall_ns, wall_ns_) : wall_ns_;
}

void DueAudit::answered(const std::string& name, const boost::json::object& result) {
  const auto place = loops_.find(name);
  if (place == loops_.end()) return environment_.violate("loop " + name + " was triggered");
  Loop& loop = place->second;
  if (result.at("began").as_bool()) {
    const auto token = result.at("token").to_number<Token>();
    environment_.expect(loop.ticks.contains(token),
                        "a trigger of " + name + " is said to have begun tick " +
                            std::to_string(token) + ", which the register doesn't have");
    return;
  }
  environment_.expect(++loop.answered_skipped <= loop.skipped,
                      "a trigger of " + name + " was skipped, and the register doesn't have it");
}

void DueAudit::examine() const {
  const std::int64_t up_ns = environment_.schedule.monotonic_ns() - disturbed_until_ns_;
  if (up_ns < late_tick_ns_max) return;
  for (const auto& [name, loop] : loops_) {
    if (!loop.due_ns) continue;
    const std::int64_t since_ns = environment_.schedule.wall_ns() - *loop.due_ns;
    environment_.expect(
        since_ns < loop.interval_ns + late_tick_ns_max,
        "a tick of " + name + " was due long ago, and nothing says what became of it");
  }
}

void DueAudit::finished() const {
  for (const auto& [name, loop] : loops_) {
    if (!loop.due_ns) continue;
    const std::int64_t since_ns = environment_.schedule.wall_ns() - *loop.due_ns;
    const std::int64_t up_ns = environment_.schedule.monotonic_ns() - disturbed_until_ns_;
    environment_.expect(since_ns < loop.interval_ns + notice_ns_max || up_ns < notice_ns_max,
                        "ticks of " + name + " were due, and nothing says what became of them");
  }
}

}  // namespace signalbox::simulation
