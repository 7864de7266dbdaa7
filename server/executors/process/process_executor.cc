#include "server/executors/process/process_executor.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "domain/attempt_end.h"
#include "domain/check.h"
#include "domain/limits.h"
#include "domain/refusals.h"
#include "domain/try.h"
#include "server/executors/checks/checks_task.h"
#include "server/executors/coderunner/agent_session.h"
#include "server/executors/coderunner/agent_task.h"
#include "server/executors/coderunner/session_usage.h"
#include "server/executors/declared_result.h"
#include "server/executors/deep_work_command.h"
#include "server/executors/job_report.h"
#include "server/executors/process/job_environment.h"
#include "server/executors/process/job_processes.h"
#include "server/executors/taken_workspace.h"
#include "server/git/pinned_repository.h"
#include "server/git/run_branch.h"
#include "server/git/unsaved_work.h"
#include "server/platform/child_process.h"
#include "server/text/utf8_text.h"
#include "store/durable_file.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

tl::unexpected<ExecutorError> shim_error(const std::string& why) {
  return tl::unexpected(ExecutorError{ErrorClass::transient, "SHIM_NOT_STARTED",
                                      "cannot start the job's supervisor: " + why});
}

// Returns whether both an argv and JSON can represent the text.
bool is_word(const std::string& text) {
  return is_utf8(text) && text.find('\0') == std::string::npos;
}

bool makes_workspace(const Job& job) {
  const std::optional<BuiltinStation> builtin = builtin_of(job.definition);
  return builtin == BuiltinStation::intake || builtin == BuiltinStation::merge;
}

// Two built-in stations create the workspace themselves; every other job runs in it.
std::filesystem::path cwd_of(const Job& job) {
  return makes_workspace(job) ? std::filesystem::path(job.run_root) : workspace_of(job);
}

bool is_link(const std::filesystem::path& path) {
  std::error_code unknown;
  return std::filesystem::is_symlink(std::filesystem::symlink_status(path, unknown));
}

// Returns what is wrong with the worktree, as the end of a sentence about it; empty: nothing is.
std::string fault_of_worktree(const std::filesystem::path& workspace, bool is_builtin) {
  using Type = std::filesystem::file_type;
  std::error_code unknown;
  const auto type_of = [&unknown](const std::filesystem::path& path) {
    return std::filesystem::symlink_status(path, unknown).type();
  };
  const Type type = type_of(workspace);
  if (type == Type::not_found) {
    return "isn't there any more: something removed it, such as a command of an earlier station, "
           "or its disk isn't mounted";
  }
  if (type == Type::symlink) return "was replaced by a link";
  if (type != Type::directory && type != Type::none) return "was replaced by a file";
  // Built-in stations look closer, and say more.
  const Type git = is_builtin ? Type::none : type_of(workspace / ".git");
  if (git == Type::regular || git == Type::none) return {};
  return git == Type::not_found ? "has lost its .git" : "has a .git that git worktree didn't make";
}

// Returns what the advice to mend a worktree doesn't lead to: a card goes on with its run only at
// create_pr. The next run of a card that failed elsewhere begins in a worktree of its own.
std::string next_run_note(const Job& job) {
  const bool goes_on = builtin_of(job.definition) == BuiltinStation::create_pr;
  if (goes_on || job.base_station != "intake") return {};
  return ". If it is a card's, its next run doesn't go on here: it begins anew, and is told that "
         "what the mended worktree has is kept under " +
         rescue_ref_of(to_string(job.run_id));
}

// Fails with WORKSPACE_TAKEN if another run has made the worktree that is there.
Executed<void> check_worktree_is_own(const Job& job, const std::filesystem::path& workspace) {
  const auto git_directory = recorded_directory(workspace);
  if (!git_directory) return {};
  const auto own =
      require_own_workspace(workspace, *git_directory, job.repository, to_string(job.run_id));
  if (own) return {};
  const Failure& failure = own.error();
  return tl::unexpected(ExecutorError{failure.error_class, failure.code, failure.message});
}

// Fails with WORKSPACE_TAMPERED if the worktree that an earlier station made isn't there: in
// anything else, such as an empty directory in its place, checks could pass over nothing.
Executed<void> check_worktree_is_there(const Job& job) {
  if (job.repository.empty() || job.base_station.empty() || makes_workspace(job)) return {};
  const std::filesystem::path workspace = workspace_of(job);
  const bool is_builtin = job.definition.executor == ExecutorKind::builtin;
  const std::string fault = fault_of_worktree(workspace, is_builtin);
  if (fault.empty()) return check_worktree_is_own(job, workspace);
  const std::string in_git = "git -C " + shell_word(job.repository) + " worktree ";
  const std::string place = shell_word(workspace.string());
  std::error_code unknown;
  const bool is_directory =
      !is_link(workspace) && std::filesystem::is_directory(workspace, unknown);
  const bool is_there = std::filesystem::symlink_status(workspace, unknown).type() !=
                        std::filesystem::file_type::not_found;
  std::string advice;
  if (is_directory) {
    advice = "Look at it, move its .git away if there is one, run `" + in_git + "repair`";
  } else if (job.base_station == "intake") {
    advice = "What was committed in it is on its branch. To go on with that, run ";
    if (is_there) advice += "`rm " + place + "` (it isn't the worktree), then ";
    advice +=
        "`" + in_git + "add --force " + place + " " + branch_of(job.run_id, job.run_token) + "`";
  } else {
    advice = "A new merge makes it anew";
  }
  const std::string message = "the worktree " + workspace.string() + " " + fault +
                              ". No command was run there. " + advice +
                              "; then have it tried again: `signalbox run why " +
                              to_string(job.run_id) + "` names the command" + next_run_note(job);
  return tl::unexpected(ExecutorError{ErrorClass::config, std::string(workspace_tampered_code),
                                      shortened(message, limits::reason_bytes_max)});
}

