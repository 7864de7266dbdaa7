// Tests the list of the repositories in which ended runs have worked.
#include "server/retention/run_repositories.h"

#include <gtest/gtest.h>

#include "server/scheduler/file_retention.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

class RunRepositoriesTest : public ::testing::Test {
 protected:
  // Returns what another process finds.
  [[nodiscard]] std::set<std::string> stored() const {
    RunRepositories other(scratch.path());
    EXPECT_TRUE(other.load());
    return other.paths();
  }

  TemporaryDirectory scratch;
  RunRepositories repositories{scratch.path()};
};

TEST_F(RunRepositoriesTest, WhatWasRemovedIsGoneAfterAStart) {  // A15
  ASSERT_TRUE(repositories.load());
  repositories.add("/repositories/a");
  repositories.add("/repositories/b");
  ASSERT_TRUE(repositories.save());
  EXPECT_EQ(stored(), (std::set<std::string>{"/repositories/a", "/repositories/b"}));
  repositories.remove("/repositories/a");
  repositories.remove("/repositories/unknown");
  ASSERT_TRUE(repositories.save());
  EXPECT_EQ(stored(), std::set<std::string>{"/repositories/b"});
}

// Nothing else says where the runs worked that the log has dropped.
TEST_F(RunRepositoriesTest, WhatCantBeReadIsNoEmptyList) {  // A15
  ASSERT_TRUE(repositories.load());
  repositories.add("/repositories/a");
  ASSERT_TRUE(repositories.save());
  const std::string whole = content_of(repositories.file());
  RunRepositories other(scratch.path());
  write_text(repositories.file(), whole.substr(0, whole.size() / 2));
  const auto damaged = other.load();
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().kind, StoreError::Kind::damaged);
  EXPECT_NE(damaged.error().message.find(repositories.file().string()), std::string::npos);
  std::filesystem::remove(repositories.file());
  std::filesystem::create_directory(repositories.file());
  EXPECT_FALSE(other.load());
  std::filesystem::remove(repositories.file());
  write_text(repositories.file(), whole);
  ASSERT_TRUE(other.load()) << "it is read again";
  EXPECT_EQ(other.paths(), std::set<std::string>{"/repositories/a"});
}

TEST_F(RunRepositoriesTest, ItSaysWhenItIsFull) {  // A15
  ASSERT_TRUE(repositories.load());
  const auto path_of = [](std::size_t number) {
    return "/repositories/" + std::string(1000, 'x') + std::to_string(1000 + number);
  };
  const std::size_t fits = limits::run_repositories_bytes_max / path_of(0).size();
  for (std::size_t number = 0; number <= fits; ++number) {
    EXPECT_FALSE(repositories.is_full());
    repositories.add(path_of(number));
  }
  EXPECT_TRUE(repositories.is_full());
  ASSERT_TRUE(repositories.save());
  EXPECT_EQ(stored().size(), repositories.paths().size() - 1);
  repositories.remove(path_of(0));
  EXPECT_FALSE(repositories.is_full());
}

}  // namespace
}  // namespace signalbox
