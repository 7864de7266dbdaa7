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
  // Has the repository reach its remote `origin`, the repository at `remote`, through a program
  // that runs these shell commands first; $n is how many times it was reached, with this one.
  // Returns the file that has a line for each of them.
  std::filesystem::path reach_through(const std::string& commands,
                                      const std::filesystem::path& remote) {
    const std::filesystem::path reached = site.root() / "reached";
    const std::filesystem::path ssh = site.root() / "ssh";
    write_text(ssh, "#!/bin/sh\necho . >> " + reached.string() +
                        "\nfor last; do :; done\nn=$(wc -l < " + reached.string() + ")\n" +
                        commands + "\nexec sh -c \"$last\"\n");
    std::filesystem::permissions(ssh, std::filesystem::perms::owner_all);
    run_git(repository, {"config", "core.sshCommand", ssh.string()});
    run("config ssh.variant simple", repository);
    run("remote set-url origin ssh://box" + remote.string(), repository);
    return reached;
  }
  // Makes a worktree of another run, and returns git's file of its HEAD.
  std::filesystem::path head_of_another_worktree() {
    run("worktree add --quiet " + (site.root() / "other").string() + " -b other", repository);
    return repository / ".git/worktrees/other/HEAD";
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
