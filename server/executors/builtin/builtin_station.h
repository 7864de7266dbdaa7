// The built-in stations. They are jobs like any other: commands of this binary that read the
// SIGNALBOX_* environment and write a result.json (JOBS.md).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "domain/default_pipeline.h"
#include "domain/station_events.h"

namespace signalbox {

// The input of a built-in station, read from its environment.
struct BuiltinRequest {
  std::string run_id;
  Token run_token = 0;  // token of the run's start
  std::string goal;
  std::string input;             // a JSON value, or empty
  std::filesystem::path socket;  // path of the server's socket
  std::filesystem::path run_root;
  std::filesystem::path workspace;
  std::filesystem::path artifacts_dir;
  std::filesystem::path pins;        // of this run's repository: <data>/workspaces/<run id>
  std::filesystem::path repository;  // or empty
  std::string base;                  // or empty
  // The commit that the work began at, as the log has it; empty if the log doesn't say; nullopt if
  // no station before this one made a worktree.
  std::optional<std::string> recorded_base = std::nullopt;
  std::string branch;
  // The commit that `merge` made, as the log has it, if only checks came after it; else empty.
  std::string merge_commit = {};
  std::string remote;  // or empty
  Mocked mocked = Mocked::nothing;
  bool refuses_changed_checks = false;  // the policy of the run's card
};

struct BuiltinSuccess {
  std::string summary;
  std::string metadata;           // a JSON object as text, or empty
  std::string external_ref = {};  // result outside of Signalbox, such as the pushed commit
  // Set if the work was done and then refused: the station fails, and its metadata says of what.
  std::optional<Failure> refusal = std::nullopt;
};

using BuiltinOutcome = tl::expected<BuiltinSuccess, Failure>;

// Returns a failure of outcome `failed` with this class, code and message.
inline tl::unexpected<Failure> builtin_failure(ErrorClass error_class, std::string code,
                                               std::string message) {
  return tl::unexpected(Failure{Outcome::failed, error_class, std::move(code), std::move(message)});
}

// Runs `intake`, `create_pr`, `merge` or `push` and writes its result.json. Returns the exit code:
// 0 for success; 75, 78 or 1 for a failure that is transient, of configuration, or terminal; 2 for
// an unknown name or an environment that isn't a job's.
int run_builtin(std::string_view name);

}  // namespace signalbox
