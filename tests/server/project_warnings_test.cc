// What the cards of a project will miss, and what isn't known of it.
#include "server/executors/process/project_warnings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
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
  void look() { warnings = project_warnings(project, CoderunnerMode::mock, root.path()); }
  [[nodiscard]] std::vector<std::string> next_commands_of(const std::string& code) const {
    for (const ProjectWarning& each : warnings.warnings) {
      if (each.code == code) return each.next_commands;
    }
    return {};
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
            (std::vector<std::string>{"no_repository", "no_identity", "dirty_base", "no_base",
                                      "submodules", "no_checks"}));
}

// Nothing that is read in the repository is known then.
TEST_F(ProjectWarningsTest, ARepositoryThatIsGoneIsAWarning) {  // O8
  const std::vector<std::string> unknown{"no_identity", "dirty_base", "no_base", "submodules",
                                         "no_checks"};
  const std::set<std::string> expected{"no_remote", "mock_agent", "no_repository"};
  std::filesystem::rename(project.repository, root.path() / "moved");
  look();
  EXPECT_EQ(codes(), expected);
  EXPECT_EQ(warnings.not_checked, unknown);
  EXPECT_EQ(next_commands_of("no_repository"),
            std::vector<std::string>{"signalbox project put web --repository \"$(git rev-parse "
                                     "--show-toplevel)\" --base main"});

  std::filesystem::create_directory(project.repository);
  look();
  EXPECT_EQ(codes(), expected) << "a directory that is no repository";
  EXPECT_EQ(warnings.not_checked, unknown);

  make_repository(root.path() / "outer");
  project.repository = (root.path() / "outer" / "web").string();
  std::filesystem::create_directory(project.repository);
  look();
  EXPECT_EQ(codes(), expected) << "the repository around it is another";
  EXPECT_EQ(warnings.not_checked, unknown);
}

TEST_F(ProjectWarningsTest, ABaseThatIsGoneIsAWarning) {  // O8
  set_identity(project.repository);
  run_git(project.repository, {"branch", "--quiet", "-m", "main", "trunk"});
  look();
  EXPECT_EQ(codes(), (std::set<std::string>{"no_remote", "mock_agent", "no_base"}));
  EXPECT_EQ(warnings.not_checked, (std::vector<std::string>{"submodules", "no_checks"}));
  EXPECT_EQ(next_commands_of("no_base"),
            (std::vector<std::string>{
                "signalbox project put web --repository " + project.repository + " --base trunk",
                "git -C " + project.repository + " branch main"}));
}

TEST_F(ProjectWarningsTest, ABareRepositoryHasNoCheckoutWithChanges) {  // O8
  const std::string bare = (root.path() / "bare.git").string();
  run_git(root.path(), {"clone", "--quiet", "--bare", project.repository, bare});
  project.repository = bare;
  set_identity(bare);
  look();
  EXPECT_EQ(codes(), (std::set<std::string>{"no_remote", "mock_agent", "no_checks"}));
  EXPECT_TRUE(warnings.not_checked.empty());
}

TEST_F(ProjectWarningsTest, WhatGitFailsAtIsNotChecked) {  // O8
  set_identity(project.repository);
  const std::filesystem::path own = std::filesystem::path(project.repository) / ".git";
  write_text(own / "index", "no index");
  look();
  EXPECT_EQ(codes(), (std::set<std::string>{"no_remote", "mock_agent", "no_checks"}));
  EXPECT_EQ(warnings.not_checked, std::vector<std::string>{"dirty_base"});

  write_text(root.path() / "file", "");
  warnings = project_warnings(project, CoderunnerMode::mock, root.path() / "file");
  EXPECT_EQ(codes(), (std::set<std::string>{"no_remote", "mock_agent"}));
  EXPECT_EQ(warnings.not_checked,
            (std::vector<std::string>{"dirty_base", "no_base", "submodules", "no_checks"}))
      << "nothing can be pinned below a file";

  write_text(own / "config", "[broken\n");
  look();
  EXPECT_EQ(codes(), (std::set<std::string>{"no_remote", "mock_agent", "no_repository"}))
      << "and nothing is said of user.name";
}

