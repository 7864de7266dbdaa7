// What happened in a part of the log, in numbers: how runs and attempts ended, why they failed,
// what they cost, and what crashes of the service cost. Computed from the records alone, in one
// pass.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "domain/event.h"
#include "projections/report_series.h"

namespace signalbox {

// A run that was retried counts as it ended last.
struct ReportedRuns {
  std::uint64_t started = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t canceled = 0;
  std::uint64_t retried = 0;  // reopened after they had failed

  friend bool operator==(const ReportedRuns&, const ReportedRuns&) = default;
};
BOOST_DESCRIBE_STRUCT(ReportedRuns, (), (started, succeeded, failed, canceled, retried))

struct ReportedAttempts {
  std::uint64_t started = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;    // timed out ones as well
  std::uint64_t deferred = 0;  // given back
  std::uint64_t canceled = 0;
  std::uint64_t retries = 0;   // that weren't their station's first
  std::int64_t worked_ms = 0;  // of all attempts, within the period

  friend bool operator==(const ReportedAttempts&, const ReportedAttempts&) = default;
};
BOOST_DESCRIBE_STRUCT(ReportedAttempts, (),
                      (started, succeeded, failed, deferred, canceled, retries, worked_ms))

struct ReportedCards {
  std::uint64_t submitted = 0;
  std::uint64_t merged = 0;
  std::uint64_t blocked = 0;  // times
  std::uint64_t failed = 0;

  friend bool operator==(const ReportedCards&, const ReportedCards&) = default;
};
BOOST_DESCRIBE_STRUCT(ReportedCards, (), (submitted, merged, blocked, failed))

// The ticks of orchestrators' loops, without those of the service itself.
struct ReportedTicks {
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t halted = 0;  // found without an end

  friend bool operator==(const ReportedTicks&, const ReportedTicks&) = default;
};
BOOST_DESCRIBE_STRUCT(ReportedTicks, (), (succeeded, failed, timed_out, halted))

// The failures with one code.
struct ReportedFailure {
  std::string code;
  std::uint64_t runs = 0;      // that failed with it and weren't retried
  std::uint64_t attempts = 0;  // that failed with it
  // The latest failure: of a run if one failed with it, else of an attempt.
  bool is_of_run = false;
  ErrorClass error_class = ErrorClass::terminal;
  RunId run_id{};
  std::string station;
  Position position = 0;
};

struct ReportedRunUsage {
  RunId run_id{};
  Usage usage;
};

// An end of the service without a stop, and the start after it.
struct ReportedCrash {
  Position position = 0;          // of the ServerStarted after it
  std::int64_t started_ns = 0;    // when that was written, UTC
  std::uint64_t incarnation = 0;  // that began then
  // Since the service's last record before, so that it was down for no longer.
  std::int64_t down_ms_max = 0;
  std::uint64_t in_flight = 0;                    // items with a verdict
  std::map<std::string, std::uint64_t> verdicts;  // of those that the log names
  // Attempts under way at the crash that were lost, and their work until then.
  std::uint64_t attempts_lost = 0;
  std::int64_t lost_ms = 0;
};

struct Report {
  ReportedRuns runs;
  ReportedAttempts attempts;
  ReportedCards cards;
  ReportedTicks ticks;
  Usage usage;
  Usage usage_of_failed;  // the part of attempts that failed
  std::uint64_t clock_jumps = 0;
  std::vector<ReportedFailure> failures;  // the code of most failed runs first
  std::vector<ReportedRunUsage>
      costliest;                       // by cost, then by tokens; those that used nothing: none
  std::vector<ReportedCrash> crashes;  // the latest first
  std::optional<ReportedOverTime> over_time;
};

// What is open at the end of a period.
struct ReportedEnd {
  std::int64_t at_ns = 0;  // UTC
  std::size_t open_runs = 0;
  std::size_t under_way = 0;  // attempts
};

// Returns whether the record shows that the service lived when it was written. `signalbox audit`
// redacts and drops also in a log that no service has open. Its events there have a user as their
// actor and no command's id; one that a service wrote for a client without an id has neither, and
// shows nothing either.
bool shows_that_service_lived(const Record& record);

// Computes a report from records, applied in order. Its memory grows with the runs that they
// concern.
class ReportMeter {
 public:
  // The period begins at `since_ns` (UTC). `lived_ns` is when the last record before it was written
  // that shows that the service lived; nullopt if none is known.
  ReportMeter(std::int64_t since_ns, std::optional<std::int64_t> lived_ns)
      : since_ns_(since_ns), lived_ns_(lived_ns.value_or(since_ns)) {}

  // Notes that an attempt of the run is under way since before the first record.
  void begin_under_way(const RunId& run_id);
  void apply(const Record& record);
  // Has the report say how much was going on over time, in at most this many spans until
  // `until_ns`. Called before the first record.
  void note_over_time(std::int64_t until_ns, std::size_t spans);
  // Returns the report of the records so far, which are those up to `end`.
  [[nodiscard]] Report finish(const ReportedEnd& end, std::size_t costliest_max) &&;

 private:
  enum class End : std::uint8_t { none, succeeded, failed, canceled };
  struct Tally {
    End end = End::none;
    bool under_way = false;
    std::uint32_t failure = 0;    // index in report_.failures, if it failed
    std::int64_t claimed_ns = 0;  // or the beginning of the period
    Position alive_at = 0;        // the latest sign of life of the attempt
    Usage of_attempt;
    Usage used;
  };
  struct RecordVisitor;

  Tally& tally_of(const Record& record);
  Tally& tally_of_attempt(const Record& record);
  void end_attempt(const Record& record, Tally& tally);
  void note_change(const Record& record, std::int64_t runs, std::int64_t attempts,
                   std::int64_t cost_microusd = 0);
  void fail_attempt(const Record& record, const Failure& failure, const std::string& station);
  ReportedFailure& failure_of(const std::string& code);

  const std::int64_t since_ns_;
  std::int64_t lived_ns_;  // when the latest record shows that the service lived
  Report report_;
  std::optional<ReportSeries> series_;
  boost::unordered_flat_map<RunId, Tally, UuidHash> tallies_;
  std::map<std::string, std::uint32_t> failure_by_code_;
};

}  // namespace signalbox
