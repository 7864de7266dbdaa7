// Outside workers as they were recorded: each takes what has been ready longest, beats as it did,
// ends as it did. One that lost its lease works on until it is told.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>

#include "server/engine/engine.h"
#include "server/replay/what_if/attempt_pool.h"
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
  };
  // `freed` is called whenever one has become free.
  SimulatedWorkers(const Parts& parts, std::size_t workers, std::function<void()> freed)
      : parts_(parts), workers_(workers), freed_(std::move(freed)) {}

  // Those that are free take what is ready.
  void claim_ready();
  // Follows what was applied: a worker that isn't heard any more is replaced when its attempt ends.
  void apply(std::span<const Record> records);

 private:
  struct Attempt {
    RunId run_id{};
    std::string station;
    Token token = 0;
    std::int64_t began_ns = 0;
    std::int64_t lease_ms = 0;
    const RecordedAttempt* recorded = nullptr;
    std::size_t beats = 0;  // so far
  };

  bool claim_one();
  void go_on(Token token);
  void beat(Token token);
  void end(Token token);
  void free(Token token);
  [[nodiscard]] bool told_to_stop(const Attempt& attempt) const;
  bool say(Command command);

  const Parts parts_;
  const std::size_t workers_;
  const std::function<void()> freed_;
  std::unordered_map<Token, Attempt> busy_;
};

}  // namespace signalbox
