#include "server/executors/builtin/builtin_station.h"

#include <sysexits.h>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include <boost/describe/enum_from_string.hpp>

#include "domain/pipeline.h"
#include "server/executors/builtin/builtin_create_pr.h"
#include "server/executors/builtin/builtin_intake.h"
#include "server/executors/builtin/builtin_merge.h"
#include "server/executors/builtin/builtin_push.h"
#include "server/executors/declared_result.h"
#include "server/git/pinned_config.h"
#include "server/git/pinned_repository.h"

namespace signalbox {
namespace {

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

Token number(const std::string& text) {
  Token token = 0;
  std::from_chars(text.data(), text.data() + text.size(), token);
  return token;
}

BuiltinRequest request_from_environment() {
  BuiltinRequest request;
  request.run_id = variable("SIGNALBOX_RUN_ID");
  request.run_token = number(variable("SIGNALBOX_RUN_TOKEN"));
  request.goal = variable("SIGNALBOX_GOAL");
  request.input = variable("SIGNALBOX_INPUT");
  request.socket = variable("SIGNALBOX_SOCKET");
  request.run_root = variable("SIGNALBOX_RUN_ROOT");
  request.workspace = variable("SIGNALBOX_WORKSPACE");
  request.artifacts_dir = variable("SIGNALBOX_ARTIFACTS_DIR");
  // <data>/jobs/<job>/artifacts
  const std::filesystem::path data =
      request.artifacts_dir.parent_path().parent_path().parent_path();
  request.pins = data / pins_directory_name / request.run_id;
  request.repository = variable("SIGNALBOX_REPOSITORY");
  request.base = variable("SIGNALBOX_BASE");
  if (const char* const recorded = std::getenv("SIGNALBOX_BASE_COMMIT"); recorded != nullptr) {
    request.recorded_base = recorded;
  }
  request.branch = variable("SIGNALBOX_BRANCH");
  request.merge_commit = variable("SIGNALBOX_MERGE_COMMIT");
  request.remote = variable("SIGNALBOX_REMOTE");
  // A path, and no remote's name.
  if (request.remote.starts_with("./") || request.remote.starts_with("../")) {
    request.remote = location_of_remote(request.repository, request.remote);
  }
  request.refuses_changed_checks = variable("SIGNALBOX_CHECKS_CHANGED") == "refuse";
  if (!boost::describe::enum_from_string(variable("SIGNALBOX_MOCK").c_str(), request.mocked)) {
    request.mocked = Mocked::nothing;
  }
  return request;
}

bool is_complete(const BuiltinRequest& request) {
  return !request.run_id.empty() && request.run_root.is_absolute() &&
         request.workspace.is_absolute() && request.artifacts_dir.is_absolute() &&
         !request.branch.empty();
}

// Returns the failure; nullptr for a success.
const Failure* failure_in(const BuiltinOutcome& outcome) {
  if (!outcome) return &outcome.error();
  return outcome->refusal ? &*outcome->refusal : nullptr;
}

DeclaredResult declare(const BuiltinOutcome& outcome) {
  DeclaredResult result;
  const Failure* const failure = failure_in(outcome);
  if (failure == nullptr) {
    result.outcome = Outcome::succeeded;
    result.summary = outcome->summary;
    if (!outcome->metadata.empty()) result.metadata = outcome->metadata;
    if (!outcome->external_ref.empty()) result.external_ref = outcome->external_ref;
    return result;
  }
  result = declared_failure(*failure);
  result.summary = failure->code + ": " + failure->message;
  if (outcome && !outcome->metadata.empty()) result.metadata = outcome->metadata;
  return result;
}

BuiltinOutcome run_station(BuiltinStation builtin, const BuiltinRequest& request) {
  switch (builtin) {
    case BuiltinStation::intake:
      return builtin_intake(request);
    case BuiltinStation::create_pr:
      return builtin_create_pr(request);
    case BuiltinStation::merge:
      return builtin_merge(request);
    case BuiltinStation::push:
      return builtin_push(request);
  }
  return builtin_failure(ErrorClass::config, "BUILTIN", "there is no such station");
}

int exit_code_of(const BuiltinOutcome& outcome) {
  const Failure* const failure = failure_in(outcome);
  if (failure == nullptr) return 0;
  if (failure->error_class == ErrorClass::transient) return EX_TEMPFAIL;
  if (failure->error_class == ErrorClass::config) return EX_CONFIG;
  return exit_failed;
}

}  // namespace

int run_builtin(std::string_view name) {
  const BuiltinRequest request = request_from_environment();
  if (!is_complete(request)) {
    std::fputs("signalbox builtin: runs as a job only, with its environment\n", stderr);
    return exit_usage;
  }
  const std::optional<BuiltinStation> builtin = parse_builtin(std::string(name));
  if (!builtin) {
    std::fprintf(stderr, "signalbox builtin: there is no station %s\n", std::string(name).c_str());
    return exit_usage;
  }
  const BuiltinOutcome outcome = run_station(*builtin, request);
  if (const Failure* const failure = failure_in(outcome); failure != nullptr) {
    std::fprintf(stderr, "%s: %s\n", failure->code.c_str(), failure->message.c_str());
  } else {
    std::printf("%s\n", outcome->summary.c_str());
  }
  const auto written =
      write_declared_result(request.artifacts_dir / "result.json", declare(outcome));
  if (!written) {
    std::fprintf(stderr, "%s\n", written.error().message.c_str());
    return EX_TEMPFAIL;
  }
  return exit_code_of(outcome);
}

}  // namespace signalbox
