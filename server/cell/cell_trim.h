// Which links of a cell's log its database needs no more: those that every server has, and that are
// old. Pure; CellMember::trim() removes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "store/shared_log.h"

namespace signalbox {

namespace limits {
// How often the active server looks for links to remove, and how many it removes at once at most:
// more follow with the next beats.
inline constexpr std::int64_t cell_trim_ms_default = 10'000;
inline constexpr std::size_t cell_trim_links_max = 1024;
// How often that may fail in a row before it is told.
inline constexpr int cell_trim_failures_max = 3;
}  // namespace limits

struct TrimFacts {
  std::vector<ReplicaReport> servers;  // that have reported
  std::string own;                     // name of the active one
  std::int64_t absent_ms = 0;          // a server that was silent for longer isn't waited for
  Position begin = 0;                  // the database's log begins after it, as far as is known
  Position old = 0;                    // the last position that is old enough
  Position archived = 0;               // the horizon: archives have everything up to it
};

struct TrimDecision {
  Position through = 0;  // links may be removed up to there; 0 for none
  std::string held_by;   // the server for which something old is kept; empty: none
  std::string why;       // why, unless that server has to get it yet: one sentence
};

// Returns up to which position links may be removed. Each server that isn't absent has it durably,
// or can't follow any more; and another one than the active was there within a minute, or archives
// have it.
TrimDecision decide_trim(const TrimFacts& facts);

// Where the tail of the log was when, for the time that links are kept: tells what is old without
// reading the log. Moments are monotonic (ns), each not before the one before.
class TailSamples {
 public:
  // So many samples are kept for that time, so what is old may be known later by such a part of it.
  static constexpr int parts = 8;

  explicit TailSamples(std::int64_t keep_ns) : keep_ns_(keep_ns) {}

  // Notes the tail of that moment, unless it was done lately.
  void note(std::int64_t at_ns, Position tail);
  // Returns the last position that is known to have been written `keep_ns` before; 0 for none.
  [[nodiscard]] Position old_at(std::int64_t now_ns) const;

 private:
  struct Sample {
    std::int64_t at_ns = 0;
    Position tail = 0;
  };

  std::int64_t keep_ns_;
  std::deque<Sample> samples_;
};

}  // namespace signalbox
