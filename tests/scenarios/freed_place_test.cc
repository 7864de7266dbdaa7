// A card whose work is done and can't be proposed gives its place to the next card at once, from
// outside: real git, and a heartbeat that ticks only for a reason.
#include <gtest/gtest.h>

#include "tests/scenarios/repository_fixture.h"

namespace signalbox {
namespace {

// The agent takes the remote away once the test lets it, so that the push fails.
constexpr const char* pipeline_without_remote = R"(
name = "card"
[[station]]
name = "intake"
executor = "builtin"
[[station]]
name = "implement"
executor = "process"
command = ["sh", "-c", "while [ ! -e SCRATCH/go ]; do sleep 0.05; done; echo done >done.txt; mv SCRATCH/remote.git SCRATCH/away.git"]
retry = { max_retries = 0 }
[[station]]
name = "create_pr"
executor = "builtin"
)";

class FreedPlace : public CardTestOfRepository {
 protected:
  void SetUp() override {
    serve_board("366d", "366d");
    make_repository_and_remote({{"file.txt", "one\n"}});
    put_project(pipeline_without_remote);
  }
};

TEST_F(FreedPlace, IsTakenWhenFinishedWorkWaitsToBeProposed) {  // A9
  const std::string first = submit("First");
  await_card(first, "running");
  const std::string second = submit("Second");
  EXPECT_EQ(text(card(second), "status"), "backlog");
  write_text(scratch_.path() / "go", "");
  await([&] { return text(card(second), "status") != "backlog"; });
  EXPECT_EQ(text(card(first), "status"), "running") << "its push is tried again";
}

}  // namespace
}  // namespace signalbox
