// A server of a cell that starts and can't reach its database.
#include <gtest/gtest.h>

#include "tests/eventually.h"
#include "tests/fixtures/connected_socket.h"
#include "tests/fixtures/file_content.h"
#include "tests/scenarios/real_server.h"

namespace signalbox {
namespace {

TEST(CellStart, IsEndedBySigtermWhileItWaitsForItsDatabase) {
  RealServer server;
  std::filesystem::create_directories(server.data());
  std::filesystem::permissions(server.data(), std::filesystem::perms::owner_all);
  write_text(server.data() / "signalbox.toml",
             "listen = \"127.0.0.1:0\"\n\n[cell]\nname = \"main\"\nserver = \"a\"\naddress = "
             "\"tcp://127.0.0.1:1\"\n"
             "engine = \"postgresql://signalbox@127.0.0.1:" +
                 std::to_string(test::unused_port()) + "/signalbox\"\n");
  server.launch();
  ASSERT_TRUE(server.logs("waiting for the log of the cell main")) << server.messages();
  EXPECT_EQ(server.stop(), 0) << server.messages();
  EXPECT_TRUE(server.logs("stopping: signal Terminated")) << server.messages();
  EXPECT_TRUE(server.logs("stopped")) << server.messages();
}

}  // namespace
}  // namespace signalbox
