#include "server/executors/checks/checks_report.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "server/executors/check_files.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Bytes shown in the summary of the output of each check that isn't ok.
constexpr std::size_t summary_output_bytes_max = 1500;
// Small enough that the declared result fits into declared_result_bytes_max, however it is escaped.
constexpr std::size_t summary_bytes_max = 32 * 1024;

json::array to_json_array(const std::vector<std::string>& words) {
  json::array array;
  for (const std::string& word : words) array.emplace_back(with_replacements(word));
  return array;
}

json::object to_json_object(const CheckDefinition& check, const CheckResult& result, bool whole) {
  json::object object;
  object["name"] = result.name;
  if (whole) object["command"] = to_json_array(result.command);
  object["ok"] = result.ok;
  object["timed_out"] = result.timed_out;
  object["exit_code"] = nullptr;
  if (result.exit_code) object["exit_code"] = *result.exit_code;
  if (result.signal) object["signal"] = *result.signal;
  object["duration_ms"] = result.duration_ms;
  if (!whole) return object;
  object["timeout_ms"] = check.timeout_ms;
  object["text"] = describe_result(check, result);
  object["output"] = result.output;
  object["output_bytes"] = result.output_bytes;
  if (result.cleanup_failure) object["cleanup_failure"] = *result.cleanup_failure;
  return object;
}

// The checks that ended in the same way: their names, and a text with each one's outcome.
struct CheckGroup {
  json::array names;
  std::string text;

  void add(const CheckDefinition& check, const CheckResult& result) {
    names.emplace_back(result.name);
    text += (text.empty() ? "" : ", ") + result.name + " (" + describe_result(check, result) + ")";
  }
};

struct GroupedChecks {
  CheckGroup failed;
  CheckGroup timed_out;
  CheckGroup missing;
  bool transient = false;  // a check couldn't be started because the machine had no room
};

GroupedChecks group_checks(const CheckedPlan& plan, const std::vector<CheckResult>& results) {
  GroupedChecks groups;
  for (std::size_t index = 0; index < results.size(); ++index) {
    const CheckResult& result = results[index];
    const CheckDefinition& check = plan.checks[index];
    if (result.ok) continue;
    if (result.timed_out) {
      groups.timed_out.add(check, result);
    } else if (result.program_missing) {
      groups.missing.add(check, result);
    } else {
      groups.transient = groups.transient || result.not_started.has_value();
      groups.failed.add(check, result);
    }
  }
  return groups;
}

std::string metadata_of(const CheckedPlan& plan, const std::vector<CheckResult>& results,
                        const GroupedChecks& groups) {
  json::object metadata;
  metadata["source"] = shortened(plan.source, limits::name_bytes_max);
  metadata["ok"] = std::all_of(results.begin(), results.end(),
                               [](const CheckResult& result) { return result.ok; });
  metadata["failed"] = groups.failed.names;
  metadata["timed_out"] = groups.timed_out.names;
  metadata["not_runnable"] = groups.missing.names;
  if (!plan.base_commit.empty()) metadata["base_commit"] = plan.base_commit;
  if (!plan.changed.empty()) {
    metadata[checks_changed_field] = to_json_array(listed_check_files(plan.changed));
    metadata[checks_changed_total_field] = plan.changed.size();
  }
  json::array checks;
  for (std::size_t index = 0; index < results.size(); ++index) {
    checks.push_back(to_json_object(plan.checks[index], results[index], false));
  }
  metadata["checks"] = std::move(checks);
  std::string text = json::serialize(metadata);
  if (text.size() <= limits::metadata_bytes_max) return text;
  metadata.erase("checks");  // checks.json has them, too
  text = json::serialize(metadata);
  return text.size() <= limits::metadata_bytes_max ? text : R"({"see":"checks.json"})";
}

// Returns a paragraph about what the work changed of its own checks; empty if nothing is to be
// said.
std::string note_on_changes(const CheckedPlan& plan) {
  if (!plan.changed_unknown.empty()) {
    return "\nWhether the work changes what checks it isn't known: " + plan.changed_unknown + "\n";
  }
  if (plan.changed.empty()) return {};
  return "\nThe work changes what checks it: " + shown_check_files(plan.changed) +
         ". It was judged by the checks that " + plan.base_commit.substr(0, 12) +
         " names; scripts ran as the work has them.\n";
}

