// Chooses the recorded attempt that a simulated attempt repeats: the one recorded in its place or,
// if there was none, one drawn at random from attempts at the same station.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
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

  // The end of an attempt that lost its lease in the log, if it hadn't lost it.
  struct KeptEnd {
    std::int64_t after_ns = 0;                // since its claim
    const RecordedAttempt* result = nullptr;  // has the result that it reports
  };
  // Returns how attempt `number` at a station would have ended, which repeats `lost`, an attempt
  // that fell silent. Its result is one that was recorded at the station. It comes when the
  // worker was heard of again. If it wasn't, and had sent no heartbeat before either, its silence
  // says nothing: then it works as long as another attempt that took longer than it was given, the
  // run's own next one if possible; at the least, a moment longer than it was given. nullopt: a
  // worker that had sent heartbeats and stopped is gone.
  [[nodiscard]] std::optional<KeptEnd> kept_end(const RunId& run, const std::string& station,
                                                std::uint32_t number,
                                                const RecordedAttempt& lost) const;

  // Return the number of attempts that were drawn, and of those at stations without any recorded
  // attempt, which succeed at once.
  [[nodiscard]] std::uint64_t drawn() const { return drawn_; }
  [[nodiscard]] std::uint64_t unknown() const { return unknown_; }

 private:
  using Pool = std::vector<const RecordedAttempt*>;
  struct Pools {
    Pool first;
    Pool later;
    Pool results;  // reported ones that weren't given back, the shortest first
  };

  [[nodiscard]] std::mt19937 random_of(const RunId& run, const std::string& station,
                                       std::uint32_t number) const;

  const RecordedAttempt& draw(const RunId& run, const std::string& station, std::uint32_t number);

  const std::uint64_t seed_;
  std::map<std::string, Pools> pools_;
  std::unordered_map<RunId, const RecordedRun*, UuidHash> assigned_;
  std::uint64_t drawn_ = 0;
  std::uint64_t unknown_ = 0;
};

}  // namespace signalbox
