// One command of deep work: the exploration's, the plan's or a step's, from its start until nothing
// of it is left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "domain/station_events.h"

namespace signalbox {

// Where the files of this deep work lie: jobs/<job>/deep_work/.
struct DeepWorkPlace {
  std::filesystem::path job;        // the job's own directory
  std::filesystem::path workspace;  // what commands run in
  [[nodiscard]] std::filesystem::path own() const { return job / "deep_work"; }
};

struct DeepCommand {
  std::string name;  // of its log files
  std::vector<std::string> argv;
  std::int64_t timeout_ms = 0;
  std::int64_t cancel_grace_ms = 0;
};

struct DeepCommandEnd {
  Outcome outcome = Outcome::failed;
  Failure failure;        // meaningful unless it succeeded
  bool canceled = false;  // the whole job is being ended
  std::string output;     // stdout; as much of it as fits
  bool output_cut = false;
};

// Prepares this process to run commands: the subreaper of all that descends from it. Before it has
// threads or children.
void become_supervisor();

// Blocks until the command and all its descendants are gone; those are ended when its time is over.
// It inherits this process's environment.
DeepCommandEnd run_deep_command(const DeepWorkPlace& place, const DeepCommand& command);

}  // namespace signalbox
