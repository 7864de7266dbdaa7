// How many runs waited and how many attempts were at work over the time of a history, for a chart.
// Bounded: the longer the history, the longer the spans.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <boost/describe/class.hpp>

namespace signalbox {

// Spans that a series has at most.
inline constexpr std::size_t flow_spans_max = 240;

// The greatest number in each span since the first change; all spans are equally long.
struct FlowOverTime {
  std::int64_t span_ms = 0;
  std::vector<std::uint64_t> waiting;  // runs whose next station was ready
  std::vector<std::uint64_t> at_work;  // attempts

  friend bool operator==(const FlowOverTime&, const FlowOverTime&) = default;
};
BOOST_DESCRIBE_STRUCT(FlowOverTime, (), (span_ms, waiting, at_work))

class FlowSeries {
 public:
  // Notes the numbers from `at_ns` on. A time before the one of the first call counts as that.
  void note(std::int64_t at_ns, std::uint64_t waiting, std::uint64_t at_work);
  // Returns the series up to the last change; its last span has what is left then.
  [[nodiscard]] FlowOverTime over_time() const;

 private:
  struct Level {
    std::uint64_t waiting = 0;
    std::uint64_t at_work = 0;

    void raise_to(const Level& other);
  };

  // Makes the spans twice as long.
  void merge_spans();

  std::optional<std::int64_t> begin_ns_;
  std::int64_t span_ms_ = 1;
  Level now_;
  std::vector<Level> spans_;
};

}  // namespace signalbox
