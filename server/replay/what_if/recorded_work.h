// The work that a part of a log tells of, apart from how it was scheduled: what came when, what
// each attempt did and for how long, and what people decided. This is what another policy is tried
// on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "domain/board_command.h"
#include "domain/world.h"

namespace signalbox {

// More attempts than this aren't taken; each is some 200 bytes.
inline constexpr std::size_t recorded_attempts_max = 4'000'000;
// Of one attempt. Where there were more, those are left out whose absence makes no gap wider than
// the widest one that there was.
inline constexpr std::size_t recorded_beats_max = 256;

struct RecordedBeat {
  std::int64_t after_ns = 0;  // since the claim
  std::string progress;       // its digest, or empty
};

enum class AttemptEnding : std::uint8_t {
  told,    // its worker or its job said how it ended
  silent,  // its worker wasn't heard any more after its last beat
  open,    // it was ended before it was done
};

struct RecordedAttempt {
  AttemptEnding ending = AttemptEnding::open;
  std::int64_t worked_ns = 0;  // from its claim to its end
  std::int64_t lease_ms = 0;   // 0: a job of the service
  // told:
  Outcome outcome = Outcome::succeeded;
  ErrorClass error_class = ErrorClass::terminal;
  std::string code;
  Usage usage;
  std::optional<WaitReason> given_back;  // deferred or quota; it went on wait_ns later
  std::int64_t wait_ns = 0;

  std::vector<RecordedBeat> beats;
};

// What a person decided about a station that waited for it.
struct RecordedDecision {
  std::int64_t waited_ns = 0;
  std::optional<Decision> decision;  // of an approval
  std::optional<Budget> budget;      // that was raised
};

struct RecordedStation {
  std::vector<RecordedAttempt> attempts;  // in their order
  std::vector<RecordedDecision> decisions;
};

// What a person did to a run that didn't ask.
struct RecordedIntervention {
  enum class Kind : std::uint8_t { cancel, pause, resume };
  Kind kind = Kind::cancel;
  std::int64_t after_ns = 0;  // since the run arrived
};

struct RecordedRun {
  RunId id{};
  std::int64_t arrived_ns = 0;  // UTC
  std::string project;
  std::string repository;
  Budget budget;
  std::optional<std::uint32_t> max_retries;
  std::shared_ptr<const PipelineDefinition> pipeline;
  bool of_card = false;                   // it arrives when its card's turn comes
  std::vector<RecordedStation> stations;  // as in the pipeline
  std::vector<RecordedIntervention> interventions;
  std::vector<std::int64_t> retried_after_ns;  // each since the failure before it
};

struct RecordedCard {
  CardId id{};
  std::int64_t submitted_ns = 0;  // UTC
  CardSubmitted submitted;
  std::vector<std::size_t> builds;               // its runs, in their order: indices
  std::vector<std::size_t> merges;               // likewise
  std::vector<std::int64_t> unblocked_after_ns;  // by a person, since it was blocked or failed
};

struct RecordedProject {
  std::int64_t put_ns = 0;  // UTC
  PutProject put;
};
struct RecordedPolicy {
  std::int64_t adopted_ns = 0;  // UTC
  std::string repository;
  Policy policy;
};

struct RecordedWork {
  std::int64_t from_ns = 0;  // UTC: the time of the first record
  std::int64_t to_ns = 0;    // and of the last
  std::vector<RecordedRun> runs;
  std::vector<RecordedCard> cards;
  std::vector<RecordedProject> projects;
  std::vector<RecordedPolicy> policies;
  std::size_t attempts = 0;
  std::size_t workers = 0;      // outside workers' attempts at one time, at most
  std::size_t runs_before = 0;  // that were open at the beginning: they aren't part of it
};

// Collects it, record by record.
class WorkRecorder {
 public:
  // `world` is the state before the first record: its projects, and the cards of its backlog as if
  // they were submitted now.
  explicit WorkRecorder(const World& world);

  // `world` is the state after the record. False: recorded_attempts_max was reached.
  bool apply(const World& world, const Record& record);
  // After the last one.
  RecordedWork finish() &&;

 private:
  struct OpenRun {
    std::size_t index = 0;
    std::optional<std::size_t> station;  // of the attempt under way
    std::int64_t claimed_ns = 0;
    std::optional<std::size_t> held;  // the station that waits for a person
    std::int64_t held_ns = 0;
    std::int64_t failed_ns = 0;
    bool cancel_requested = false;
  };

  void start_run(const World& world, const Record& record, const RunStarted& event);
  void observe_run(const Record& record, OpenRun& open);
  void observe_attempt(const Record& record, OpenRun& open);
  void decide(const Record& record, OpenRun& open, RecordedDecision decision);
  void end_attempt(const Record& record, OpenRun& open, AttemptEnding ending);
  void fail_attempt(const Record& record, OpenRun& open, const Failure& failure);
  void observe_board(const World& world, const Record& record);
  RecordedAttempt& attempt_of(OpenRun& open);

  RecordedWork work_;
  std::size_t workers_ = 0;
  std::unordered_map<RunId, OpenRun, UuidHash> open_;
  std::unordered_map<CardId, std::size_t, UuidHash> cards_;
  std::unordered_map<CardId, std::int64_t, UuidHash> blocked_ns_;
};

}  // namespace signalbox
