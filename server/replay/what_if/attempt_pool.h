// What an attempt that another policy starts will be like: as the one that was recorded in its
// place or, where none was, as one drawn from those of the same station.
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
  // `work` outlives it.
  AttemptPool(const RecordedWork& work, std::uint64_t seed);

  // The run that this one stands for; one that stands for none draws all of its attempts.
  void assign(const RunId& run, const RecordedRun& recorded) { assigned_[run] = &recorded; }
  [[nodiscard]] const RecordedRun* recorded(const RunId& run) const;

  // Attempt `number`, from 1, at a station.
  const RecordedAttempt& attempt(const RunId& run, const std::string& station,
                                 std::uint32_t number);
  // The decision of turn `number`, from 0, at a station that waits for a person; nullptr: nobody
  // decided.
  [[nodiscard]] const RecordedDecision* decision(const RunId& run, const std::string& station,
                                                 std::size_t number) const;

  // Attempts that had to be drawn, and such whose station was never seen at work: they succeed at
  // once.
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
