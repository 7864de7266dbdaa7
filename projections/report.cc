#include "projections/report.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <boost/describe/enum_to_string.hpp>

#include "domain/nanoseconds.h"
#include "domain/run_span.h"
#include "domain/service_loops.h"

namespace signalbox {
namespace {

void add_usage(Usage& sum, const Usage& usage) {
  sum.cost_microusd += usage.cost_microusd;
  sum.tokens += usage.tokens;
  sum.turns += usage.turns;
}

// A clock that was set back makes no negative time.
std::int64_t elapsed_ms(std::int64_t from_ns, std::int64_t to_ns) {
  return std::max<std::int64_t>(0, to_ns - from_ns) / ns_per_ms;
}

}  // namespace

bool shows_that_service_lived(const Record& record) {
  const bool is_of_audit = event_as<PayloadRedacted>(record.event) != nullptr ||
                           event_as<HistoryDropped>(record.event) != nullptr;
  return !is_of_audit || !record.command_id.empty() || !record.actor.starts_with("uid:");
}

struct ReportMeter::RecordVisitor {
  ReportMeter& meter;
  const Record& record;

  void operator()(const RunStarted&) const {
    ++report().runs.started;
    meter.note_change(record, 1, 0);
  }
  void operator()(const RunRetried&) const {
    ++report().runs.retried;
    meter.tally_of(record).end = End::none;
    meter.note_change(record, 1, 0);
  }
  void operator()(const RunSucceeded&) const { end_run(End::succeeded); }
  void operator()(const RunCanceled&) const { end_run(End::canceled); }
  void operator()(const RunFailed& event) const {
    ReportedFailure& failure = meter.failure_of(event.code);
    failure.is_of_run = true;
    failure.error_class = event.error_class;
    failure.run_id = record.stream.run_id;
    failure.station = event.station;
    failure.position = record.position;
    // Counted with the run's last end: what is retried hasn't failed.
    end_run(End::failed).failure = meter.failure_by_code_.at(event.code);
  }

  void operator()(const StationClaimed& event) const {
    ++report().attempts.started;
    if (event.attempt > 1) ++report().attempts.retries;
    Tally& tally = meter.tally_of(record);
    tally.under_way = true;
    tally.claimed_ns = std::max(record.recorded_at_ns, meter.since_ns_);
    tally.alive_at = record.position;
    tally.of_attempt = {};
    meter.note_change(record, 0, 1);
  }
  void operator()(const StationHeartbeat&) const {
    meter.tally_of_attempt(record).alive_at = record.position;
  }
  void operator()(const StationUsageReported& event) const {
    Tally& tally = meter.tally_of(record);
    add_usage(tally.of_attempt, event.usage);
    add_usage(tally.used, event.usage);
    add_usage(report().usage, event.usage);
    meter.note_change(record, 0, 0, static_cast<std::int64_t>(event.usage.cost_microusd));
  }
  // Counts in the period in which it was told. An attempt whose end came without its usage was
  // lost, unless its run was canceled.
  void operator()(const LateUsageReported& event) const {
    Tally& tally = meter.tally_of(record);
    add_usage(tally.used, event.usage);
    add_usage(report().usage, event.usage);
    if (tally.end != End::canceled) add_usage(report().usage_of_failed, event.usage);
    meter.note_change(record, 0, 0, static_cast<std::int64_t>(event.usage.cost_microusd));
  }
  void operator()(const StationSucceeded&) const { succeed(); }
  void operator()(const StationResultHeld&) const { succeed(); }
  void operator()(const StationAttemptFailed& event) const {
    meter.fail_attempt(record, event.failure, event.station);
  }
  void operator()(const StationFailed& event) const {
    meter.fail_attempt(record, event.failure, event.station);
  }
  void operator()(const StationTimedOut& event) const {
    meter.fail_attempt(record, event.failure, event.station);
  }
  void operator()(const StationDeferred&) const {
    ++report().attempts.deferred;
    meter.end_attempt(record, meter.tally_of_attempt(record));
  }
  // An attempt was canceled, or a run that waits for one.
  void operator()(const StationCanceled&) const {
    const bool is_of_attempt = parent_span(record).has_value();
    if (is_of_attempt) ++report().attempts.canceled;
    meter.end_attempt(record,
                      is_of_attempt ? meter.tally_of_attempt(record) : meter.tally_of(record));
  }

  void operator()(const CardSubmitted&) const { ++report().cards.submitted; }
  void operator()(const CardMerged&) const { ++report().cards.merged; }
  void operator()(const CardBlocked&) const { ++report().cards.blocked; }
  void operator()(const CardFailed&) const { ++report().cards.failed; }

  void operator()(const TickSucceeded&) const { count_tick(report().ticks.succeeded); }
  void operator()(const TickFailed&) const { count_tick(report().ticks.failed); }
  void operator()(const TickTimedOut&) const { count_tick(report().ticks.timed_out); }
  void operator()(const TickIncompleteDetected&) const { count_tick(report().ticks.halted); }

  void operator()(const ClockJumped&) const { ++report().clock_jumps; }
  void operator()(const ServerStarted& event) const {
    if (event.previous != PreviousEnd::crashed) return;
    ReportedCrash crash;
    crash.position = record.position;
    crash.started_ns = record.recorded_at_ns;
    crash.incarnation = event.incarnation;
    crash.down_ms_max = elapsed_ms(meter.lived_ns_, record.recorded_at_ns);
    report().crashes.push_back(std::move(crash));
  }
  void operator()(const RecoveryFinished& event) const {
    if (report().crashes.empty()) return;
    ReportedCrash& crash = report().crashes.back();
    if (crash.incarnation != event.incarnation) return;
    crash.in_flight = event.items_total;
    for (const RecoveredItem& item : event.items) {
      ++crash.verdicts[boost::describe::enum_to_string(item.verdict, "unknown")];
    }
  }

