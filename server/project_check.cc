#include "server/project_check.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "domain/refusals.h"
#include "server/board/policy_keys.h"
#include "server/board/policy_reader.h"
#include "server/executors/process/project_warnings.h"
#include "server/git/path_facts.h"
#include "server/limits.h"
#include "server/platform/call_bounds.h"
#include "server/platform/clock.h"
#include "server/text/described_json.h"

namespace signalbox {
namespace {

// Returns the command that shows the line; 0: the whole file.
std::string command_to_show(const Project& project, std::size_t line) {
  const std::string shown = line == 0 ? "1,9p" : std::to_string(line) + "p";
  if (has_bare_layout(project.repository)) {
    return "git -C " + shell_word(project.repository) + " show " +
           shell_word("refs/heads/" + project.base + ":" + policy_file_name) + " | sed -n " + shown;
  }
  return "sed -n " + shown + " " + shell_word(project.repository + "/" + policy_file_name);
}

ProjectWarning policy_warning(const Project& project, const char* code, const LineError& error) {
  std::string text = policy_file_name;
  if (error.line != 0) text += ", line " + std::to_string(error.line);
  return {code, text + ": " + error.message, {command_to_show(project, error.line)}};
}

void add_policy_warnings(const Project& project, ProjectWarnings& found) {
  PolicyReader reader;
  const auto read = reader.read(project.repository, project.base, SystemClock().wall_ns());
  if (!read) {
    found.not_checked.emplace_back("policy");
    return;
  }
  const PolicyReading& file = **read;
  if (!file.policy) {
    found.warnings.push_back(policy_warning(project, "policy_refused", file.policy.error()));
    return;
  }
  const std::size_t count = std::min(file.warnings.size(), policy_warnings_max);
  for (std::size_t place = 0; place < count; ++place) {
    found.warnings.push_back(policy_warning(project, "policy_ignored", file.warnings[place]));
  }
}

}  // namespace

std::function<boost::json::object(const Project& project)> project_check(
    CoderunnerMode mode, const std::filesystem::path& scratch) {
  return [mode, scratch](const Project& project) {
    const CallBounds bounds(CallBounds::now_ms() + limits::repository_check_ms_max);
    ProjectWarnings found = project_warnings(project, mode, scratch);
    add_policy_warnings(project, found);
    return to_json(found).as_object();
  };
}

}  // namespace signalbox
