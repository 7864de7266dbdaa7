// What operators had decided about runners before the log had such decisions: versions of then kept
// them in `<data>/runners.json`, each server its own. Whoever writes the log records them once, and
// the file is removed.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/command.h"
#include "domain/error.h"
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

}  // namespace signalbox
