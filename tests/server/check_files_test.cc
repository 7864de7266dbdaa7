// Tests which changed files count as those that decide about checks.
#include "server/executors/check_files.h"

#include <gtest/gtest.h>

#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

using Files = std::vector<std::string>;

Files among(const std::vector<ChangedFile>& changed, const std::vector<std::string>& command = {}) {
  return check_files_among(changed, files_named_by(command));
}

TEST(CheckFiles, InstructionsPolicyAndContinuousIntegrationCountEverywhere) {  // A7
  EXPECT_EQ(among({{"AGENTS.md"},
                   {"web/CLAUDE.md"},
                   {".signalbox.toml"},
                   {"HEARTBEAT.md"},
                   {".github/workflows/ci.yml"},
                   {".gitlab-ci.yml"},
                   {"Jenkinsfile"},
                   {"src/main.cc"},
                   {"docs/AGENTS.md.txt"},
                   {"web/.gitlab-ci.yml"},
                   {".github/ISSUE_TEMPLATE.md"}}),
            (Files{".github/workflows/ci.yml", ".gitlab-ci.yml", ".signalbox.toml", "AGENTS.md",
                   "HEARTBEAT.md", "Jenkinsfile", "web/CLAUDE.md"}));
}

TEST(CheckFiles, ScriptsAreFoundHoweverACommandNamesThem) {  // A7
  const ChangedFile script{"tools/check"};
  for (const Files& command :
       {Files{"tools/check"}, Files{"./tools/check", "--all"},
        Files{"sh", "-c", "cd tools;./check"}, Files{"sh", "-c", "\"$PWD\"/tools/check && echo ok"},
        Files{"sh", "-c", "x=`tools/check`"},
        Files{"sh", "-c", "bash lib/../tools/check|tee out"}}) {
    EXPECT_EQ(among({script}, command), Files{"tools/check"}) << command.back();
  }
  EXPECT_TRUE(among({script}, {"sh", "-c", "tools/checker && ./tool"}).empty());
  EXPECT_TRUE(among({script}, {"true"}).empty());
}

TEST(CheckFiles, FilesOfProgramsCountWhereTheProgramRuns) {  // A7
  EXPECT_EQ(among({{"package.json"}, {"web/package.json"}, {"Makefile"}}, {"npm", "test"}),
            (Files{"package.json", "web/package.json"}));
  EXPECT_EQ(among({{"package.json"}, {"Makefile"}}, {"sh", "-c", "/usr/bin/make check"}),
            Files{"Makefile"});
}

TEST(CheckFiles, DataThatACheckLooksAtIsNoScript) {  // A7
  const Files command{"sh", "-c", "grep -q hello hello.txt && python3 test.py data.json"};
  EXPECT_EQ(among({{"hello.txt"}, {"test.py"}, {"data.json"}}, command), Files{"test.py"});
  EXPECT_EQ(among({{"hello.txt", /*executable=*/true}}, command), Files{"hello.txt"});
  EXPECT_EQ(check_files_among({{"ci/checks.toml"}}, {instructions_name("./ci/checks.toml")}),
            Files{"ci/checks.toml"});
}

TEST(CheckFiles, ARawDiffIsParsedWhateverItsPathsAre) {  // A7
  using namespace std::string_literals;
  const auto files = parse_raw_diff(
      ":100644 100755 11 22 M\0check.sh\0:000000 100644 00 22 A\0a\nb \x1b[2J\0"
      ":100755 000000 11 00 D\0gone\0:100644"s);
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[0].path, "check.sh");
  EXPECT_TRUE(files[0].executable);
  EXPECT_EQ(files[1].path, "a\nb \x1b[2J");
  EXPECT_FALSE(files[1].executable);
  EXPECT_TRUE(files[2].executable) << "it was before the change";
  EXPECT_TRUE(parse_raw_diff("").empty());
}

TEST(CheckFiles, NamesAreShownBoundedAndPrintable) {  // A7
  EXPECT_EQ(shown_check_files({"a"}), "a");
  EXPECT_EQ(shown_check_files({"a", "b"}), "a and b");
  EXPECT_EQ(shown_check_files({"a", "b", "c"}), "a, b and c");
  Files many;
  for (int number = 0; number < 40; ++number) {
    many.push_back("directory\n\x1b/" + std::string(500, 'x') + std::to_string(number));
  }
  EXPECT_EQ(listed_check_files(many).size(), changed_files_shown_max);
  const std::string text = shown_check_files(many);
  EXPECT_TRUE(text.ends_with(" and " + std::to_string(40 - changed_files_shown_max) + " more"));
  EXPECT_LT(text.size(), 1100U);
  EXPECT_EQ(text.find_first_of("\n\x1b"), std::string::npos);
}

TEST(CheckFiles, NamesAreRememberedForTheRun) {  // A7
  const TemporaryDirectory directory;
  EXPECT_TRUE(remembered_named_files(directory.path()).value().empty());
  ASSERT_TRUE(remember_named_files(directory.path(), {"b", "a"}));
  ASSERT_TRUE(remember_named_files(directory.path(), {"c"}));
  EXPECT_EQ(remembered_named_files(directory.path()).value(),
            (std::set<std::string>{"a", "b", "c"}));
}

}  // namespace
}  // namespace signalbox
