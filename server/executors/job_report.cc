#include "server/executors/job_report.h"

#include <algorithm>

#include <boost/describe/enum_to_string.hpp>
#include <boost/json/value.hpp>

#include "domain/limits.h"
#include "domain/try.h"
#include "server/executors/artifact_collection.h"
#include "server/executors/bounded_log.h"
#include "server/executors/check_files.h"
#include "server/executors/job_verdict.h"
#include "server/executors/log_excerpt.h"
#include "server/text/json_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

constexpr const char* logs_name = "runner_logs_excerpt";
constexpr const char* output_is_lost = "Part of its output is lost: ";
constexpr std::size_t left_out_shown_max = 8;

std::string default_summary(const Job& job, const ShimResult& facts, const JobVerdict& verdict) {
  std::string summary = job.definition.name + " " +
                        boost::describe::enum_to_string(verdict.outcome, "ended") + " after " +
                        std::to_string(facts.duration_ms) + " ms";
  if (facts.exit_code) summary += ", exit code " + std::to_string(*facts.exit_code);
  summary += ".";
  if (verdict.outcome != Outcome::succeeded) {
    summary += "\n" + verdict.failure.code + ": " + verdict.failure.message;
  }
  return summary;
}

// Returns what the summary must say in addition: lost output, artifacts left out, processes left
// behind.
std::string remarks(const ShimResult& facts, const std::string& replaced_logs,
                    const std::vector<std::string>& left_out) {
  std::string text;
  if (facts.descendants_killed > 0) {
    text += "\nProcesses it left behind, ended: " + std::to_string(facts.descendants_killed) + ".";
  }
  if (!facts.log_error.empty()) {
    text += "\n" + std::string(output_is_lost) + shortened(facts.log_error, 256) + ".";
  }
  if (!replaced_logs.empty()) {
    text += "\nNot what its supervisor wrote, and taken as empty: " + replaced_logs + ".";
  }
  if (left_out.empty()) return text;
  text += "\nArtifacts left out (" + std::to_string(left_out.size()) + "): ";
  for (std::size_t index = 0; index < std::min(left_out.size(), left_out_shown_max); ++index) {
    text += (index == 0 ? "" : ", ") + shortened(left_out[index], 256);
  }
  return text + (left_out.size() > left_out_shown_max ? ", …" : "");
}

// Returns what create_pr's metadata says of changed checks: names, and how many more. Nobody else's
// metadata is asked: a job of the pipeline's own can write what it likes.
std::string checks_changed_by(const Job& job, const std::string& metadata) {
  if (builtin_of(job.definition) != BuiltinStation::create_pr || metadata.empty()) return {};
  const auto value = parse_json(metadata);
  if (!value || !value->is_object()) return {};
  const boost::json::value* const files = value->get_object().if_contains(checks_changed_field);
  if (files == nullptr || !files->is_array()) return {};
  std::vector<std::string> names;
  for (const boost::json::value& file : files->get_array()) {
    if (file.is_string()) names.emplace_back(file.get_string());
  }
  const boost::json::value* const total =
      value->get_object().if_contains(checks_changed_total_field);
  const bool is_number = total != nullptr && total->is_int64() && total->get_int64() > 0;
  return shown_check_files(names, is_number ? static_cast<std::size_t>(total->get_int64()) : 0);
}

struct JobOutput {
  std::string excerpt;
  std::string last_lines;
  std::string replaced_logs;  // that the job has put something else in place of, or empty
};

// Reads a log, in the place of which the job may have put anything: that counts as an empty one.
Stored<KeptLog> kept_log(const std::filesystem::path& path, std::uint64_t stream_bytes,
                         std::string& replaced_logs) {
  auto log = read_bounded_log(path, stream_bytes, limits::logs_inline_bytes_max);
  if (log || log.error().kind != StoreError::Kind::damaged) return log;
  replaced_logs += (replaced_logs.empty() ? "" : ", ") + path.filename().string();
  return KeptLog{};
}

Stored<JobOutput> output_of(const JobDirectory& directory, const ShimResult& facts) {
  JobOutput output;
  const auto out = TRY(kept_log(directory.stdout_log(), facts.stdout_bytes, output.replaced_logs));
  const auto err = TRY(kept_log(directory.stderr_log(), facts.stderr_bytes, output.replaced_logs));
  output.excerpt = log_excerpt(out, err, limits::logs_inline_bytes_max);
  output.last_lines = last_lines(out, err);
  return output;
}

}  // namespace

Stored<JobResult> report_job(const Job& job, const JobDirectory& directory, ArtifactStore& store) {
  const auto facts = TRY(directory.read_result());
  const auto declared = read_declared_result(directory.artifacts() / "result.json");
  if (!declared && declared.error().kind == StoreError::Kind::io) {
    return tl::unexpected(declared.error());
  }
  auto output = TRY(output_of(directory, facts));

  const std::string summary_name = job.definition.name + "_summary";
  auto collected = TRY(collect_artifacts(store, directory.artifacts(), limits::artifacts_max - 2,
                                         {summary_name, logs_name, bundle_name}));

  JobVerdict verdict = job_verdict(job.definition, facts, declared, output.last_lines);
  const std::string summary_text =
      declared && declared->summary ? *declared->summary : default_summary(job, facts, verdict);
  const std::string remarks_text = remarks(facts, output.replaced_logs, collected.left_out);
  auto summary = TRY(store.put(summary_name, "text/markdown", summary_text + remarks_text + "\n"));
  auto logs = TRY(store.put(logs_name, "text/plain", output.excerpt));

  JobResult report;
  report.outcome = verdict.outcome;
  report.failure = std::move(verdict.failure);
  report.canceled = facts.canceled;
  report.escaped_pids = facts.escaped_pids;
  if (report.escaped_pids.size() > limits::escaped_pids_max) {
    report.escaped_pids.resize(limits::escaped_pids_max);
  }
  report.result.summary =
      shortened(summary_text, limits::summary_bytes_max - remarks_text.size()) + remarks_text;
  report.result.logs_inline = std::move(output.excerpt);
  report.result.external_ref = job.id;
  if (declared && declared->external_ref) report.result.external_ref = *declared->external_ref;
  if (declared && declared->metadata) report.result.metadata = *declared->metadata;
  if (declared) {
    report.usage = declared->used();
    if (report.failure.error_class == ErrorClass::quota) {
      report.quota_reset_at_ns = declared->quota_reset_at_ns();
    }
  }
  report.checks_changed = checks_changed_by(job, report.result.metadata);
  report.result.artifacts = std::move(collected.artifacts);
  report.result.artifacts.push_back(std::move(summary));
  report.result.artifacts.push_back(std::move(logs));
  return report;
}

void add_remark(JobResult& result, const std::string& remark) {
  std::string& summary = result.result.summary;
  const std::string line = (summary.empty() ? "" : "\n") + remark;
  summary = shortened(summary, limits::summary_bytes_max - line.size()) + line;
}

void note_lost_output(JobResult& result, const std::string& why) {
  if (result.result.summary.find(output_is_lost) != std::string::npos) return;
  add_remark(result, output_is_lost + shortened(why, 256) + ".");
}

}  // namespace signalbox