std::string summary_of(const CheckedPlan& plan, const std::vector<CheckResult>& results) {
  const auto passed = std::count_if(results.begin(), results.end(),
                                    [](const CheckResult& result) { return result.ok; });
  std::string text = std::to_string(passed) + " of " + std::to_string(results.size()) +
                     " checks passed (from " + plan.source + ").\n" + note_on_changes(plan);
  for (std::size_t index = 0; index < results.size(); ++index) {
    const CheckResult& result = results[index];
    text += "\n- " + result.name + ": " + describe_result(plan.checks[index], result) + ", " +
            std::to_string(result.duration_ms) + " ms";
    if (result.cleanup_failure) {
      text += "; its clean-up failed: " + *result.cleanup_failure;
    }
  }
  for (const CheckResult& result : results) {
    if (result.ok || result.output.empty()) continue;
    text += "\n\n## " + result.name + "\n\n" +
            std::string(utf8_suffix(result.output, summary_output_bytes_max));
  }
  return shortened(text, summary_bytes_max);
}

}  // namespace

std::string describe_result(const CheckDefinition& check, const CheckResult& result) {
  if (result.timed_out) return "TIMEOUT after " + std::to_string(check.timeout_ms) + "ms";
  return outcome_text(result);
}

std::string checks_json(const CheckedPlan& plan, const std::vector<CheckResult>& results) {
  json::object file;
  file["schema_version"] = "checks.v1";
  file["source"] = plan.source;
  if (!plan.base_commit.empty()) {
    file["base_commit"] = plan.base_commit;
    file["changed"] = to_json_array(listed_check_files(plan.changed));
    file["changed_total"] = plan.changed.size();
  }
  file["complete"] = results.size() == plan.checks.size();
  file["ok"] = results.size() == plan.checks.size() &&
               std::all_of(results.begin(), results.end(),
                           [](const CheckResult& result) { return result.ok; });
  json::array checks;
  for (std::size_t index = 0; index < results.size(); ++index) {
    checks.push_back(to_json_object(plan.checks[index], results[index], true));
  }
  file["checks"] = std::move(checks);
  return json::serialize(file) + "\n";
}

DeclaredResult checks_verdict(const CheckedPlan& plan, const std::vector<CheckResult>& results) {
  const GroupedChecks groups = group_checks(plan, results);
  DeclaredResult verdict;
  verdict.summary = summary_of(plan, results);
  verdict.metadata = metadata_of(plan, results, groups);
  if (!groups.missing.names.empty()) {
    verdict.outcome = Outcome::failed;
    verdict.error_class = ErrorClass::config;
    verdict.error_code = "CHECK_NOT_RUNNABLE";
    verdict.error_message = "the program of a check can't be found: " + groups.missing.text;
  } else if (!groups.failed.names.empty()) {
    verdict.outcome = Outcome::failed;
    verdict.error_class = groups.transient ? ErrorClass::transient : ErrorClass::terminal;
    verdict.error_code = "CHECKS_FAILED";
    verdict.error_message = "failed: " + groups.failed.text;
  } else if (!groups.timed_out.names.empty()) {
    verdict.outcome = Outcome::timeout;
    verdict.error_class = ErrorClass::transient;
    verdict.error_code = "CHECKS_TIMED_OUT";
    verdict.error_message =
        "no check failed; out of time, which says nothing about the code: " + groups.timed_out.text;
    return verdict;
  } else {
    verdict.outcome = Outcome::succeeded;
    return verdict;
  }
  if (!groups.missing.names.empty() && !groups.failed.names.empty()) {
    *verdict.error_message += "; failed: " + groups.failed.text;
  }
  if (!groups.timed_out.names.empty()) {
    *verdict.error_message +=
        "; out of time, which says nothing about the code: " + groups.timed_out.text;
  }
  return verdict;
}

}  // namespace signalbox
