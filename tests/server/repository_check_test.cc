// Which repositories a project isn't given, and whether what a refusal advises helps.
#include "server/board/repository_check.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <optional>
#include <string>

#include "tests/fixtures/git_repository.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

class RepositoryCheckTest : public ::testing::Test {
 protected:
  RepositoryCheckTest() {
    ::setenv("GIT_CONFIG_GLOBAL", (root_.path() / "gitconfig").c_str(), 1);
    command_.name = "web";
    command_.base = "main";
  }
  ~RepositoryCheckTest() override {
    ::unsetenv("GIT_CONFIG_GLOBAL");
    ::unsetenv("GIT_TEST_ASSUME_DIFFERENT_OWNER");
  }
  // Returns what the refusal advises; nothing if the repository is taken.
  std::optional<std::string> advice_for(const std::filesystem::path& repository) {
    command_.repository = repository.string();
    const auto checked = check_repository(command_);
    if (checked) return std::nullopt;
    EXPECT_EQ(checked.error().code, ErrorCode::INVALID_PARAMS);
    EXPECT_EQ(checked.error().next_commands.size(), 1U) << checked.error().message;
    return checked.error().next_commands.front();
  }

  TemporaryDirectory root_;

 private:
  PutProject command_;
};

TEST_F(RepositoryCheckTest, OneOfAnotherUserIsPermittedWithTheAdvice) {  // O6
  const auto repository = make_repository(root_.path() / "web");
  ::setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1", 1);
  const auto advice = advice_for(repository);
  ASSERT_TRUE(advice);
  EXPECT_TRUE(advice->starts_with("git config --global --add safe.directory ")) << *advice;
  ASSERT_EQ(::system(advice->c_str()), 0);
  EXPECT_EQ(advice_for(repository), std::nullopt);
}

TEST_F(RepositoryCheckTest, ABareOneThatTheConfigurationExcludesIsPermittedWithTheAdvice) {  // O6
  const auto repository = make_repository(root_.path() / "web");
  const std::filesystem::path bare = root_.path() / "web.git";
  const std::string clone = "git clone --quiet --bare " + repository.string() + " " + bare.string();
  ASSERT_EQ(::system(clone.c_str()), 0);
  ASSERT_EQ(::system("git config --global safe.bareRepository explicit"), 0);
  const auto advice = advice_for(bare);
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->find("git init"), std::string::npos) << *advice;
  ASSERT_EQ(::system(advice->c_str()), 0);
  EXPECT_EQ(advice_for(bare), std::nullopt);
}

}  // namespace
}  // namespace signalbox