  template <class Other>
  void operator()(const Other&) const {}

 private:
  [[nodiscard]] Report& report() const { return meter.report_; }
  Tally& end_run(End end) const {
    Tally& tally = meter.tally_of(record);
    meter.end_attempt(record, tally);
    meter.note_change(record, -1, 0);
    tally.end = end;
    return tally;
  }
  void succeed() const {
    ++report().attempts.succeeded;
    meter.end_attempt(record, meter.tally_of_attempt(record));
  }
  void count_tick(std::uint64_t& count) const {
    if (!is_service_loop(record.stream.name)) ++count;
  }
};

ReportMeter::Tally& ReportMeter::tally_of(const Record& record) {
  return tallies_[record.stream.run_id];
}

// Returns the tally of a run whose attempt is under way. One that was claimed before the period is
// counted from the beginning of that.
ReportMeter::Tally& ReportMeter::tally_of_attempt(const Record& record) {
  if (const Tally& known = tally_of(record); !known.under_way && known.alive_at == 0) {
    begin_under_way(record.stream.run_id);
  }
  return tally_of(record);
}

void ReportMeter::begin_under_way(const RunId& run_id) {
  Tally& begun = tallies_[run_id];
  begun.under_way = true;
  begun.claimed_ns = since_ns_;
  // Not 0, so that its end isn't taken for the first sign of another one.
  begun.alive_at = 1;
}

void ReportMeter::note_over_time(std::int64_t until_ns, std::size_t spans) {
  series_.emplace(since_ns_, until_ns, spans);
}

void ReportMeter::note_change(const Record& record, std::int64_t runs, std::int64_t attempts,
                              std::int64_t cost_microusd) {
  if (series_) series_->add(record.recorded_at_ns, runs, attempts, cost_microusd);
}

void ReportMeter::apply(const Record& record) {
  signalbox::apply(RecordVisitor{*this, record}, record.event);
  if (shows_that_service_lived(record)) lived_ns_ = record.recorded_at_ns;
}

void ReportMeter::end_attempt(const Record& record, Tally& tally) {
  if (!tally.under_way) return;
  tally.under_way = false;
  report_.attempts.worked_ms += elapsed_ms(tally.claimed_ns, record.recorded_at_ns);
  note_change(record, 0, -1);
}

ReportedFailure& ReportMeter::failure_of(const std::string& code) {
  const auto [place, is_new] =
      failure_by_code_.try_emplace(code, static_cast<std::uint32_t>(report_.failures.size()));
  if (is_new) report_.failures.emplace_back().code = code;
  return report_.failures[place->second];
}

void ReportMeter::fail_attempt(const Record& record, const Failure& failure,
                               const std::string& station) {
  Tally& failed = tally_of_attempt(record);
  ++report_.attempts.failed;
  add_usage(report_.usage_of_failed, failed.of_attempt);
  failed.of_attempt = {};
  ReportedFailure& reported = failure_of(failure.code);
  ++reported.attempts;
  if (!reported.is_of_run) {
    reported.error_class = failure.error_class;
    reported.run_id = record.stream.run_id;
    reported.station = station;
    reported.position = record.position;
  }
  // An attempt that was heard of since the crash outlived it.
  if (failure.error_class == ErrorClass::lost && !report_.crashes.empty() &&
      failed.alive_at < report_.crashes.back().position) {
    ReportedCrash& crash = report_.crashes.back();
    const std::int64_t crashed_ns = crash.started_ns - crash.down_ms_max * ns_per_ms;
    ++crash.attempts_lost;
    crash.lost_ms += elapsed_ms(failed.claimed_ns, crashed_ns);
  }
  end_attempt(record, failed);
}

Report ReportMeter::finish(const ReportedEnd& end, std::size_t costliest_max) && {
  if (series_) {
    report_.over_time = std::move(*series_).over_time(static_cast<std::int64_t>(end.open_runs),
                                                      static_cast<std::int64_t>(end.under_way));
  }
  for (const auto& [id, each] : tallies_) {
    if (each.under_way) report_.attempts.worked_ms += elapsed_ms(each.claimed_ns, end.at_ns);
    if (each.used.cost_microusd > 0 || each.used.tokens > 0) {
      report_.costliest.push_back({id, each.used});
    }
    switch (each.end) {
      case End::none:
        break;
      case End::succeeded:
        ++report_.runs.succeeded;
        break;
      case End::failed:
        ++report_.runs.failed;
        ++report_.failures[each.failure].runs;
        break;
      case End::canceled:
        ++report_.runs.canceled;
        break;
    }
  }
  const auto costs_more = [](const ReportedRunUsage& a, const ReportedRunUsage& b) {
    return std::tie(b.usage.cost_microusd, b.usage.tokens, a.run_id) <
           std::tie(a.usage.cost_microusd, a.usage.tokens, b.run_id);
  };
  auto& costliest = report_.costliest;
  const std::size_t shown = std::min(costliest_max, costliest.size());
  std::partial_sort(costliest.begin(), costliest.begin() + static_cast<std::ptrdiff_t>(shown),
                    costliest.end(), costs_more);
  costliest.resize(shown);
  std::sort(report_.failures.begin(), report_.failures.end(),
            [](const ReportedFailure& a, const ReportedFailure& b) {
              return std::tie(b.runs, b.attempts, a.code) < std::tie(a.runs, a.attempts, b.code);
            });
  std::reverse(report_.crashes.begin(), report_.crashes.end());
  return std::move(report_);
}

}  // namespace signalbox
