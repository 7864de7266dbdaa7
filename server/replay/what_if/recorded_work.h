// The work in a part of a log, independent of how it was scheduled: what arrived when, what each
// attempt did and for how long, and what people decided. A what-if simulation runs this work under
// another policy.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "domain/board_command.h"
#include "domain/command.h"
#include "domain/world.h"
#include "server/replay/what_if/recorded_workers.h"

namespace signalbox {

// Recording stops after this many attempts; each takes about 300 bytes.
inline constexpr std::size_t recorded_attempts_max = 4'000'000;
// Heartbeats kept per attempt. If there were more, beats are dropped as long as no gap becomes
// wider than the widest recorded one; beats with new progress are kept.
inline constexpr std::size_t recorded_beats_max = 256;

struct RecordedBeat {
  std::int64_t after_ns = 0;  // since the claim
  std::string progress;       // digest of the progress, or empty
};

enum class AttemptEnding : std::uint8_t {
  reported,  // its worker or its job reported the result
  silent,    // its lease ended: its worker sent nothing after its last heartbeat
  open,      // the service or a person ended it before it was done
};

// What an attempt asked a person, and what the person decided.
struct RecordedQuestion {
  std::int64_t after_ns = 0;         // since the claim
  std::int64_t waited_ns = 0;        // from the question to the decision
  std::optional<Decision> decision;  // nullopt: the attempt, or the log, ended before one
};

struct RecordedAttempt {
  AttemptEnding ending = AttemptEnding::open;
  std::int64_t claimed_ns = 0;  // UTC
  std::int64_t worked_ns = 0;   // from its claim to its end
  std::int64_t lease_ms = 0;    // 0: a job of the service
  // If `ending` is `silent`: since its claim, when its worker claimed something again. So it was
  // alive, and busy no longer than that. nullopt: the log says nothing of it after that.
  std::optional<std::int64_t> returned_ns;
  // The result, if `ending` is `reported`:
  Outcome outcome = Outcome::succeeded;
  ErrorClass error_class = ErrorClass::terminal;
  std::string code;
  std::optional<WaitReason>
      given_back;  // deferred or quota; the station was ready again after wait_ns
  std::int64_t wait_ns = 0;

  Usage usage;  // whatever `ending` is
  // Since its claim, when the usage was told; nullopt: with its end.
  std::optional<std::int64_t> told_late_ns;

  std::vector<RecordedBeat> beats;
  std::vector<RecordedQuestion> questions;
};

// What a person decided about a station that waited for a person.
struct RecordedDecision {
  std::int64_t waited_ns = 0;
  std::optional<Decision> decision;  // on an approval
  std::optional<Budget> budget;      // the raised one
};

struct RecordedStation {
  std::vector<RecordedAttempt> attempts;  // in their order
  std::vector<RecordedDecision> decisions;
};

// What a person did to a run that didn't wait for a person.
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
  bool of_card = false;                   // the board starts it for a card
  std::vector<RecordedStation> stations;  // as in the pipeline
  std::vector<RecordedIntervention> interventions;
  std::vector<std::int64_t> retried_after_ns;  // one per retry, since the failure before it
};

// A priority that a card was given after it was submitted.
struct RecordedPriority {
  std::int64_t after_ns = 0;  // since the card was submitted
  std::int32_t priority = 0;
};

struct RecordedCard {
  CardId id{};
  std::int64_t submitted_ns = 0;  // UTC
  CardSubmitted submitted;
  std::vector<std::size_t> builds;  // indices in RecordedWork::runs, in their order
  std::vector<std::size_t> merges;  // likewise
  std::vector<std::int64_t>
      unblocked_after_ns;  // one per unblocking by a person, since the card was blocked or failed
  std::vector<RecordedPriority> priorities;    // in their order
  std::vector<std::int64_t> blocked_after_ns;  // one per block by a person, since the submission
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

// A pause of the whole service, or its end.
struct RecordedPause {
  std::int64_t at_ns = 0;  // UTC
  Command command;         // PauseService or ResumeService
};

struct RecordedWork {
  std::int64_t from_ns = 0;  // UTC: the time of the first record
  std::int64_t to_ns = 0;    // and of the last
  std::vector<RecordedRun> runs;
  std::vector<RecordedCard> cards;
  std::vector<RecordedProject> projects;
  std::vector<RecordedPolicy> policies;
  std::vector<RecordedPause> pauses;  // one still in force at the end ends there
  std::size_t attempts = 0;
  // Greatest number of outside workers at work at the same time, also on attempts that had lost
  // their lease, as far as the log shows it.
  std::size_t workers = 0;
  std::size_t runs_before = 0;  // open at the beginning, and so not part of the work
};

// Builds a RecordedWork, record by record.
class WorkRecorder {
 public:
  // `world` is the state before the first record. Its projects, and its backlog's cards, count as
  // put and submitted at the time of the first record.
  explicit WorkRecorder(const World& world);

  // Applies a record; `world` is the state after it. Returns false once recorded_attempts_max is
  // reached.
  bool apply(const World& world, const Record& record);
  // Returns the work; to be called after the last record.
  RecordedWork finish() &&;

 private:
  struct OpenRun {
    std::size_t index = 0;
    std::optional<std::size_t> station;  // index of the station with an attempt under way
    std::int64_t claimed_ns = 0;
    std::string worker;               // that claimed it
    std::optional<std::size_t> held;  // index of the station that waits for a person
    std::int64_t held_ns = 0;
    std::optional<std::size_t> asked;  // index of the station whose attempt asks, or has asked
    std::int64_t asked_ns = 0;
    std::int64_t failed_ns = 0;
    bool cancel_requested = false;
  };

  void start_run(const World& world, const Record& record, const RunStarted& event);
  void claim(const Record& record, OpenRun& open, const StationClaimed& event, std::size_t station);
  // Notes that the worker of an attempt that lost its lease was at it until now.
  void note_return(const std::optional<UnreportedAttempt>& lost, std::int64_t now_ns);
  void note_late_usage(const Record& record, OpenRun& open, const LateUsageReported& event);
  void apply_run(const Record& record, OpenRun& open);
  void apply_attempt(const Record& record, OpenRun& open);
  void decide(const Record& record, OpenRun& open, RecordedDecision decision);
  void answer(const Record& record, OpenRun& open, Decision decision);
  void end_attempt(const Record& record, OpenRun& open, AttemptEnding ending);
  void fail_attempt(const Record& record, OpenRun& open, const Failure& failure);
  void apply_board(const World& world, const Record& record);
  [[nodiscard]] std::int64_t submitted_ns_of(const RecordedCard& card) const;
  RecordedAttempt& attempt_of(OpenRun& open);

  RecordedWork work_;
  RecordedWorkers workers_;
  std::unordered_map<RunId, OpenRun, UuidHash> open_;
  std::unordered_map<CardId, std::size_t, UuidHash> cards_;  // indices in work_.cards
  std::unordered_map<CardId, std::int64_t, UuidHash> blocked_ns_;
};

}  // namespace signalbox
