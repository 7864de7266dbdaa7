// Chooses the recorded attempt that a simulated attempt repeats: the one recorded in its place or,
// if there was none, one drawn at random from attempts at the same station.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/replay/what_if/recorded_work.h"

namespace signalbox {

class AttemptPool {
 public:
  // `work` outlives it. The same `seed` draws the same attempts.
  AttemptPool(const RecordedWork& work, std::uint64_t seed);

  // Maps a simulated run to the recorded run that it repeats. A run without one draws all of its
  // attempts.
  void assign(const RunId& run, const RecordedRun& recorded) { assigned_[run] = &recorded; }
  // Returns the recorded run that `run` repeats, or nullptr.
  [[nodiscard]] const RecordedRun* recorded(const RunId& run) const;

  // Returns the attempt that attempt `number` (from 1) at a station repeats.
  const RecordedAttempt& attempt(const RunId& run, const std::string& station,
                                 std::uint32_t number);
  // Returns the person's decision for wait `number` (from 0) at a station; nullptr if none was
  // recorded.
  [[nodiscard]] const RecordedDecision* decision(const RunId& run, const std::string& station,
                                                 std::size_t number) const;

  // Return the number of attempts that were drawn, and of those at stations without any recorded
  // attempt, which succeed at once.
  [[nodiscard]] std::uint64_t drawn() const { return drawn_; }
  [[nodiscard]] std::uint64_t unknown() const { return unknown_; }

 private:
  using Pool = std::vector<const RecordedAttempt*>;
  struct Pools {
    Pool first;
    Pool later;
  };

  const RecordedAttempt& draw(const RunId& run, const std::string& station, std::uint32_t number);

  const std::uint64_t seed_;
  std::map<std::string, Pools> pools_;
  std::unordered_map<RunId, const RecordedRun*, UuidHash> assigned_;
  std::uint64_t drawn_ = 0;
  std::uint64_t unknown_ = 0;
};

}  // namespace signalbox
