#include "server/executors/checks/checks_station.h"

#include <sysexits.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "domain/try.h"
#include "server/executors/called_commands.h"
#include "server/executors/check_files.h"
#include "server/executors/checks/checks_report.h"
#include "server/executors/checks/checks_task.h"
#include "server/executors/checks/instructions.h"
#include "server/executors/job_directory.h"
#include "server/executors/judging_base.h"
#include "server/git/check_scratch.h"
#include "server/git/git_listing.h"
#include "server/git/hidden_files.h"
#include "server/git/tree_removal.h"
#include "server/platform/atomic_file.h"
#include "server/platform/child_process.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Bounds of what is read to learn which files the checks run: from one file to the next, files, and
// bytes of each.
constexpr int calls_followed_max = 6;
constexpr std::size_t called_files_max = 100;
constexpr std::size_t called_file_bytes_max = 256 * 1024;

int refuse(const StoreError& error) {
  std::fprintf(stderr, "signalbox checks: %s\n", error.message.c_str());
  return EX_IOERR;
}

// The scratch directory of the checks: empty before the first check, removed after the last.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::filesystem::path& workspace)
      : path_(workspace / check_scratch_name) {
    remove();  // what a killed station left
    std::error_code error;
    std::filesystem::create_directory(path_, error);
    if (error) log_error("can't make " + path_.string() + ": " + error.message());
    ::setenv("SIGNALBOX_SMOKE_DATA", path_.c_str(), 1);
  }
  ~ScratchDirectory() { remove(); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

 private:
  static void log_error(const std::string& what) { std::fprintf(stderr, "%s\n", what.c_str()); }
  void remove() const {
    if (auto removed = remove_tree(path_); !removed) log_error(removed.error());
  }

  std::filesystem::path path_;
};

// The run's job as the station sees it.
struct ChecksJob {
  ChecksTask task;
  fs::path directory;
  fs::path workspace;
  fs::path pins;  // of the run's repository
};

// Returns the base that the log has; nullopt if no station made a worktree for the run.
std::optional<std::string> base_of_log() {
  const char* const commit = std::getenv("SIGNALBOX_BASE_COMMIT");
  return commit == nullptr ? std::nullopt : std::optional<std::string>(commit);
}

fs::path repository_of_job() {
  const char* const repository = std::getenv("SIGNALBOX_REPOSITORY");
  return repository == nullptr ? "" : repository;
}

fs::path pins_of_job(const fs::path& job_directory) {
  const char* const run_id = std::getenv("SIGNALBOX_RUN_ID");
  // <data>/jobs/<job>
  const fs::path data = job_directory.parent_path().parent_path();
  return data / pins_directory_name / (run_id == nullptr ? "" : run_id);
}

// Reads the instructions of the base, so that what an agent writes doesn't judge its own work; or
// those in the workspace, if nothing else is known. Error: the station's failure.
tl::expected<CheckedPlan, Failure> read_plan(const ChecksJob& job,
                                             const std::optional<JudgingBase>& base) {
  CheckedPlan plan;
  if (base) plan.base_commit = base->commit();
  if (!job.task.checks.empty()) {
    plan.checks.assign(job.task.checks.begin(), job.task.checks.end());
    plan.source = "pipeline";
    return plan;
  }
  std::optional<Failure> unreadable;
  const auto read_file =
      [&](const std::string& file) -> tl::expected<std::optional<std::string>, std::string> {
    if (!base) return read_in_directory(job.workspace, file);
    auto text = base->read(file, instructions_bytes_max);
    if (text) return std::move(*text);
    unreadable = text.error();
    return tl::unexpected<std::string>(text.error().message);
  };
  auto instructions = read_instructions(read_file, job.task.instructions);
  if (instructions) {
    plan.checks = std::move(instructions->checks);
    plan.source = std::move(instructions->file);
    return plan;
  }
  Failure failure{Outcome::failed, ErrorClass::config, "CHECKS_MISSING", instructions.error()};
  if (base) {
    failure.message +=
        "; the checks are those of the base " + base->commit().substr(0, 12) + ", not of the work";
  }
  if (unreadable) {
    failure.error_class = unreadable->error_class;
    failure.code = unreadable->code;
  }
  return tl::unexpected(std::move(failure));
}

