// What the cards of a project will miss, and what isn't known of it.
#include "server/executors/process/project_warnings.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "server/platform/call_bounds.h"
#include "tests/fixtures/git_repository.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

class ProjectWarningsTest : public ::testing::Test {
 protected:
  ProjectWarningsTest() {
    project.name = "web";
    project.repository = make_repository(root.path() / "web").string();
    project.base = "main";
    project.pipeline = card_pipeline("");
  }
  [[nodiscard]] std::set<std::string> codes() const {
    std::set<std::string> found;
    for (const ProjectWarning& each : warnings.warnings) found.insert(each.code);
    return found;
  }

  TemporaryDirectory root;
  Project project;
  ProjectWarnings warnings;
};

TEST_F(ProjectWarningsTest, WhatGitDidntAnswerInTimeIsNamed) {  // O8
  {
    const CallBounds over(CallBounds::now_ms());
    warnings = project_warnings(project, CoderunnerMode::mock, root.path());
  }
  EXPECT_EQ(codes(), (std::set<std::string>{"no_remote", "mock_agent"}));
  EXPECT_EQ(warnings.not_checked,
            (std::vector<std::string>{"no_identity", "dirty_base", "submodules", "no_checks"}));
}

TEST_F(ProjectWarningsTest, ARemoteOfTheRepositoryIsSuggestedByItsName) {  // O8
  const auto suggested = [this] {
    warnings = project_warnings(project, CoderunnerMode::mock, root.path());
    EXPECT_EQ(warnings.not_checked, std::vector<std::string>());
    for (const ProjectWarning& each : warnings.warnings) {
      if (each.code == "no_remote") return each.next_commands;
    }
    return std::vector<std::string>();
  };
  const std::string put =
      "signalbox project put web --repository " + project.repository + " --base main --remote ";
  EXPECT_EQ(suggested(),
            (std::vector<std::string>{"git -C " + project.repository + " remote add origin URL",
                                      put + "origin"}));
  run_git(project.repository, {"remote", "add", "upstream", "/somewhere"});
  EXPECT_EQ(suggested(), std::vector<std::string>{put + "upstream"});
  run_git(project.repository, {"remote", "add", "origin", "/elsewhere"});
  project.pipeline.stations.pop_back();
  EXPECT_EQ(suggested(), std::vector<std::string>{put + "origin --keep-pipeline"});
}

}  // namespace
}  // namespace signalbox
