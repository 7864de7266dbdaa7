// Collects what a verification finds wrong: the file, the line, the record and the message.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/ids.h"
#include "tools/cli/call_error.h"

namespace signalbox {

struct Finding {
  std::string file;
  std::uint64_t line = 0;  // 0: not about a single line
  Position position = 0;   // 0: not about a single record
  std::string what;        // message
};

// Keeps the first kept_max findings and counts the others.
class AuditFindings {
 public:
  static constexpr std::size_t kept_max = 32;

  void add(Finding finding) {
    ++total_;
    if (kept_.size() < kept_max) kept_.push_back(std::move(finding));
  }
  [[nodiscard]] bool empty() const { return total_ == 0; }
  [[nodiscard]] std::uint64_t total() const { return total_; }

  // Returns the findings as an error with code TAMPERED and exit code 1.
  [[nodiscard]] CallError error() const;

 private:
  std::vector<Finding> kept_;
  std::uint64_t total_ = 0;
};

// Returns the error of a single finding about a record, or about the file if `position` is 0.
CallError tampered(const std::string& file, Position position, const std::string& what);

}  // namespace signalbox
