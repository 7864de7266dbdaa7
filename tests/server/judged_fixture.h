// Fixture for tests of how a run's work is judged: a real repository that names its checks, and
// jobs of a run that began there.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>

#include "server/git/pinned_repository.h"
#include "tests/server/builtin_fixture.h"

namespace signalbox {

// Returns the text of an AGENTS.md with these checks, one a line.
inline std::string agents_file(const std::string& commands) {
  return "# Project\n\n## Checks\n\n```sh\n" + commands + "\n```\n";
}

class JudgedByBase : public BuiltinStations {
 protected:
  // Commits the files in the repository and returns the job of an intake that began there.
  Job begin(const std::map<std::string, std::string>& files) {
    for (const auto& [name, text] : files) {
      std::filesystem::create_directories((repository / name).parent_path());
      write_text(repository / name, text);
    }
    commit_all(repository, "checks");
    Job intake = builtin("intake");
    const JobResult result = end_of(intake);
    EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
    return intake;
  }
  JobResult verify(const Job& before, std::vector<CheckDefinition> checks = {}, int attempt = 1) {
    Job job = next(before, "verify", attempt);
    job.definition.executor = ExecutorKind::checks;
    job.definition.checks = ChecksDefinition{std::move(checks), ""};
    return end_of(job);
  }
  void work(const Job& job, const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((workspace_of(job) / file).parent_path());
    write_text(workspace_of(job) / file, text);
  }
  static boost::json::value field_of(const JobResult& result, const char* name) {
    const boost::json::object metadata = boost::json::parse(result.result.metadata).as_object();
    const boost::json::value* found = metadata.if_contains(name);
    return found == nullptr ? boost::json::value(nullptr) : *found;
  }
  // Returns the job as one of a run whose intake declared `commit` as its base in the log.
  static Job recorded(Job job, const std::string& commit) {
    job.base_station = "intake";
    job.base_commit = commit;
    return job;
  }
  std::filesystem::path pins_of(const Job& job) const {
    return site.root() / pins_directory_name / to_string(job.run_id);
  }
  std::string base() const { return run("rev-parse main", repository); }
};

}  // namespace signalbox
