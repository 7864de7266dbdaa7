#include "server/executors/process/job_environment.h"

#include <algorithm>
#include <array>
#include <map>

#include <boost/describe/enum_to_string.hpp>

#include "domain/placement.h"
#include "domain/try.h"
#include "server/executors/coderunner/agent_command.h"
#include "server/git/run_branch.h"

namespace signalbox {
namespace {

constexpr std::string_view access_token_name = "SIGNALBOX_ACCESS_TOKEN";

using Variables = std::map<std::string, std::string, std::less<>>;

bool is_always_passed(std::string_view name) {
  static constexpr std::array<std::string_view, 8> names{"PATH",  "HOME", "USER", "LOGNAME",
                                                         "SHELL", "LANG", "TZ",   "TMPDIR"};
  return name.starts_with("LC_") || std::find(names.begin(), names.end(), name) != names.end();
}

// Returns the names of the coding agent's own credentials, for a station that runs its program.
std::vector<std::string> passed_if_set(const StationDefinition& station) {
  const bool agent = station.executor == ExecutorKind::coderunner && station.coderunner &&
                     station.coderunner->mode == CoderunnerMode::process;
  return agent ? agent_variables(station.coderunner->agent) : std::vector<std::string>{};
}

Variables parse(const std::vector<std::string>& entries) {
  Variables variables;
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return variables;
}

std::string without_nul(std::string text) {
  for (std::size_t at = text.find('\0'); at != std::string::npos; at = text.find('\0', at)) {
    text.replace(at, 1, "\xEF\xBF\xBD");
  }
  return text;
}

std::string hex(const Uuid& uuid, std::size_t bytes) {
  std::string text = to_string(uuid);
  text.erase(std::remove(text.begin(), text.end(), '-'), text.end());
  return text.substr(0, 2 * bytes);
}

Variables run_variables(const Job& job, const std::filesystem::path& artifacts_dir,
                        const std::filesystem::path& socket_path) {
  return {
      {"SIGNALBOX_RUN_ID", to_string(job.run_id)},
      {"SIGNALBOX_STATION", job.definition.name},
      {"SIGNALBOX_ATTEMPT", std::to_string(job.attempt)},
      {"SIGNALBOX_STRATEGY", boost::describe::enum_to_string(job.strategy, "original")},
      {"SIGNALBOX_TOKEN", std::to_string(job.token)},
      {"SIGNALBOX_SPAN_ID", to_string(job.span_id)},
      {"SIGNALBOX_GOAL", job.goal},
      {"SIGNALBOX_INPUT", job.input},
      {"SIGNALBOX_PREVIOUS", job.previous},
      {"SIGNALBOX_WORKSPACE", workspace_of(job).string()},
      {"SIGNALBOX_ARTIFACTS_DIR", artifacts_dir.string()},
      {"SIGNALBOX_RUN_ROOT", job.run_root},
      {"SIGNALBOX_REPOSITORY", job.repository},
      {"SIGNALBOX_BASE", job.base},
      {"SIGNALBOX_BRANCH", branch_of(job.run_id, job.run_token)},
      {"SIGNALBOX_RUN_TOKEN", std::to_string(job.run_token)},
      {"SIGNALBOX_SOCKET", socket_path.string()},
      {"SIGNALBOX_REMOTE", job.definition.remote},
      // W3C Trace Context, version 00, sampled.
      {"TRACEPARENT", "00-" + hex(job.run_id, 16) + "-" + hex(job.span_id, 8) + "-01"},
  };
}

}  // namespace

std::filesystem::path workspace_of(const Job& job) {
  if (!job.workspace.empty()) return job.workspace;
  return std::filesystem::path(job.run_root) / "workspace";
}

bool is_judging(const Job& job) {
  return !job.base_station.empty() && !job.repository.empty() &&
         (job.definition.executor == ExecutorKind::checks ||
          builtin_of(job.definition) == BuiltinStation::create_pr);
}

bool is_pushing_merge(const Job& job) {
  return job.is_of_merge && builtin_of(job.definition) == BuiltinStation::push;
}

Executed<Job> with_declared_commits(Job job, const FindDeclaredCommit& declared_commit) {
  if (!declared_commit) return job;
  const auto fill = [&](std::string& commit, const char* field) -> Executed<void> {
    auto declared = declared_commit(job, field);
    if (!declared) return storage_error(declared.error());
    commit = std::move(*declared);
    return {};
  };
  if (is_judging(job)) TRY(fill(job.base_commit, "base_commit"));
  if (is_pushing_merge(job)) TRY(fill(job.merge_commit, "head_commit"));
  return job;
}

Executed<std::vector<std::string>> job_environment(
    const Job& job, const std::filesystem::path& artifacts_dir,
    const std::filesystem::path& socket_path, const std::vector<std::string>& server_environment,
    const std::string& secret) {
  const Variables server = parse(server_environment);
  Variables variables = run_variables(job, artifacts_dir, socket_path);
  if (!secret.empty()) variables.emplace(job_secret_name, secret);
  // Set by the service, whatever its own environment has under these names.
  for (const JobAllowance each : {JobAllowance::locks, JobAllowance::ticks}) {
    if (allows(job.definition, each)) variables.emplace(variable_of(each), "1");
  }
  for (const std::string& label : labels_of(job.definition)) {
    variables.emplace(variable_of_label(label), "1");
  }
  if (is_judging(job)) variables.emplace("SIGNALBOX_BASE_COMMIT", job.base_commit);
  if (is_pushing_merge(job)) variables.emplace("SIGNALBOX_MERGE_COMMIT", job.merge_commit);
  if (job.refuses_changed_checks && builtin_of(job.definition) == BuiltinStation::create_pr) {
    variables.emplace("SIGNALBOX_CHECKS_CHANGED", "refuse");
  }
  if (job.mocked != Mocked::nothing) {
    variables.emplace("SIGNALBOX_MOCK", boost::describe::enum_to_string(job.mocked, ""));
  }
  for (const auto& [name, value] : server) {
    if (is_always_passed(name)) variables.emplace(name, value);
  }
  for (const std::string& name : passed_if_set(job.definition)) {
    if (const auto found = server.find(name); found != server.end()) variables.insert(*found);
  }
  for (const std::string& name : job.definition.environment) {
    if (variables.contains(name)) continue;
    // Refused in a pipeline now, but one that was stored before may name it.
    const auto found = name == access_token_name ? server.end() : server.find(name);
    if (found == server.end()) {
      return tl::unexpected(ExecutorError{
          ErrorClass::config, "CONFIG_MISSING",
          "station " + job.definition.name + " needs the environment variable " + name +
              ", which " + (is_runner(job.machine) ? "the runner" : "the server") +
              " does not have"});
    }
    variables.emplace(name, found->second);
  }
  std::vector<std::string> entries;
  for (auto& [name, value] : variables) entries.push_back(name + "=" + without_nul(value));
  return entries;
}

}  // namespace signalbox
