// What operators had decided about runners before the log had such decisions: versions of then kept
// them in `<data>/runners.json`, each server its own. Whoever writes the log records them once, and
// the file is removed.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/describe/class.hpp>

#include <spdlog/logger.h>

#include "domain/command.h"
#include "domain/error.h"
#include "server/engine/engine.h"
#include "store/store_error.h"

namespace signalbox {

struct RunnerDecisions {
  std::string schema = "runner_decisions.v1";
  std::vector<std::string> drained;  // ids
  std::vector<std::string> evicted;

  [[nodiscard]] bool empty() const { return drained.empty() && evicted.empty(); }
  friend bool operator==(const RunnerDecisions&, const RunnerDecisions&) = default;
};
BOOST_DESCRIBE_STRUCT(RunnerDecisions, (), (schema, drained, evicted))

// Returns what the file says; nullopt if there is none. `damaged` if it can't be understood. Blocks
// on the disk.
Stored<std::optional<RunnerDecisions>> read_former_decisions(const std::filesystem::path& file);

// Makes the file say `left` only, durably, or removes it if nothing is left. Blocks on the disk.
Stored<void> keep_former_decisions(const std::filesystem::path& file, const RunnerDecisions& left);

// What became of the decisions.
struct FormerDecisionsTaken {
  RunnerDecisions left;              // could not be recorded now
  std::vector<std::string> unknown;  // are no ids of runners, shortened: there is nothing to record
};

// Has each decision recorded with `apply`, as Engine::Transaction::apply(). What the log has
// already leads to no event, so that a file that is read again changes nothing.
FormerDecisionsTaken record_former_decisions(
    const RunnerDecisions& decisions,
    const std::function<Decided<std::size_t>(const Command& command)>& apply);

// The decisions in the file while the service has it: they hold at once, and are recorded when this
// server may write the log. All calls come from the engine thread.
class FormerDecisions {
 public:
  struct Parts {
    std::filesystem::path file;
    Engine& engine;
    // Has a runner evicted or drained, or no longer.
    std::function<void(const std::string& runner, bool evicted, bool holds)> decide;
    spdlog::logger& logger;
    std::function<void(int exit_code, const std::string& why)> fail;  // ends the service
  };

  // Reads the file. Blocks on the disk, as all that follows.
  explicit FormerDecisions(Parts parts)
      : parts_(std::move(parts)), decisions_(read_former_decisions(parts_.file)) {}

  // Reads the file again if it couldn't be read.
  void retry();
  // Returns why the file can't be read; nullptr if there is none, or it was read.
  [[nodiscard]] const StoreError* error() const;
  // Returns what that means and what to do. Only while there is an error.
  [[nodiscard]] std::string advice() const;
  // Has the runners evicted and drained that the file names.
  void enforce() const;
  // Records the decisions, and removes the file once they are durable. Does nothing while the log's
  // feature level has no such events, and is called again when that or the disk's space has
  // changed. Only the writer of the log may.
  void record();
  // Takes back the decision about `runner` that isn't recorded yet. Returns false if there is none.
  bool undo(const std::string& runner, bool evicted);

 private:
  void keep(const FormerDecisionsTaken& taken);

  const Parts parts_;
  Stored<std::optional<RunnerDecisions>> decisions_;  // nullopt: none, or all of them are recorded
};

}  // namespace signalbox
