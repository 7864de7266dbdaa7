// Runs one command of deep work (for the exploration, the plan or a step), until it and all of its
// descendants have ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "domain/station_events.h"

namespace signalbox {

// The directories of this deep work; its own files are in jobs/<job>/deep_work/.
struct DeepWorkPlace {
  std::filesystem::path job;        // the job's directory
  std::filesystem::path workspace;  // working directory of the commands
  [[nodiscard]] std::filesystem::path own() const { return job / "deep_work"; }
};

struct DeepCommand {
  std::string name;  // prefix of its log files
  std::vector<std::string> argv;
  std::int64_t timeout_ms = 0;
  std::int64_t cancel_grace_ms = 0;
};

struct DeepCommandEnd {
  Outcome outcome = Outcome::failed;
  Failure failure;        // meaningful unless it succeeded
  bool canceled = false;  // the whole job is being canceled
  std::string output;     // stdout, or its first 512 KiB
  bool output_cut = false;
  std::string tail;  // the end of stdout if it was cut
};

// Prepares this process to run commands: makes it the subreaper of its descendants (prctl(2),
// PR_SET_CHILD_SUBREAPER) and ignores SIGPIPE. Must be called before it has threads or children.
void become_supervisor();

// Runs the command with this process's environment. Blocks until it and all its descendants have
// ended; they are ended when its timeout is over.
DeepCommandEnd run_deep_command(const DeepWorkPlace& place, const DeepCommand& command);

}  // namespace signalbox
