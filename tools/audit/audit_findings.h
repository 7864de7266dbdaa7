// What a verification found wrong: which file, where in it, which record, and what.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/ids.h"
#include "tools/cli/call_error.h"

namespace signalbox {

struct Finding {
  std::string file;
  std::uint64_t line = 0;  // 0: not of one line
  Position position = 0;   // 0: not of one record
  std::string what;
};

// Kept up to a number of them; the rest are counted.
class AuditFindings {
 public:
  static constexpr std::size_t kept_max = 32;

  void add(Finding finding) {
    ++total_;
    if (kept_.size() < kept_max) kept_.push_back(std::move(finding));
  }
  [[nodiscard]] bool empty() const { return total_ == 0; }
  [[nodiscard]] std::uint64_t total() const { return total_; }

  // As an error of the command line, code TAMPERED, exit code 1.
  [[nodiscard]] CallError error() const;

 private:
  std::vector<Finding> kept_;
  std::uint64_t total_ = 0;
};

}  // namespace signalbox
