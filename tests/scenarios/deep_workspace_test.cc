// An agent that makes directories in its workspace which are thousands of levels deep. The server
// removes the workspace itself: that must take no more descriptors than it has, since everybody who
// connects needs one.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <iterator>

#include "tests/scenarios/repository_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr rlim_t descriptors_max = 256;

// Its directories are ignored, so that no commit has to hold them.
constexpr const char* agent = R"py(
import os
open('work.txt', 'w').write('work')
os.mkdir('ign'); os.chdir('ign')
for level in range(2000): os.mkdir('d'); os.chdir('d')
)py";

constexpr const char* deep_pipeline = R"(
name = "card"
[[station]]
name = "intake"
executor = "builtin"
[[station]]
name = "implement"
executor = "process"
command = ["python3", "SCRATCH/agent.py"]
retry = { max_retries = 0 }
)";

class DeepWorkspace : public CardTestOfRepository {
 protected:
  void SetUp() override { serve_board("1s", "366d"); }
  [[nodiscard]] std::size_t open_descriptors() const {
    const fs::path all = "/proc/" + std::to_string(server_.pid()) + "/fd";
    std::error_code error;
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(all, error), fs::directory_iterator()));
  }
};

TEST_F(DeepWorkspace, ItsRemovalLeavesTheServerItsDescriptors) {  // G5 P8 P11 H6
  make_repository_and_remote({{"file.txt", "one\n"}, {".gitignore", "ign\n"}});
  write_text(scratch_.path() / "agent.py", agent);
  put_project(deep_pipeline);
  const rlimit few{descriptors_max, descriptors_max};
  ASSERT_EQ(::prlimit(server_.pid(), RLIMIT_NOFILE, &few, nullptr), 0);
  const std::string id = submit("go deep");
  std::size_t most = 0;
  // Each look needs a descriptor of the server.
  await([&] {
    most = std::max(most, open_descriptors());
    return count_of("WorktreeRemoved") + count_of("WorktreeLeft") == 1;
  });
  EXPECT_EQ(count_of("WorktreeLeft"), 0U) << boost::json::serialize(all_events("WorktreeLeft"));
  EXPECT_LT(most, descriptors_max);
  const fs::path workspace = workspace_of_run(text(card(id), "run_id"));
  EXPECT_FALSE(fs::exists(workspace));
  EXPECT_FALSE(fs::exists(workspace.string() + ".removing"));
}

}  // namespace
}  // namespace signalbox
