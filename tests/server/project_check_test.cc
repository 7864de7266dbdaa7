// What `project.check` says of a project's HEARTBEAT.md, beside what its cards will miss.
#include "server/project_check.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "server/executors/process/project_warnings.h"
#include "tests/fixtures/git_repository.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class ProjectCheckTest : public ::testing::Test {
 protected:
  ProjectCheckTest() {
    project.name = "web";
    project.base = "main";
    project.pipeline = card_pipeline("");
  }
  // Returns the warnings whose code begins with "policy_", each as "code: text, command".
  std::vector<std::string> policy_warnings(const std::filesystem::path& repository) {
    project.repository = repository.string();
    const json::object checked = project_check(CoderunnerMode::mock, root.path())(project);
    unchecked = json::serialize(checked.at("not_checked"));
    std::vector<std::string> found;
    for (const json::value& each : checked.at("warnings").as_array()) {
      const std::string code(each.at("code").as_string());
      if (!code.starts_with("policy_")) continue;
      found.push_back(code + ": " + std::string(each.at("text").as_string()) + ", " +
                      std::string(each.at("next_commands").at(0).as_string()));
    }
    return found;
  }

  TemporaryDirectory root;
  Project project;
  std::string unchecked;
};

TEST_F(ProjectCheckTest, NamesTheLinesThatAreNotInForce) {  // H3 P7
  const auto repository =
      make_repository(root.path() / "web",
                      {{"HEARTBEAT.md", "# Constraints\nmax_attempts: 9\n- maxAttempts: 4\n"}});
  const std::string file = (repository / "HEARTBEAT.md").string();
  const auto ignored = policy_warnings(repository);
  ASSERT_EQ(ignored.size(), 1U);
  EXPECT_TRUE(ignored[0].starts_with(
      "policy_ignored: HEARTBEAT.md, line 2: \"max_attempts: 9\" isn't in force"))
      << ignored[0];
  EXPECT_TRUE(ignored[0].ends_with(", sed -n 2p " + file)) << ignored[0];
  EXPECT_EQ(unchecked, "[]");

  write_text(file, "# Constraints\n- maxAttempts: few\n");
  const auto refused = policy_warnings(repository);
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_TRUE(refused[0].starts_with("policy_refused: HEARTBEAT.md, line 2: maxAttempts: "))
      << refused[0];

  write_text(file, "# Constraints\n- maxAttempts: 4\n");
  EXPECT_TRUE(policy_warnings(repository).empty());
}

TEST_F(ProjectCheckTest, SaysThatTheFileCouldNotBeRead) {  // O8
  EXPECT_TRUE(policy_warnings(root.path() / "gone").empty());
  EXPECT_NE(unchecked.find("\"policy\""), std::string::npos) << unchecked;
}

}  // namespace
}  // namespace signalbox