// Returns the external ref at the start of the job: an agent's session has an id of its own; for
// every other job it is the job's id.
std::string ref_at_start(const Job& job) {
  std::string session = session_ref_at_start(job.definition, job.span_id, job.resume_ref);
  return session.empty() ? job.id : session;
}

// Returns the entry of the environment that the job's processes have, its shim included.
std::string span_entry(const Job& job) { return "SIGNALBOX_SPAN_ID=" + to_string(job.span_id); }

// Adds what the agent of a job without a result.json has used, as far as that is known: its
// coderunner was killed, or its disk was full.
void add_undeclared_usage(const Job& job, const JobDirectory& directory, JobResult& result) {
  if (job.definition.executor != ExecutorKind::coderunner) return;
  result.usage = usage_of_lost_call(directory.root);
  if (result.usage != Usage{}) result.result.metadata = R"({"usage_estimated":true})";
}

// Writes the task file of a station whose command needs more than its environment.
Stored<void> write_task(const Job& job, const std::filesystem::path& job_directory) {
  if (job.definition.executor == ExecutorKind::coderunner) {
    return write_agent_task(job_directory, agent_task(job));
  }
  if (job.definition.executor == ExecutorKind::checks) {
    return write_checks_task(job_directory, checks_task(job));
  }
  return {};
}

}  // namespace

ProcessExecutor::ProcessExecutor(ProcessExecutorOptions options, ArtifactStore& artifacts)
    : options_(std::move(options)), artifacts_(artifacts) {
  SIGNALBOX_CHECK(options_.jobs_root.is_absolute());
  SIGNALBOX_CHECK(options_.binary.is_absolute());
}

JobDirectory ProcessExecutor::directory_of(const Job& job) const {
  SIGNALBOX_CHECK(!job.id.empty() && job.id.front() != '.');
  SIGNALBOX_CHECK(job.id.find('/') == std::string::npos);
  return JobDirectory{options_.jobs_root / job.id};
}

std::vector<std::string> ProcessExecutor::argv_of(const Job& job) const {
  const std::string binary = options_.binary.string();
  switch (job.definition.executor) {
    case ExecutorKind::builtin:
      return {binary, "builtin", job.definition.name};
    case ExecutorKind::coderunner:
      return {binary, "coderunner", "--job-dir", directory_of(job).root.string()};
    case ExecutorKind::checks:
      return {binary, "checks", "--job-dir", directory_of(job).root.string()};
    case ExecutorKind::deep_work:
      return deep_work_argv(options_.binary, job.definition);
    case ExecutorKind::process:
    case ExecutorKind::worker:
    case ExecutorKind::modal:
    case ExecutorKind::approval:
      break;
  }
  return job.definition.command;
}

Executed<std::string> ProcessExecutor::submit(const Job& job) {
  const JobDirectory directory = directory_of(job);
  const auto before = directory.state();
  if (!before) return storage_error(before.error());
  if (*before != JobState::absent) return ref_at_start(job);

  const std::string secret = options_.secret_of ? options_.secret_of(job.id) : std::string();
  const Job known = TRY(with_declared_commits(job, options_.declared_commit));
  const auto environment = TRY(
      job_environment(known, directory.artifacts(), options_.socket, options_.environment, secret));
  TRY(prepare(job, directory));
  TRY(start_shim(directory, environment));
  return ref_at_start(job);
}

Executed<std::string> ProcessExecutor::learned_ref(const Job& job) {
  if (job.definition.executor != ExecutorKind::coderunner) return std::string();
  auto ref = read_learned_session(directory_of(job).root);
  if (!ref) return storage_error(ref.error());
  return *ref;
}

