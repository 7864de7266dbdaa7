// Tests the bound of the queue of workers that wait for a step.
#include "server/rpc/step_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class StepQueueTest : public ::testing::Test, protected RpcSite {
 protected:
  // Returns the connection of a worker who asks for a step of any run, of which there is none.
  std::shared_ptr<ListeningPeer> asked(const std::string& wait_ms,
                                       const std::string& actor = "uid:1") {
    return send_from("step.next", R"({"worker":"w","wait_ms":)" + wait_ms + "}", actor);
  }
};

TEST_F(StepQueueTest, SoManyWaitAndNoMore) {  // P8
  std::vector<std::shared_ptr<ListeningPeer>> waiting;
  for (std::size_t count = 0; count < waiting_of_sender_max; ++count) {
    waiting.push_back(asked("60000"));
  }
  EXPECT_EQ(code_of(asked("60000")->next()), "OVERLOADED") << "it has its share";
  for (std::size_t count = waiting_of_sender_max; count < waiting_step_workers_max; ++count) {
    waiting.push_back(asked("60000", "uid:2"));
  }
  EXPECT_TRUE(waiting.back()->lines.empty());
  EXPECT_EQ(code_of(asked("60000", "uid:3")->next()), "OVERLOADED");
  EXPECT_EQ(code_of(asked("0")->next()), "") << "who doesn't wait needs no place";
  steps.refuse_all({ErrorCode::SHUTTING_DOWN, "the end", {}, {}});
  EXPECT_EQ(code_of(waiting.back()->next()), "SHUTTING_DOWN");
  EXPECT_TRUE(asked("60000")->lines.empty());
}

}  // namespace
}  // namespace signalbox