// Returns what differs in the workspace from the base, new files included. Error: a sentence.
tl::expected<std::vector<ChangedFile>, std::string> changes_since(const JudgingBase& base,
                                                                  const ChecksJob& job) {
  GitOptions there;
  there.place = TRY(base.repository().place_of(job.workspace));
  const auto differing = TRY(git_listing(
      job.workspace,
      {"--no-optional-locks", "diff", "--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff",
       "--no-textconv", "--ignore-submodules=dirty", "--end-of-options", base.commit(), "--"},
      there, job.directory));
  const auto untracked =
      TRY(git_listing(job.workspace,
                      {"--no-optional-locks", "ls-files", "--others", "--exclude-standard", "-z",
                       "--", ".", exclude_check_scratch},
                      there, job.directory));
  // git doesn't say whether these were changed, so they count.
  auto more = TRY(hidden_files(job.workspace, there, job.directory));
  for (std::string_view rest = untracked; !rest.empty();) {
    more.emplace_back(take_until(rest, '\0'));
  }
  std::vector<ChangedFile> files = parse_raw_diff(differing);
  for (const std::string& path : more) {
    std::error_code error;
    const fs::file_status status = fs::symlink_status(job.workspace / path, error);
    const bool executable = fs::is_symlink(status) ||
                            (fs::is_regular_file(status) &&
                             (status.permissions() & fs::perms::owner_exec) != fs::perms::none);
    files.push_back({path, executable});
  }
  return files;
}

// Adds the targets of the base's links that a name leads through. Error: as JudgingBase has it.
tl::expected<void, Failure> add_link_targets(const JudgingBase& base, const BaseTree& tree,
                                             std::set<std::string>& named) {
  std::optional<Failure> unreadable;
  const auto read_link = [&](const TreeLink& link) {
    auto target = base.target_of(link);
    if (target) return *std::move(target);
    unreadable = std::move(target.error());
    return std::string();
  };
  add_targets_of_links(tree.links, read_link, named);
  if (unreadable) return tl::unexpected(*std::move(unreadable));
  return {};
}

// Returns whether a name is that of a script in a submodule, of which the base has no content.
bool runs_in_submodule(const BaseTree& tree, const std::set<std::string>& named) {
  return std::any_of(tree.submodules.begin(), tree.submodules.end(), [&](const std::string& path) {
    const std::vector<std::string> below = names_below(named, path);
    return std::any_of(below.begin(), below.end(), may_have_commands);
  });
}

// Adds to the names what they lead to in the base: the targets of links, and the files that
// Makefiles, package.json files and shell scripts name; unknown_calls_name if that is more than is
// read. Error: as JudgingBase has it, since names that are missing would hide a change.
tl::expected<void, Failure> add_called_files(const JudgingBase& base, const ChecksJob& job,
                                             std::set<std::string>& named) {
  const auto tree = TRY(base.tree(job.directory));
  std::map<std::string, std::string> texts;  // by path
  for (int round = 0; round < calls_followed_max; ++round) {
    const std::size_t before = named.size();
    TRY(add_link_targets(base, tree, named));
    if (runs_in_submodule(tree, named)) named.insert(unknown_calls_name);
    for (const std::string& path : tree.files) {
      const bool may_call =
          (may_have_commands(path) && is_run_by(named, path)) || is_run_as_script(named, path);
      if (!may_call || texts.contains(path)) continue;
      if (texts.size() >= called_files_max) {
        named.insert(unknown_calls_name);
        break;
      }
      auto text = base.read(path, called_file_bytes_max);
      const bool is_too_long = !text && text.error().code == "CHECKS_MISSING";
      if (!text && !is_too_long) return tl::unexpected(std::move(text.error()));
      if (is_too_long) named.insert(unknown_calls_name);
      texts.emplace(path, text ? text->value_or("") : "");
    }
    std::set<std::string> called;
    for (const auto& [path, text] : texts) {
      for (const std::string& command : commands_in(path, text, named)) {
        called.merge(scripts_named_by(command));
      }
    }
    named.merge(called);
    if (named.size() == before) return {};
  }
  named.insert(unknown_calls_name);
  return {};
}

