// Another signalbox, of any version, that is asked about a log: runs it within a deadline and reads
// its answers without trusting them. Two versions are compared by the states that they fold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "domain/ids.h"
#include "tools/cli/call_error.h"

namespace signalbox {

namespace limits {
inline constexpr std::int64_t against_deadline_ms_default = 10LL * 60 * 1000;  // for one answer
inline constexpr std::int64_t against_deadline_ms_max = 7LL * 24 * 60 * 60 * 1000;
inline constexpr std::int64_t against_grace_ms = 1000;
inline constexpr std::size_t against_answer_bytes_max = std::size_t{256} * 1024 * 1024;
}  // namespace limits

// The errors of a comparison, each with an exit code of its own.
CallError against_unusable(const std::string& program, const std::string& why);    // 2
CallError against_incomplete(const std::string& program, const std::string& why);  // 76
CallError against_other_log(const std::string& program, const std::string& why);   // 65

class OtherProgram {
 public:
  // `deadline_ms`: for each answer. At the deadline the program's whole process group is ended.
  OtherProgram(std::filesystem::path data, std::string program, std::int64_t deadline_ms)
      : data_(std::move(data)), program_(std::move(program)), deadline_ms_(deadline_ms) {}

  [[nodiscard]] const std::string& name() const { return program_; }

  // Returns the result of `replay --json` with `more` options; nullopt if the program doesn't know
  // one of them. Fails with AGAINST_UNUSABLE, AGAINST_SILENT, or AGAINST_FAILED. Blocks.
  [[nodiscard]] Called<std::optional<boost::json::object>> replay(
      const std::vector<std::string>& more) const;

  // Returns the root, in hexadecimal, of the tree over the records 1 … `size`, for a program whose
  // replay doesn't say it: lets it sign a checkpoint with a key that is thrown away. Fails as
  // replay(), and with AGAINST_INCOMPLETE. Blocks.
  [[nodiscard]] Called<std::string> root(Position size) const;

 private:
  [[nodiscard]] Called<std::optional<boost::json::object>> ask(
      std::vector<std::string> words) const;

  std::filesystem::path data_;
  std::string program_;
  std::int64_t deadline_ms_;
};

// Compares `ours`, the result of `replay --json --digest-every N`, with that of another program on
// the log in `data`. Returns how many digests were compared, at least one, if the other program
// read the same log (the root of its tree at the end) and has the same digest at each position of
// ours. A program without --digest-every is compared only at the end. Fails with AGAINST_OTHER_LOG,
// with AGAINST_INCOMPLETE for a position without a digest, as OtherProgram, and with
// STORAGE_DAMAGED and the first event after which the states differ; it is found by bisection, by
// running the program again with --to.
Called<std::size_t> compare_replay(const std::filesystem::path& data, const OtherProgram& other,
                                   const boost::json::object& ours);

}  // namespace signalbox
