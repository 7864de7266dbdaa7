// Decides when a standby takes the cell: pure, from what it reads of the shared log and its own
// monotonic clock.
//
// Nobody else's clock counts, and only time in which this server could read the log: while the
// database is away nobody can beat, and nobody may take over for that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/shared_log.h"

namespace signalbox {

class TakeoverWatch {
 public:
  // Why a standby takes the cell.
  enum class Cause {
    none,      // it doesn't
    first,     // nobody has had the cell yet
    released,  // the former writer has ended, or named this server
    crashed,   // its connection ended
    silent,    // it hasn't written for beat_silence_ms_max
  };

  // `own_name` is the name of this server.
  explicit TakeoverWatch(std::string own_name) : own_name_(std::move(own_name)) {}

  // Takes a state that was read at `now_ms` (monotonic).
  Cause judge(const CellState& state, std::int64_t now_ms);
  // The log couldn't be read: what was seen of the writer no longer counts.
  void note_away();

 private:
  struct Seen {
    std::uint64_t epoch = 0;
    std::uint64_t beat_epoch = 0;
    std::uint64_t beat = 0;
    std::int64_t since_ms = 0;  // when the beat was seen first
    std::int64_t read_ms = 0;   // of the latest state
    bool is_attended = false;
    std::int64_t session = 0;
  };

  const std::string own_name_;
  std::optional<Seen> seen_;
};

// Returns by how many ms a clock is ahead of the database's (behind, if negative), which showed
// `database_ns` at a moment between its `before_ns` and `after_ns`; 0 if they may be the same.
std::int64_t clock_ahead_ms(std::int64_t before_ns, std::int64_t database_ns,
                            std::int64_t after_ns);

// Returns why the cell was taken, as part of a sentence, from the state that was judged.
std::string text_of(TakeoverWatch::Cause cause, const CellState& state);

}  // namespace signalbox
