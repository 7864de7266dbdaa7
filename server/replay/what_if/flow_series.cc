#include "server/replay/what_if/flow_series.h"

#include <algorithm>

#include "domain/nanoseconds.h"

namespace signalbox {

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
  const std::int64_t after_ms = std::max<std::int64_t>(0, at_ns - *begin_ns_) / ns_per_ms;
  while (after_ms / span_ms_ >= static_cast<std::int64_t>(flow_spans_max)) merge_spans();
  const auto span = static_cast<std::size_t>(after_ms / span_ms_);
  while (spans_.size() <= span) spans_.push_back(now_);
  now_ = {waiting, at_work};
  spans_[span].raise_to(now_);
}

FlowOverTime FlowSeries::over_time() const {
  FlowOverTime series;
  series.span_ms = span_ms_;
  for (const Level& span : spans_) {
    series.waiting.push_back(span.waiting);
    series.at_work.push_back(span.at_work);
  }
  return series;
}

}  // namespace signalbox
