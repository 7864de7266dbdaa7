// Questions about the output of a job at a runner wait for their runner, and for no longer.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/limits.h"
#include "server/rpc/runner_outputs.h"

namespace signalbox {
namespace {

TEST(RunnerOutputs, WaitForTheirJobsRunnerOrTheirDeadline) {  // N4, O2
  RunnerOutputs outputs;
  std::vector<std::string> ended;
  const auto note = [&ended](const std::string& name) {
    return [&ended, name](bool sent) { ended.push_back(name + (sent ? " sent" : " late")); };
  };
  constexpr std::int64_t deadline_ns = limits::runner_output_ms_max;
  outputs.wait("a", deadline_ns, note("a1"));
  outputs.wait("a", deadline_ns + 1, note("a2"));
  outputs.wait("b", deadline_ns + 1, note("b"));
  outputs.note_sent("c");
  outputs.sweep(deadline_ns - 1);
  EXPECT_TRUE(ended.empty());
  outputs.sweep(deadline_ns);
  EXPECT_EQ(ended, std::vector<std::string>{"a1 late"});
  outputs.note_sent("a");
  outputs.note_sent("a");
  EXPECT_EQ(ended, (std::vector<std::string>{"a1 late", "a2 sent"}));
  outputs.stop();
  outputs.wait("d", deadline_ns, note("d"));
  EXPECT_EQ(ended, (std::vector<std::string>{"a1 late", "a2 sent", "b late", "d late"}));
}

}  // namespace
}  // namespace signalbox
