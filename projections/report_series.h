// How much was going on over the time of a report's period, for a chart. Bounded, however long the
// period is and however many records it has.
#pragma once

#include <cstdint>
#include <vector>

#include <boost/describe/class.hpp>

namespace signalbox {

// A number for each of the period's spans, all of which are equally long: the greatest in the span,
// and of the cost what it was at the span's end.
struct ReportedOverTime {
  std::int64_t span_ms = 0;
  std::vector<std::int64_t> waiting;        // open runs of which no attempt was under way
  std::vector<std::int64_t> at_work;        // attempts under way
  std::vector<std::int64_t> cost_microusd;  // since the period began
  std::int64_t waiting_now = 0;             // at the period's end
  std::int64_t at_work_now = 0;

  friend bool operator==(const ReportedOverTime &, const ReportedOverTime &) = default;
};
BOOST_DESCRIBE_STRUCT(ReportedOverTime, (),
                      (span_ms, waiting, at_work, cost_microusd, waiting_now, at_work_now))

class ReportSeries {
 public:
  // Takes at most this many spans, at least 1, for the time from `since_ns` to `until_ns` (UTC).
  ReportSeries(std::int64_t since_ns, std::int64_t until_ns, std::size_t spans);

  // Notes a change, in the order of the log: a time before that of the change before counts as
  // that one, because clocks are set back. Changes of one time are one: only what is there after
  // the last of them counts.
  void add(std::int64_t at_ns, std::int64_t runs, std::int64_t attempts,
           std::int64_t cost_microusd);
  // Returns the series. What was open when the period began follows from what is open at its end.
  [[nodiscard]] ReportedOverTime over_time(std::int64_t open_runs, std::int64_t under_way) &&;

 private:
  // Compared with the period's beginning.
  struct Level {
    std::int64_t waiting = 0;
    std::int64_t at_work = 0;
    std::int64_t cost_microusd = 0;
  };

  void move_to(std::size_t span);
  void end_moment();

  const std::int64_t since_ns_;
  std::int64_t latest_ns_ = 0;  // of the latest change
  std::int64_t span_ms_ = 1;
  Level now_;
  std::size_t span_ = 0;
  std::vector<Level> spans_;
};

}  // namespace signalbox
