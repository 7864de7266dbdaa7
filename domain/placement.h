// Where the job of a run's current station may be executed: by the service itself, or by a runner,
// a program on another machine that takes jobs (`signalbox runner`).
//
// All jobs of a run work in its workspace, so they stay where the first one was. What a pipeline
// asks of that place are the labels of its `runs_on`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "domain/error.h"
#include "domain/pipeline.h"
#include "domain/run.h"

namespace signalbox {

// Returns the id of the runner `name` with this many random bits in hexadecimal: the machine that
// records name for its jobs. Ids of machines (machine_id.h) never have this form.
std::string runner_id(std::string_view name, std::string_view random_hex);
// Returns whether a machine that a record names is a runner.
[[nodiscard]] bool is_runner(std::string_view machine);
// Returns whether `text` has the form of a runner's id, and so a bounded length.
[[nodiscard]] bool is_runner_id(std::string_view text);

// Returns whether `label` is 1 to limits::label_bytes_max of a-z, 0-9, '.', '_' and '-', beginning
// with a letter or a digit.
[[nodiscard]] bool is_runner_label(std::string_view label);

// Returns the name of the variable by which a definition keeps that it asks for `label`: among
// those of `environment`, as allowances are (variable_of()).
std::string variable_of_label(std::string_view label);

// Returns the labels that a station asks for, sorted, each once.
std::vector<std::string> labels_of(const StationDefinition& station);

// Returns whether the station's work is a job of a machine: of the service's, or of a runner's.
[[nodiscard]] bool has_job(const StationDefinition& station);

// Checks the labels of a pipeline. PIPELINE_INVALID if one is malformed, if there are too many, or
// if no station has a job.
Decided<void> validate_labels(const PipelineDefinition& pipeline);

// A machine that executes jobs, as far as that decides which.
struct JobPlace {
  std::string machine;                    // its id
  std::vector<std::string> labels;        // sorted
  std::vector<std::string> repositories;  // paths as the runs name them, sorted
};

// Returns whether the jobs of a run that isn't bound to a machine may be executed at the place of a
// runner: it has the run's labels and its repository. Work in a run root that somebody named is
// done where the service is, and so is a merge without labels.
[[nodiscard]] bool suits_runner(const Run& run, const JobPlace& place);
// Returns whether the service itself may execute them: it has every repository and no label.
[[nodiscard]] bool suits_service(const Run& run);

// The queue of ready stations (ready_stations.h) in which the current station of a run waits.
// Returns whether the run's station works in a worktree that an earlier one made.
[[nodiscard]] bool needs_worktree(const Run& run);

struct ReadyQueue {
  ExecutorKind executor = ExecutorKind::worker;
  // The station's name if a worker claims it; else equal for all runs that the same places may
  // execute next.
  std::string name;
};
[[nodiscard]] ReadyQueue ready_queue_of(const Run& run);

}  // namespace signalbox