TEST_F(ProjectWarningsTest, SubmodulesThatNobodyInitializedAreFound) {  // O8
  const std::filesystem::path library = make_repository(root.path() / "library");
  commit_submodule(project.repository, library, "library");
  set_identity(project.repository);
  look();
  EXPECT_EQ(codes(), (std::set<std::string>{"no_remote", "mock_agent", "no_checks"}));
  run_git(root.path(), {"clone", "--quiet", project.repository, "clone"});
  project.repository = (root.path() / "clone").string();
  set_identity(project.repository);
  look();
  EXPECT_EQ(codes(), (std::set<std::string>{"no_remote", "mock_agent", "no_checks", "submodules"}));
  EXPECT_EQ(warnings.not_checked, std::vector<std::string>());
}

TEST_F(ProjectWarningsTest, AStationBehindTheProposalIsFound) {  // O8
  look();
  EXPECT_FALSE(codes().contains("create_pr_not_last"));
  StationDefinition deploy;
  deploy.name = "deploy";
  project.pipeline.stations.push_back(deploy);
  look();
  EXPECT_TRUE(codes().contains("create_pr_not_last"));
}

TEST_F(ProjectWarningsTest, AnAgentsWorkThatNothingChecksIsFound) {  // O8
  const auto station = [](const std::string& name, ExecutorKind executor) {
    StationDefinition made;
    made.name = name;
    made.executor = executor;
    return made;
  };
  const auto is_found = [&](const std::vector<StationDefinition>& middle) {
    const PipelineDefinition usual = card_pipeline("");
    project.pipeline.stations = {usual.stations.front()};
    for (const auto& each : middle) project.pipeline.stations.push_back(each);
    project.pipeline.stations.push_back(usual.stations.back());
    look();
    return codes().contains("unchecked");
  };
  const auto agent = station("implement", ExecutorKind::coderunner);
  const auto polish = station("polish", ExecutorKind::coderunner);
  const auto deep = station("implement", ExecutorKind::deep_work);
  const auto command = station("test", ExecutorKind::process);
  const auto person = station("look", ExecutorKind::approval);
  const auto checks = station("checks", ExecutorKind::checks);
  EXPECT_TRUE(is_found({agent}));
  EXPECT_TRUE(is_found({deep}));
  EXPECT_TRUE(is_found({command, agent})) << "it ran before";
  EXPECT_TRUE(is_found({agent, command, polish})) << "of what the second agent does";
  EXPECT_FALSE(is_found({agent, command}));
  EXPECT_FALSE(is_found({agent, person}));
  EXPECT_FALSE(is_found({agent, checks}));
  EXPECT_FALSE(is_found({checks, agent})) << "its merge runs them";
  EXPECT_FALSE(is_found({agent, station("review", ExecutorKind::worker)}));
  EXPECT_FALSE(is_found({agent, station("verify", ExecutorKind::coderunner)}));
  EXPECT_FALSE(is_found({command})) << "nobody knows what that does";
  EXPECT_FALSE(is_found({}));
  project.pipeline.stations = {agent};
  look();
  EXPECT_FALSE(codes().contains("unchecked")) << "no card of it is merged";
}

TEST_F(ProjectWarningsTest, AnAgentThatIsNotInstalledIsFound) {  // O8
  set_identity(project.repository);
  const std::string before = std::getenv("PATH");
  // Only git is in this one.
  const std::filesystem::path programs = root.path() / "programs";
  std::filesystem::create_directory(programs);
  write_text(programs / "git", "#!/bin/sh\nPATH='" + before + "' exec git \"$@\"\n");
  std::filesystem::permissions(programs / "git", std::filesystem::perms::owner_all);
  ::setenv("PATH", programs.c_str(), 1);
  warnings = project_warnings(project, CoderunnerMode::process, root.path());
  const std::set<std::string> without = codes();
  const std::vector<std::string> not_checked = warnings.not_checked;
  for (const char* agent : {"claude", "codex"}) {
    write_text(programs / agent, "#!/bin/sh\n");
    std::filesystem::permissions(programs / agent, std::filesystem::perms::owner_all);
  }
  warnings = project_warnings(project, CoderunnerMode::process, root.path());
  ::setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(without, (std::set<std::string>{"no_remote", "no_agent", "no_checks"}));
  EXPECT_EQ(not_checked, std::vector<std::string>());
  EXPECT_EQ(codes(), (std::set<std::string>{"no_remote", "no_checks"}));
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
