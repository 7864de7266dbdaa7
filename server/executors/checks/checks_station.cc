#include "server/executors/checks/checks_station.h"

#include <sysexits.h>

#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "server/executors/checks/checks_report.h"
#include "server/executors/checks/checks_task.h"
#include "server/executors/checks/instructions.h"
#include "server/executors/job_directory.h"
#include "server/git/check_scratch.h"
#include "server/git/tree_removal.h"
#include "server/platform/atomic_file.h"
#include "server/platform/child_process.h"

namespace signalbox {
namespace {

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

// Returns the plan. Error: the station's result if there are no checks to run.
tl::expected<CheckedPlan, DeclaredResult> plan_of(const ChecksTask& task,
                                                  const std::filesystem::path& workspace) {
  if (!task.checks.empty()) {
    return CheckedPlan{{task.checks.begin(), task.checks.end()}, "pipeline"};
  }
  auto instructions = read_instructions(workspace, task.instructions);
  if (!instructions)
    return tl::unexpected(declared_failure(
        {Outcome::failed, ErrorClass::config, "CHECKS_MISSING", instructions.error()}));
  return CheckedPlan{std::move(instructions->checks), instructions->file};
}

}  // namespace

int run_checks_station(const std::filesystem::path& job_directory) {
  become_reaper();
  const auto task = read_checks_task(job_directory);
  if (!task) return refuse(task.error());
  const std::filesystem::path artifacts = JobDirectory{job_directory}.artifacts();
  std::error_code error;
  const std::filesystem::path workspace = std::filesystem::current_path(error);

  auto plan = plan_of(*task, workspace);
  std::vector<CheckResult> results;
  if (plan) {
    ScratchDirectory scratch(workspace);
    for (const PlannedCheck& check : plan->checks) {
      std::printf("== %s\n", check.name.c_str());
      std::fflush(stdout);
      results.push_back(run_check_and_clean_up(check, workspace, task->grace_ms));
      std::printf("%s%s\n-- %s: %s\n", results.back().output.c_str(),
                  results.back().output.ends_with('\n') ? "" : "\n", check.name.c_str(),
                  describe_result(check, results.back()).c_str());
      std::fflush(stdout);
      // Written after each check, so that a station that times out shows how far it came.
      const auto saved =
          write_file_atomically(artifacts / "checks.json", checks_json(*plan, results));
      if (!saved) return refuse(saved.error());
    }
  }
  const DeclaredResult verdict = plan ? checks_verdict(*plan, results) : plan.error();
  if (!plan) std::fprintf(stderr, "%s\n", verdict.error_message->c_str());
  const auto written = write_declared_result(artifacts / "result.json", verdict);
  return written ? 0 : refuse(written.error());
}

}  // namespace signalbox
