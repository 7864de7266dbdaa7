// The outside workers of a log, as far as it shows them: until when each was at an attempt that
// ended without a word of it, and how many were at work at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace signalbox {

// An attempt that ended without a word of its worker, by its indices in RecordedWork.
struct UnreportedAttempt {
  std::size_t run = 0;
  std::size_t station = 0;
  std::size_t attempt = 0;
  std::int64_t claimed_ns = 0;
  std::int64_t ended_ns = 0;
  bool is_lost = false;  // its lease ended
};

class RecordedWorkers {
 public:
  // Notes a claim under this name. Returns the attempt that the process had lost the lease of and
  // was at until now, if the log shows one.
  std::optional<UnreportedAttempt> claim(const std::string& worker, std::int64_t now_ns);
  // Notes that a worker of this name reported how its attempt ended.
  void report(const std::string& worker, std::int64_t now_ns);
  // Notes that an attempt of a worker of this name ended without its report.
  void end_unreported(const std::string& worker, const UnreportedAttempt& ended);
  // Notes that the worker of this attempt, which had ended, told what it has used up: its work is
  // over. Returns as claim().
  std::optional<UnreportedAttempt> tell_late(std::size_t run, std::size_t station,
                                             std::size_t attempt, std::int64_t now_ns);

  // Returns the greatest number at work at the same time. To be called last.
  [[nodiscard]] std::size_t at_once() &&;

 private:
  // The processes that claim under one name.
  struct Workers {
    std::size_t idle = 0;                      // have reported and not claimed again
    std::deque<UnreportedAttempt> unreported;  // in their order; each may still be at work
  };

  std::optional<UnreportedAttempt> note_busy_until(const UnreportedAttempt& ended,
                                                   std::int64_t now_ns);

  std::map<std::string, Workers> workers_;                  // by name
  std::vector<std::pair<std::int64_t, int>> busy_changes_;  // when workers begin (1) and end (-1)
};

}  // namespace signalbox
