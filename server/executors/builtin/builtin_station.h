// The stations that come with Signalbox. They are jobs like any other: commands of this binary that
// read the SIGNALBOX_* environment and leave a result.json (see JOBS.md).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "domain/station_events.h"

namespace signalbox {

// What a built-in station works on, from its environment.
struct BuiltinRequest {
  std::string run_id;
  Token run_token = 0;  // of the run's start
  std::string goal;
  std::string input;             // a JSON value, or empty
  std::filesystem::path socket;  // of the server
  std::filesystem::path run_root;
  std::filesystem::path workspace;
  std::filesystem::path artifacts_dir;
  std::filesystem::path repository;  // or empty
  std::string base;                  // or empty
  std::string branch;
  std::string remote;  // or empty
};

struct BuiltinSuccess {
  std::string summary;
  std::string metadata;           // a JSON object as text, or empty
  std::string external_ref = {};  // what came of it elsewhere: the commit that was pushed
};

using BuiltinOutcome = tl::expected<BuiltinSuccess, Failure>;

inline tl::unexpected<Failure> builtin_failure(ErrorClass error_class, std::string code,
                                               std::string message) {
  return tl::unexpected(Failure{Outcome::failed, error_class, std::move(code), std::move(message)});
}

// Runs `intake`, `create_pr`, `merge` or `push` and leaves its result.json. Gives the exit code: 0;
// 75, 78 or 1 for a failure that is transient, of configuration, or terminal; 2 for a name or an
// environment that isn't one of a job.
int run_builtin(std::string_view name);

}  // namespace signalbox
