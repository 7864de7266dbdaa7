// Simulates outside workers with recorded attempts: each claims the station that has been ready
// longest, sends heartbeats as recorded, and ends as recorded. A worker that lost its lease works
// on until a heartbeat is refused. One that lost it in the log, and keeps it here, ends as
// AttemptPool::kept_end() says.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "server/engine/engine.h"
#include "server/replay/what_if/attempt_pool.h"
#include "server/replay/what_if/simulated_jobs.h"
#include "server/replay/what_if/simulated_time.h"
#include "server/replay/what_if/what_if_policy.h"

namespace signalbox {

class SimulatedWorkers {
 public:
  struct Parts {
    Engine& engine;
    SimulatedTime& time;
    AttemptPool& pool;
    IdSource& ids;
    const WhatIfPolicy& policy;
    SimulatedQuestions& questions;
  };
  // `workers` is their number. `freed` is called whenever one becomes free.
  SimulatedWorkers(const Parts& parts, std::size_t workers, std::function<void()> freed)
      : parts_(parts), workers_(workers), freed_(std::move(freed)) {}

  // Lets free workers claim stations that are ready.
  void claim_ready();
  // Applies the engine's events: a worker that fell silent becomes free when its attempt is ended,
  // or, if it was heard of again, at that time.
  void apply(std::span<const Record> records);
  // Returns the number of attempts that lost their lease in the log and ended here.
  [[nodiscard]] std::uint64_t kept() const { return kept_; }

 private:
  struct Attempt {
    RunId run_id{};
    std::string station;
    std::uint32_t number = 1;
    Token token = 0;
    Uuid span_id{};
    std::int64_t began_ns = 0;
    std::int64_t lease_ms = 0;
    const RecordedAttempt* recorded = nullptr;
    std::optional<AttemptPool::KeptEnd> kept_end;  // if it fell silent
    std::size_t beats = 0;                         // sent so far
    std::size_t questions = 0;                     // likewise
  };

  bool claim_one();
  void schedule_next(Token token);
  void ask(Token token);
  void beat(Token token);
  // Returns when an attempt has to renew its lease though the log has no heartbeat of it: nullopt
  // if its next word comes in time, or if the log shows that it didn't.
  [[nodiscard]] std::optional<std::int64_t> unrecorded_renewal_ns(const Attempt& attempt) const;
  void renew(Token token);
  void end(Token token);
  // Has what an attempt has used up recorded that has ended without it.
  void tell_late(const Attempt& attempt, const Usage& usage);
  void free(Token token);
  [[nodiscard]] bool must_stop(const Attempt& attempt) const;
  // Returns false if the command was rejected.
  bool apply_command(Command command);

  const Parts parts_;
  const std::size_t workers_;
  const std::function<void()> freed_;
  std::unordered_map<Token, Attempt> busy_;
  std::uint64_t kept_ = 0;
};

}  // namespace signalbox
