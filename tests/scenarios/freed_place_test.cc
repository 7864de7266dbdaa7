// A card whose work is done and can't be proposed gives its place to the next card at once, from
// outside: real git, and a heartbeat that ticks only for a reason.
#include <gtest/gtest.h>

#include "tests/scenarios/repository_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

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
    fs::create_directories(server_.data());
    write_text(server_.data() / "signalbox.toml",
               "[board]\nheartbeat = \"366d\"\nsynthesizer = \"366d\"\nprune = \"366d\"\n");
    server_.start();
    make_repository_and_remote({{"file.txt", "one\n"}});
    std::string stations = pipeline_without_remote;
    const std::string placeholder = "SCRATCH";
    for (std::size_t at = stations.find(placeholder); at != std::string::npos;
         at = stations.find(placeholder)) {
      stations.replace(at, placeholder.size(), scratch_.path().string());
    }
    put_project(stations);
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
