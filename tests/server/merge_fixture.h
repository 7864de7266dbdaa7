// Fixture for tests of the stations merge and push: a repository and its remote, and branches of
// verified work.
#pragma once

#include <boost/json/parse.hpp>

#include "tests/server/builtin_fixture.h"

namespace signalbox {

class MergeStations : public BuiltinStations {
 protected:
  void SetUp() override {
    BuiltinStations::SetUp();
    run("clone --quiet --bare " + repository.string() + " " + remote.string(), site.root());
    run("remote add origin " + remote.string(), repository);
  }
  // Makes a branch with one commit that writes this file, in a worktree of its own; returns the
  // commit.
  std::string verified(const std::string& branch, const std::string& file,
                       const std::string& content) {
    const std::filesystem::path worktree = site.root() / "aside";
    run("worktree add --quiet -b " + branch + " " + worktree.string() + " main", repository);
    write_text(worktree / file, content);
    commit_all(worktree, "work");
    const std::string commit = run("rev-parse HEAD", worktree);
    run("worktree remove --force " + worktree.string(), repository);
    return commit;
  }
  // Adds somebody else's commit to main: in the remote, or in the repository if there is none.
  void move_base(const std::string& file, const std::string& content) {
    const std::filesystem::path clone = site.root() / "clone";
    std::filesystem::remove_all(clone);
    run("clone --quiet --branch main " + base_home().string() + " " + clone.string(), site.root());
    write_text(clone / file, content);
    commit_all(clone, "moved");
    run("push --quiet origin HEAD:main", clone);
  }
  bool is_at_remote(const std::string& branch) const {
    return !run("for-each-ref --format=%(refname) refs/heads/" + branch, remote).empty();
  }
  std::filesystem::path base_home() const { return with_remote ? remote : repository; }
  Job merge_of(const std::string& branch, const std::string& commit) {
    Job job = builtin("merge");
    job.workspace = job.run_root + "/merge-" + to_string(job.run_id).substr(0, 8);
    job.base = "main";
    job.input =
        R"({"branch":")" + branch + R"(","commit":")" + commit + R"(","title":"Greet politely"})";
    if (with_remote) job.definition.remote = "origin";
    return job;
  }
  static boost::json::object metadata_of(const JobResult& result) {
    return boost::json::parse(result.result.metadata).as_object();
  }

  std::filesystem::path remote = site.root() / "remote.git";
  bool with_remote = true;
};

}  // namespace signalbox
