// Fixture for tests of the built-in stations: a real repository, and jobs of runs in it.
#pragma once

#include <csignal>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "server/executors/process/job_environment.h"
#include "tests/fixtures/git_repository.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {

class BuiltinStations : public ::testing::Test {
 protected:
  void SetUp() override { make_repository(repository, {{"file.txt", "one\n"}}); }
  // Runs git with the space-separated `arguments`, as run_git() does.
  static std::string run(const std::string& arguments, const std::filesystem::path& directory) {
    std::istringstream words(arguments);
    return run_git(directory, {std::istream_iterator<std::string>(words), {}});
  }
  static void commit_all(const std::filesystem::path& directory, const std::string& message) {
    // Commits of one second with the same files would be one commit, and what an earlier round of a
    // test kept would keep that of a later one, too.
    static int number = 0;
    commit_everything(directory, message + "\n\ncommit " + std::to_string(++number));
  }
  Job builtin(const std::string& name) {
    Job job = site.job(name);
    job.definition.executor = ExecutorKind::builtin;
    job.repository = repository.string();
    return job;
  }
  // Returns a job of the same run for another station, or for another attempt.
  static Job next(const Job& before, const std::string& name, int attempt = 1) {
    Job job = before;
    job.definition.name = name;
    job.id = to_string(job.run_id) + "-" + name + "-" + std::to_string(attempt);
    return job;
  }
  JobResult end_of(const Job& job) { return run_to_end(*site.executor(), job); }

  // Submits the job and kills it, with all of its processes, after `microseconds`.
  void kill_after(const Job& job, useconds_t microseconds) {
    ASSERT_TRUE(site.executor()->submit(job));
    ::usleep(microseconds);
    const std::string lock = content_of(site.job_root(job) / "shim.lock");
    ::kill(std::stoi(lock.substr(lock.find(':') + 1)), SIGKILL);
    ASSERT_TRUE(eventually([&] {
      const JobState state = site.executor()->poll(job).value();
      return state == JobState::lost || state == JobState::finished;
    }));
    ASSERT_TRUE(site.executor()->clean_up_lost(job)->empty());
  }

  ExecutorSite site;
  std::filesystem::path repository = site.root() / "repository";
};

}  // namespace signalbox
