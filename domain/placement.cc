#include "domain/placement.h"

#include <algorithm>
#include <set>
#include <utility>

#include "domain/limits.h"

namespace signalbox {
namespace {

constexpr std::string_view runner_prefix = "runner:";
constexpr std::string_view label_prefix = "SIGNALBOX_RUNS_ON_";

// Between the parts of a queue's name. No label and no path has it.
constexpr char part_end = '\0';

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

tl::unexpected<Rejection> labels_invalid(const std::string& requirement, std::string value) {
  return reject(ErrorCode::PIPELINE_INVALID, "runs_on " + requirement,
                {{"field", std::string("runs_on")}, {"value", std::move(value)}});
}

// Returns the path without slashes at its end.
std::string_view without_slashes(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

// A merge is made where the board is, unless it asks for another place.
bool is_merge_here(const Run& run) {
  return builtin_of(run.pipeline->stations.front()) == BuiltinStation::merge &&
         labels_of(run.definition()).empty();
}

// Returns whether a job of the run was executed before it was recorded where: by the service.
bool has_begun_unrecorded(const Run& run) {
  if (!run.machine.empty()) return false;
  for (std::size_t index = 0; index <= run.current; ++index) {
    if (run.stations[index].attempts > 0 && has_job(run.pipeline->stations[index])) return true;
  }
  return false;
}

bool stays_with_the_service(const Run& run) {
  return !run.run_root.empty() || has_begun_unrecorded(run) || is_merge_here(run);
}

}  // namespace

std::string runner_id(std::string_view name, std::string_view random_hex) {
  return std::string(runner_prefix) + std::string(name) + "-" + std::string(random_hex);
}

bool is_runner(std::string_view machine) { return machine.starts_with(runner_prefix); }

bool is_runner_id(std::string_view text) {
  return is_runner(text) && is_runner_label(text.substr(runner_prefix.size()));
}

bool is_runner_label(std::string_view label) {
  if (label.empty() || label.size() > limits::label_bytes_max) return false;
  return is_lower_or_digit(label.front()) && std::all_of(label.begin(), label.end(), [](char c) {
           return is_lower_or_digit(c) || c == '.' || c == '_' || c == '-';
         });
}

std::string variable_of_label(std::string_view label) {
  return std::string(label_prefix) + std::string(label);
}

std::vector<std::string> labels_of(const StationDefinition& station) {
  std::set<std::string> labels;
  for (const std::string& variable : station.environment) {
    if (variable.starts_with(label_prefix)) labels.insert(variable.substr(label_prefix.size()));
  }
  return {labels.begin(), labels.end()};
}

bool has_job(const StationDefinition& station) {
  switch (station.executor) {
    case ExecutorKind::process:
    case ExecutorKind::builtin:
    case ExecutorKind::coderunner:
    case ExecutorKind::checks:
    case ExecutorKind::deep_work:
      return !is_remote(station);
    case ExecutorKind::worker:
    case ExecutorKind::modal:
    case ExecutorKind::approval:
      break;
  }
  return false;
}

Decided<void> validate_labels(const PipelineDefinition& pipeline) {
  std::set<std::string> labels;
  bool has_place = false;
  for (const StationDefinition& station : pipeline.stations) {
    has_place = has_place || has_job(station);
    for (std::string& label : labels_of(station)) labels.insert(std::move(label));
  }
  for (const std::string& label : labels) {
    if (!is_runner_label(label)) {
      return labels_invalid("names labels of 1 to " + std::to_string(limits::label_bytes_max) +
                                " of a-z, 0-9, '.', '_' and '-', such as \"gpu\"",
                            label);
    }
  }
  if (labels.size() > limits::labels_max) {
    return labels_invalid("names at most " + std::to_string(limits::labels_max) + " labels",
                          std::to_string(labels.size()));
  }
  if (!labels.empty() && !has_place) {
    return labels_invalid(
        "needs a station with a job: process, coderunner, checks, deep_work or "
        "builtin",
        *labels.begin());
  }
  return {};
}

bool suits_runner(const Run& run, const JobPlace& place) {
  if (stays_with_the_service(run)) return false;
  const auto has = [](const std::vector<std::string>& sorted, std::string_view wanted) {
    return std::binary_search(sorted.begin(), sorted.end(), wanted);
  };
  if (!run.repository.empty() && !has(place.repositories, without_slashes(run.repository)))
    return false;
  const std::vector<std::string> wanted = labels_of(run.definition());
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const std::string& label) { return has(place.labels, label); });
}

bool suits_service(const Run& run) {
  return stays_with_the_service(run) || labels_of(run.definition()).empty();
}

bool needs_worktree(const Run& run) { return !run.repository.empty() && run.current > 0; }

ReadyQueue ready_queue_of(const Run& run) {
  const StationDefinition& station = run.definition();
  if (is_remote(station)) return {ExecutorKind::modal, {}};
  if (!has_job(station)) return {station.executor, station.name};
  // Once its runner is evicted, a run whose worktree is there doesn't go on elsewhere, and others
  // do.
  if (is_runner(run.machine)) {
    return {station.executor, needs_worktree(run) ? run.machine + part_end : run.machine};
  }
  if (!run.machine.empty() || stays_with_the_service(run)) return {station.executor, {}};
  std::string name;
  for (const std::string& label : labels_of(station)) name += label + part_end;
  // Without a repository and a label any place will do; it isn't the queue of what stays here.
  return {station.executor, name + part_end + run.repository};
}

}  // namespace signalbox