Executed<void> ProcessExecutor::prepare(const Job& job, const JobDirectory& directory) const {
  JobSpec spec;
  spec.argv = argv_of(job);
  spec.cwd = cwd_of(job).string();
  spec.timeout_ms = job.definition.timeout_ms;
  spec.cancel_grace_ms = job.definition.cancel_grace_ms;
  const bool valid = !spec.argv.empty() && std::all_of(spec.argv.begin(), spec.argv.end(), is_word);
  // A run root of a log that an earlier version wrote: later ones don't take such a path.
  if (spec.cwd.find('\0') != std::string::npos) {
    return tl::unexpected(ExecutorError{ErrorClass::config, "RUN_ROOT_INVALID",
                                        "the run root has a NUL in its name"});
  }
  if (!valid) {
    return tl::unexpected(ExecutorError{ErrorClass::config, "COMMAND_INVALID",
                                        "the command is empty, not UTF-8, or has a NUL in it"});
  }
  TRY(check_worktree_is_there(job));
  // make_directories() also creates the artifacts directory's parent, the job's directory, durably.
  if (auto made = make_directories(directory.artifacts()); !made) {
    return storage_error(made.error());
  }
  if (auto made = options_.make_run_directory(cwd_of(job)); !made) {
    const bool is_own_disk = job.run_root.starts_with(options_.jobs_root.parent_path().string()) &&
                             !is_link(job.run_root) && !is_link(cwd_of(job));
    if (is_own_disk || made.error().kind == StoreError::Kind::full) {
      return storage_error(made.error());
    }
    // A place that a client named and that can't be made, or a link that a job left there: waiting
    // doesn't change that.
    return tl::unexpected(
        ExecutorError{ErrorClass::config, "RUN_ROOT_INVALID", made.error().message});
  }
  if (auto written = write_task(job, directory.root); !written) {
    return storage_error(written.error());
  }
  // Concurrent submits of the same job write the same content, so it doesn't matter which file the
  // shim reads.
  if (auto written = directory.write_spec(spec); !written) {
    return storage_error(written.error());
  }
  return {};
}

Executed<void> ProcessExecutor::start_shim(const JobDirectory& directory,
                                           const std::vector<std::string>& environment) const {
  auto shim = ChildProcess::start(
      {.argv = {options_.binary.string(), "shim", "--job-dir", directory.root.string()},
       .environment = environment,
       .group = ChildProcess::Group::own_session});
  if (!shim) {
    return shim_error(options_.binary.string() + ": " +
                      std::generic_category().message(shim.error()));
  }
  // Waits for the shim's first process, which ends as soon as the job's lock is taken; the shim
  // itself is detached.
  shim->await_end();
  const auto exit_code = shim->exit_code();
  if (exit_code == 0) return {};
  return shim_error(exit_code ? "it ended with exit code " + std::to_string(*exit_code)
                              : "it was killed");
}

Executed<JobState> ProcessExecutor::poll(const Job& job) {
  const auto state = directory_of(job).state();
  if (!state) return storage_error(state.error());
  return *state;
}

Executed<JobResult> ProcessExecutor::fetch_result(const Job& job) {
  const JobDirectory directory = directory_of(job);
  auto report = report_job(job, directory, artifacts_);
  if (!report) return storage_error(report.error());
  if (!read_declared_result(directory.artifacts() / "result.json")) {
    add_undeclared_usage(job, directory, *report);
  }
  if (report->result.external_ref == job.id) {  // the job declared no ref of its own
    const auto learned = TRY(learned_ref(job));
    report->result.external_ref = learned.empty() ? ref_at_start(job) : learned;
  }
  return std::move(*report);
}

Executed<void> ProcessExecutor::cancel(const Job& job) {
  const JobDirectory directory = directory_of(job);
  // O_EXCL: whatever a job put there, such as a link or a FIFO, counts as a cancel, too, and is
  // neither opened nor followed.
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const FileDescriptor file(::open(directory.cancel().c_str(), flags, 0600));
  if (!file && errno != EEXIST) {
    // Never submitted, or the job has replaced its directory: then there is nobody to ask.
    if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return {};
    return storage_error(system_error("create", directory.cancel()));
  }
  if (auto synced = sync_directory(directory.root); !synced) return storage_error(synced.error());
  return {};
}

// Who is the shim is read from the processes alone. The pid in shim.lock may be one that the job
// has written there, but it can't give another process its own environment.
bool ProcessExecutor::wake(const Job& job) {
  for (const ProcessIdentity& process : processes_with_environment(span_entry(job))) {
    if (is_shim(process.pid)) send_signal(process, SIGCONT);
  }
  return true;
}

Executed<std::vector<std::int32_t>> ProcessExecutor::clean_up_lost(const Job& job) {
  const std::string entry = span_entry(job);
  return end_processes([&entry] { return processes_with_environment(entry); },
                       job.definition.cancel_grace_ms);
}

void ProcessExecutor::describe_lost(const Job& job, JobResult& result) {
  const JobDirectory directory = directory_of(job);
  // The job may have outlived its shim until it was cleaned up.
  const auto declared = read_declared_result(directory.artifacts() / "result.json");
  if (declared) {
    result.usage = declared->used();
    result.result.metadata = declared->metadata.value_or("");
  } else {
    add_undeclared_usage(job, directory, result);
  }
}

}  // namespace signalbox
