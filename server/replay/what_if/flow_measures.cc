#include "server/replay/what_if/flow_measures.h"

#include <algorithm>
#include <numeric>

#include "domain/nanoseconds.h"

namespace signalbox {
namespace {

Spread spread_of(std::vector<std::int64_t> durations_ns) {
  Spread spread;
  if (durations_ns.empty()) return spread;
  std::sort(durations_ns.begin(), durations_ns.end());
  const auto at = [&durations_ns](std::size_t percent) {
    return durations_ns[(durations_ns.size() * percent + 99) / 100 - 1] / ns_per_ms;
  };
  spread.count = durations_ns.size();
  spread.p50_ms = at(50);
  spread.p90_ms = at(90);
  spread.max_ms = at(100);
  // Each is converted to milliseconds first: a sum in nanoseconds could overflow.
  spread.total_ms = std::accumulate(
      durations_ns.begin(), durations_ns.end(), std::int64_t{0},
      [](std::int64_t sum, std::int64_t duration_ns) { return sum + duration_ns / ns_per_ms; });
  return spread;
}

}  // namespace

void FlowSeries::Level::raise_to(const Level& other) {
  waiting = std::max(waiting, other.waiting);
  at_work = std::max(at_work, other.at_work);
}

void FlowSeries::merge_spans() {
  for (std::size_t span = 0; span < spans_.size(); ++span) {
    if (span % 2 == 0) {
      spans_[span / 2] = spans_[span];
    } else {
      spans_[span / 2].raise_to(spans_[span]);
    }
  }
  spans_.resize((spans_.size() + 1) / 2);
  span_ms_ *= 2;
}

void FlowSeries::note(std::int64_t at_ns, std::uint64_t waiting, std::uint64_t at_work) {
  if (!begin_ns_) begin_ns_ = at_ns;
  if (at_ns != latest_ns_ && !spans_.empty()) spans_.back().raise_to(now_);
  latest_ns_ = at_ns;
  const std::int64_t after_ms = std::max<std::int64_t>(0, at_ns - *begin_ns_) / ns_per_ms;
  while (after_ms / span_ms_ >= static_cast<std::int64_t>(flow_spans_max)) merge_spans();
  const auto span = static_cast<std::size_t>(after_ms / span_ms_);
  while (spans_.size() <= span) spans_.push_back(now_);
  now_ = {waiting, at_work};
}

FlowOverTime FlowSeries::over_time() const {
  FlowOverTime series;
  series.span_ms = span_ms_;
  std::vector<Level> spans = spans_;
  if (!spans.empty()) spans.back().raise_to(now_);
  for (const Level& span : spans) {
    series.waiting.push_back(span.waiting);
    series.at_work.push_back(span.at_work);
  }
  return series;
}

// Counts the run if it began or ceased to wait.
void FlowMeter::note_change(const Record& record, const OpenRun& run, bool was_ready,
                            std::uint64_t were_under_way) {
  const bool is_ready = run.ready_ns.has_value();
  if (is_ready == was_ready && were_under_way == under_way_) return;
  if (is_ready != was_ready) ready_ = is_ready ? ready_ + 1 : ready_ - 1;
  series_.note(record.recorded_at_ns, ready_, under_way_);
}

void FlowMeter::apply(const Record& record) {
  const bool is_new = event_as<RunStarted>(record.event) != nullptr;
  if (is_new) {
    OpenRun& run = runs_[record.stream.run_id];
    run.arrived_ns = record.recorded_at_ns;
    run.ready_ns = record.recorded_at_ns;
    ++counted_.runs;
    ++counted_.open;
    if (!first_ns_) first_ns_ = record.recorded_at_ns;
  }
  if (record.stream.kind == StreamKind::card) apply_card(record);
  if (record.stream.kind != StreamKind::run) return;
  const auto place = runs_.find(record.stream.run_id);
  if (place == runs_.end()) return;
  const bool was_ready = !is_new && place->second.ready_ns.has_value();
  const std::uint64_t were_under_way = under_way_;
  if (std::holds_alternative<StationEvent>(record.event)) apply_attempt(record, place->second);
  if (std::holds_alternative<RunEvent>(record.event)) apply_run_end(record, place->second);
  note_change(record, place->second, was_ready, were_under_way);
}

void FlowMeter::claim(const Record& record, const StationClaimed& event, OpenRun& run) {
  if (run.ready_ns) queue_waits_ns_.push_back(record.recorded_at_ns - *run.ready_ns);
  run.ready_ns.reset();
  run.claimed_ns = record.recorded_at_ns;
  run.last_beat_ns = record.recorded_at_ns;
  run.lease_ms = event.lease_ms;
  ++counted_.attempts;
  if (event.attempt > 1) ++counted_.retries;
  if (run.lost) ++counted_.duplicates;
  run.lost = false;
  counted_.at_once = std::max(counted_.at_once, ++under_way_);
}

void FlowMeter::end_attempt(const Record& record, OpenRun& run) {
  if (!run.claimed_ns) return;
  counted_.worked_ms += (record.recorded_at_ns - *run.claimed_ns) / ns_per_ms;
  run.claimed_ns.reset();
  --under_way_;
}

void FlowMeter::fail_attempt(const Record& record, OpenRun& run, const Failure& failure) {
  if (failure.code == "LEASE_EXPIRED" && run.claimed_ns) {
    ++counted_.leases_lost;
    // Its latest renewal isn't recorded where it said nothing new.
    const std::int64_t renewed_ns = record.recorded_at_ns - run.lease_ms * ns_per_ms;
    counted_.duplicated_ms +=
        (std::max(run.last_beat_ns, renewed_ns) - *run.claimed_ns) / ns_per_ms;
    run.lost = true;
  }
  if (failure.code == "TIMEOUT") ++counted_.timeouts;
  if (failure.code == "STALLED") ++counted_.stalls;
  end_attempt(record, run);
}

void FlowMeter::apply_attempt(const Record& record, OpenRun& run) {
  if (const auto* claimed = event_as<StationClaimed>(record.event)) {
    claim(record, *claimed, run);
  } else if (const auto* beat = event_as<StationHeartbeat>(record.event)) {
    run.last_beat_ns = record.recorded_at_ns;
    run.lease_ms = beat->lease_ms;
  } else if (event_as<StationSucceeded>(record.event) != nullptr ||
             event_as<StationApproved>(record.event) != nullptr) {
    end_attempt(record, run);
    run.ready_ns = record.recorded_at_ns;  // the next station's, unless the run ends here
  } else if (const auto* retried = event_as<StationAttemptFailed>(record.event)) {
    fail_attempt(record, run, retried->failure);
  } else if (const auto* failed = event_as<StationFailed>(record.event)) {
    fail_attempt(record, run, failed->failure);
  } else if (const auto* timed_out = event_as<StationTimedOut>(record.event)) {
    fail_attempt(record, run, timed_out->failure);
  } else if (event_as<StationDeferred>(record.event) != nullptr ||
             event_as<StationResultHeld>(record.event) != nullptr ||
             event_as<StationCanceled>(record.event) != nullptr) {
    end_attempt(record, run);
  } else if (event_as<StationReady>(record.event) != nullptr) {
    run.ready_ns = record.recorded_at_ns;
  } else if (event_as<StationHeld>(record.event) != nullptr) {
    run.ready_ns.reset();
  }
}

void FlowMeter::apply_run_end(const Record& record, OpenRun& run) {
  const auto end = [&](std::uint64_t& count) {
    ++count;
    --counted_.open;
    run.ready_ns.reset();
    last_ns_ = std::max(last_ns_, record.recorded_at_ns);
  };
  if (event_as<RunSucceeded>(record.event) != nullptr) {
    end(counted_.succeeded);
    run_times_ns_.push_back(record.recorded_at_ns - run.arrived_ns);
  } else if (event_as<RunFailed>(record.event) != nullptr) {
    end(counted_.failed);
  } else if (event_as<RunCanceled>(record.event) != nullptr) {
    end(counted_.canceled);
  } else if (event_as<RunRetried>(record.event) != nullptr) {
    --counted_.failed;
    ++counted_.open;
    run.ready_ns = record.recorded_at_ns;
  }
}

void FlowMeter::apply_card(const Record& record) {
  const CardId& id = record.stream.run_id;
  if (event_as<CardSubmitted>(record.event) != nullptr) {
    cards_[id].submitted_ns = record.recorded_at_ns;
    ++counted_.cards;
    if (!first_ns_) first_ns_ = record.recorded_at_ns;
    return;
  }
  const auto place = cards_.find(id);
  if (place == cards_.end()) return;
  OpenCard& card = place->second;
  if (event_as<CardStarted>(record.event) != nullptr && !card.started) {
    card.started = true;
    card_waits_ns_.push_back(record.recorded_at_ns - card.submitted_ns);
  } else if (event_as<CardMerged>(record.event) != nullptr) {
    ++counted_.cards_merged;
    card_times_ns_.push_back(record.recorded_at_ns - card.submitted_ns);
  }
}

FlowMeasures FlowMeter::measures() const {
  FlowMeasures measures = counted_;
  measures.makespan_ms =
      first_ns_ && last_ns_ > *first_ns_ ? (last_ns_ - *first_ns_) / ns_per_ms : 0;
  measures.queue_wait = spread_of(queue_waits_ns_);
  measures.run_time = spread_of(run_times_ns_);
  measures.card_wait = spread_of(card_waits_ns_);
  measures.card_time = spread_of(card_times_ns_);
  return measures;
}

}  // namespace signalbox
