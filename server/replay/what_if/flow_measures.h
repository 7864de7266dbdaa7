// Measures a history: throughput, waits, duplicated work. Recorded and simulated histories are
// measured alike, so that policies can be compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/event.h"

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

// Notes how many runs wait and how many attempts are at work over the time of a history, for a
// chart. Bounded: the longer the history, the longer the spans.
class FlowSeries {
 public:
  // Notes the numbers from `at_ns` on. A time before that of the change before counts as that one,
  // because clocks are set back. Changes of one time are one: only what is there after the last of
  // them counts. With its attempt a run ends, too, and doesn't wait in between.
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
  std::int64_t latest_ns_ = 0;  // of the latest change
  std::int64_t span_ms_ = 1;
  Level now_;
  std::vector<Level> spans_;
};

// The distribution of a set of durations.
struct Spread {
  std::uint64_t count = 0;
  std::int64_t p50_ms = 0;
  std::int64_t p90_ms = 0;
  std::int64_t max_ms = 0;
  std::int64_t total_ms = 0;

  friend bool operator==(const Spread&, const Spread&) = default;
};
BOOST_DESCRIBE_STRUCT(Spread, (), (count, p50_ms, p90_ms, max_ms, total_ms))

struct FlowMeasures {
  std::uint64_t runs = 0;  // arrived
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t canceled = 0;
  std::uint64_t open = 0;
  std::uint64_t cards = 0;
  std::uint64_t cards_merged = 0;

  std::int64_t makespan_ms = 0;  // from the first arrival to the last end
  std::uint64_t attempts = 0;
  std::uint64_t retries = 0;  // attempts that weren't a station's first
  std::uint64_t timeouts = 0;
  std::uint64_t stalls = 0;  // attempts that were ended because of a stall
  std::uint64_t leases_lost = 0;
  std::uint64_t duplicates = 0;    // attempts that repeat one that lost its lease
  std::int64_t duplicated_ms = 0;  // the work of the attempts that lost their leases
  std::int64_t worked_ms = 0;      // sum over all attempts
  std::uint64_t at_once = 0;       // greatest number of concurrent attempts

  Spread queue_wait;  // from a station becoming ready to its attempt
  Spread run_time;    // from a run's arrival to its success
  Spread card_wait;   // from a card's arrival to its first run
  Spread card_time;   // from a card's arrival to its merge

  friend bool operator==(const FlowMeasures&, const FlowMeasures&) = default;
};
BOOST_DESCRIBE_STRUCT(FlowMeasures, (),
                      (runs, succeeded, failed, canceled, open, cards, cards_merged, makespan_ms,
                       attempts, retries, timeouts, stalls, leases_lost, duplicates, duplicated_ms,
                       worked_ms, at_once, queue_wait, run_time, card_wait, card_time))

// Computes the measures from records, applied in order. Runs and cards that existed before the
// first record aren't counted.
class FlowMeter {
 public:
  void apply(const Record& record);
  // Returns the measures of the records so far.
  [[nodiscard]] FlowMeasures measures() const;
  // Returns how many runs waited and attempts were at work over the time of these records.
  [[nodiscard]] FlowOverTime over_time() const { return series_.over_time(); }

 private:
  struct OpenRun {
    std::int64_t arrived_ns = 0;
    std::optional<std::int64_t> ready_ns;
    std::optional<std::int64_t> claimed_ns;
    std::int64_t last_beat_ns = 0;  // the latest recorded claim or heartbeat of the attempt
    std::int64_t lease_ms = 0;      // as of then
    bool lost = false;              // the latest attempt lost its lease
  };
  struct OpenCard {
    std::int64_t submitted_ns = 0;
    bool started = false;
  };

  void note_change(const Record& record, const OpenRun& run, bool was_ready,
                   std::uint64_t were_under_way);
  void apply_attempt(const Record& record, OpenRun& run);
  void apply_run_end(const Record& record, OpenRun& run);
  void apply_card(const Record& record);
  void claim(const Record& record, const StationClaimed& event, OpenRun& run);
  void end_attempt(const Record& record, OpenRun& run);
  void fail_attempt(const Record& record, OpenRun& run, const Failure& failure);

  FlowMeasures counted_;
  std::uint64_t under_way_ = 0;  // attempts
  std::uint64_t ready_ = 0;      // runs that wait for an attempt
  FlowSeries series_;
  std::optional<std::int64_t> first_ns_;
  std::int64_t last_ns_ = 0;
  std::vector<std::int64_t> queue_waits_ns_;
  std::vector<std::int64_t> run_times_ns_;
  std::vector<std::int64_t> card_waits_ns_;
  std::vector<std::int64_t> card_times_ns_;
  std::unordered_map<RunId, OpenRun, UuidHash>
      runs_;  // ended ones as well, because they may be retried
  std::unordered_map<CardId, OpenCard, UuidHash> cards_;
};

}  // namespace signalbox
