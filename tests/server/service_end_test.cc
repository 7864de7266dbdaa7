// The end of the service after a failure is bounded, whatever hangs, and threads that come back
// late find what they use.
#include <gtest/gtest.h>

#include <unistd.h>

#include <future>
#include <memory>
#include <utility>

#include "server/engine/committer.h"
#include "server/platform/stop_deadline.h"
#include "store/memory_event_log.h"

namespace signalbox {
namespace {

// A retention whose disk hung comes back when the commit thread has ended already.
TEST(CommitThread, DropsAStepThatComesAfterItsEnd) {  // G6
  MemoryEventLog log;
  CommitThread thread(log, [](CommitOutcome) {});
  thread.stop();
  auto step = std::make_shared<std::promise<void>>();
  std::future<void> done = step->get_future();
  thread.run_between([kept = std::move(step)] { kept->set_value(); });
  EXPECT_THROW(done.get(), std::future_error) << "nobody waits for it";
  thread.stop();
}

[[noreturn]] void fail_and_hang() {
  StopDeadline deadline(/*stop_ms=*/1, /*exit_code=*/74, [] {});
  deadline.begin(78);
  deadline.begin(74);  // what follows from the first failure
  for (;;) ::pause();
}

TEST(StopDeadline, EndsAProcessThatHangsAfterAFailure) {  // G6
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(fail_and_hang(), testing::ExitedWithCode(78), "");
}

}  // namespace
}  // namespace signalbox
