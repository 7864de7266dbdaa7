// The console's answers from a run's capsule: the page of that run, without any log or service.
// What a capsule doesn't have isn't answered: other runs, the log, output of jobs, reasons.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "server/followers/traces/trace_source.h"
#include "tools/audit/run_capsule.h"
#include "tools/cli/call_error.h"
#include "tools/console/console_source.h"

namespace signalbox {

class CapsuleSource final : public ConsoleSource {
 public:
  // Reads the capsule and checks all its proofs, and its signatures if keys are trusted. `keys` as
  // for `replay --key`. Fails like read_capsule(): a capsule that isn't as it was written isn't
  // shown. Blocks.
  static Called<std::unique_ptr<CapsuleSource>> open(const std::string& file,
                                                     const std::vector<std::string>& keys);

  // Returns whether a trusted key has signed it.
  [[nodiscard]] bool is_signed() const { return capsule_.signature_checked; }

 private:
  CapsuleSource(std::filesystem::path file, std::vector<NoteVerifier> trusted, Capsule capsule,
                boost::json::object run);

  // Answers `server.whoami`, whose result says what was checked, `run.get`, `run.trace` and
  // `events.read`.
  void answer_line(std::string_view line, const Unwanted& unwanted,
                   const AnsweredLine& answered) override;
  [[nodiscard]] std::string response(std::string_view line) const;
  // Reads and verifies the file again: artifacts may be larger than the memory.
  HttpAnswer artifact(const PathParams& params) override;
  [[nodiscard]] Decided<boost::json::object> result_of(const std::string& method,
                                                       const boost::json::object& params) const;
  [[nodiscard]] boost::json::object identity() const;
  [[nodiscard]] Decided<boost::json::object> events(const boost::json::object& params) const;

  const std::filesystem::path file_;
  const std::vector<NoteVerifier> trusted_;
  const Capsule capsule_;
  const boost::json::object run_;
  const WholeTrace trace_;
};

}  // namespace signalbox
