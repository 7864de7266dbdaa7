#include "projections/report_series.h"

#include <algorithm>

#include "domain/nanoseconds.h"

namespace signalbox {

ReportSeries::ReportSeries(std::int64_t since_ns, std::int64_t until_ns, std::size_t spans)
    : since_ns_(since_ns) {
  const std::int64_t length_ms = std::max<std::int64_t>(1, (until_ns - since_ns) / ns_per_ms);
  const auto most = static_cast<std::int64_t>(std::max<std::size_t>(1, spans));
  span_ms_ = (length_ms + most - 1) / most;
  spans_.resize(static_cast<std::size_t>((length_ms + span_ms_ - 1) / span_ms_));
}

// What began before a span goes on in it.
void ReportSeries::move_to(std::size_t span) {
  while (span_ < span) spans_[++span_] = now_;
}

// What is open between two changes of the same moment was never open: with its attempt a run ends,
// too, and doesn't wait.
void ReportSeries::end_moment() {
  Level& most = spans_[span_];
  most.waiting = std::max(most.waiting, now_.waiting);
  most.at_work = std::max(most.at_work, now_.at_work);
}

void ReportSeries::add(std::int64_t at_ns, std::int64_t runs, std::int64_t attempts,
                       std::int64_t cost_microusd) {
  if (at_ns != latest_ns_) end_moment();
  latest_ns_ = at_ns;
  const std::int64_t after_ms = std::max<std::int64_t>(0, at_ns - since_ns_) / ns_per_ms;
  move_to(std::min(static_cast<std::size_t>(after_ms / span_ms_), spans_.size() - 1));
  now_.waiting += runs - attempts;
  now_.at_work += attempts;
  now_.cost_microusd += cost_microusd;
  spans_[span_].cost_microusd = now_.cost_microusd;
}

ReportedOverTime ReportSeries::over_time(std::int64_t open_runs, std::int64_t under_way) && {
  end_moment();
  move_to(spans_.size() - 1);
  ReportedOverTime series;
  series.span_ms = span_ms_;
  series.waiting_now = open_runs - under_way;
  series.at_work_now = under_way;
  const std::int64_t waiting_before = open_runs - under_way - now_.waiting;
  const std::int64_t at_work_before = under_way - now_.at_work;
  for (const Level& span : spans_) {
    series.waiting.push_back(waiting_before + span.waiting);
    series.at_work.push_back(at_work_before + span.at_work);
    series.cost_microusd.push_back(span.cost_microusd);
  }
  return series;
}

}  // namespace signalbox