// Returns names of what the checks of the plan run. Error: the station's failure.
tl::expected<std::set<std::string>, Failure> names_run_by(const CheckedPlan& plan,
                                                          const JudgingBase& base,
                                                          const ChecksJob& job) {
  std::set<std::string> named;
  for (const PlannedCheck& check : plan.checks) {
    named.merge(files_named_by(check.command));
    named.merge(files_named_by(check.cleanup));
  }
  named.merge(hook_directories(base.repository().facts().programs));
  TRY(add_called_files(base, job, named));
  if (!job.task.instructions.empty()) named.insert(instructions_name(job.task.instructions));
  return named;
}

// Notes in the plan which files that decide about checks the work changed.
void note_changes(const JudgingBase& base, const ChecksJob& job, const std::set<std::string>& named,
                  CheckedPlan& plan) {
  const auto changed = changes_since(base, job);
  if (changed) {
    plan.changed = check_files_among(*changed, named);
  } else {
    plan.changed_unknown = changed.error();
  }
}

CheckResult run_and_print(const PlannedCheck& check, const ChecksJob& job) {
  std::printf("== %s\n", check.name.c_str());
  std::fflush(stdout);
  CheckResult result = run_check_and_clean_up(check, job.workspace, job.task.grace_ms);
  std::printf("%s%s\n-- %s: %s\n", result.output.c_str(), result.output.ends_with('\n') ? "" : "\n",
              check.name.c_str(), describe_result(check, result).c_str());
  std::fflush(stdout);
  return result;
}

// Runs the checks and writes checks.json after each, so that a station that times out shows how far
// it came.
Stored<DeclaredResult> run_plan(const CheckedPlan& plan, const ChecksJob& job) {
  const fs::path artifacts = JobDirectory{job.directory}.artifacts();
  std::vector<CheckResult> results;
  {
    ScratchDirectory scratch(job.workspace);
    for (const PlannedCheck& check : plan.checks) {
      results.push_back(run_and_print(check, job));
      TRY(write_file_atomically(artifacts / "checks.json", checks_json(plan, results)));
    }
  }
  if (!plan.changed.empty()) {  // written last, when no check can change it any more
    TRY(write_file_atomically(artifacts / checks_changed_name, checks_changed_text(plan.changed)));
  }
  return checks_verdict(plan, results);
}

// Returns the station's result. Error: those of the disk.
Stored<DeclaredResult> judge(const ChecksJob& job) {
  const auto refused = [](Failure failure) {
    std::fprintf(stderr, "%s\n", failure.message.c_str());
    return declared_failure(std::move(failure));
  };
  auto base = JudgingBase::open(job.pins, repository_of_job(), base_of_log());
  if (!base) return refused(std::move(base.error()));
  auto plan = read_plan(job, *base);
  if (!plan) return refused(std::move(plan.error()));
  if (*base) {
    const auto named = names_run_by(*plan, **base, job);
    if (!named) return refused(named.error());
    TRY(remember_named_files(job.pins, *named));  // for create_pr
    note_changes(**base, job, *named, *plan);
  }
  become_reaper();  // git is no child of a check
  return run_plan(*plan, job);
}

}  // namespace

int run_checks_station(const std::filesystem::path& job_directory) {
  auto task = read_checks_task(job_directory);
  if (!task) return refuse(task.error());
  std::error_code error;
  const ChecksJob job{std::move(*task), job_directory, fs::current_path(error),
                      pins_of_job(job_directory)};
  const auto verdict = judge(job);
  if (!verdict) return refuse(verdict.error());
  const auto written =
      write_declared_result(JobDirectory{job_directory}.artifacts() / "result.json", *verdict);
  return written ? 0 : refuse(written.error());
}

}  // namespace signalbox
