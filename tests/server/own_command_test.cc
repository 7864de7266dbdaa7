// Tests a command of this program in a process of its own: its output, and each of its bounds.
#include "server/platform/own_command.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace signalbox {
namespace {

// What a child process does, by the name that `--gtest_filter` gives it.
TEST(OwnCommandChild, DISABLED_Waits) {
  while (true) ::pause();
}

// Where this program runs a part of its tests, the child would take the same part, in which the one
// that waits may not be: it would end at once.
OwnCommand waiting_command() {
  ::unsetenv("GTEST_TOTAL_SHARDS");
  ::unsetenv("GTEST_SHARD_INDEX");
  return {
      .words = {"--gtest_also_run_disabled_tests", "--gtest_filter=OwnCommandChild.DISABLED_Waits"},
      .ms_max = 60'000};
}

TEST(OwnCommandTest, ReturnsWhatThisProgramPrints) {
  const auto printed = run_own_command(
      {.words = {"--gtest_list_tests", "--gtest_filter=OwnCommandTest.*"}, .ms_max = 60'000});
  ASSERT_TRUE(printed.has_value()) << printed.error().why;
  EXPECT_NE(printed->find("ReturnsWhatThisProgramPrints"), std::string::npos) << *printed;
}

TEST(OwnCommandTest, EndsAtItsTimeItsMemoryAndWhenItIsStopped) {  // G7
  OwnCommand late = waiting_command();
  late.ms_max = 1;
  auto ended = run_own_command(late);
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().kind, OwnCommandFailure::Kind::late);

  OwnCommand large = waiting_command();
  large.memory_bytes_max = 1;
  ended = run_own_command(large);
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().kind, OwnCommandFailure::Kind::memory);

  OwnCommand stopped = waiting_command();
  stopped.is_stopped = [] { return true; };
  stopped.why_stopped = "nobody waits for it";
  ended = run_own_command(stopped);
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().kind, OwnCommandFailure::Kind::stopped);
  EXPECT_EQ(ended.error().why, "nobody waits for it");
}

}  // namespace
}  // namespace signalbox
