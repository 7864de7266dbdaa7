// A server of a cell beside a disk of a run root that hangs (BEHAVIOURS, G6 and chapter K).
#include <filesystem>
#include <string>

#include "tests/crash/hanging_disk.h"
#include "tests/crash/raw_connection.h"
#include "tests/crash/small_disk.h"
#include "tests/fixtures/needed_ability.h"
#include "tests/scenarios/cell_fixture.h"

namespace signalbox {
namespace {

// It can't stand by again beside threads that hang, and systemd starts only what has failed anew.
TEST_F(CellTest, AServerThatLostTheCellBesideADiskThatHangsEndsWith74) {  // G6
  if (const std::string why = test::enter_own_mounts(); !why.empty()) SIGNALBOX_CANNOT_RUN(why);
  start_both();
  const std::filesystem::path root = scratch_.path() / "hung";
  const auto held =
      a_.rpc("lock.acquire", {{"key", "k"}, {"owner", "o"}, {"run_root", root.string()}});
  ASSERT_TRUE(held.contains("token"));
  test::HangingDisk disk;
  if (const std::string why = disk.mount(root); !why.empty()) SIGNALBOX_CANNOT_RUN(why);
  test::RawConnection pending(static_cast<std::uint16_t>(std::stoi(a_.address().substr(16))));
  ASSERT_TRUE(pending.connected());
  ASSERT_TRUE(pending.send(
      R"({"jsonrpc":"2.0","id":1,"method":"lock.release","params":{"key":"k","token":)" +
      boost::json::serialize(held.at("token")) + "}}\n"));
  EXPECT_TRUE(eventually([&] {
    return a_.server().messages().find(root.string() + " didn't answer within") !=
           std::string::npos;
  })) << a_.server().messages();
  a_.pause();
  await_role(b_, "active");
  a_.go_on();
  EXPECT_TRUE(eventually([&] { return !a_.server().running(); })) << a_.server().messages();
  EXPECT_EQ(a_.server().stop(), 74) << a_.server().messages();  // how it has ended
  EXPECT_TRUE(a_.server().logs("no longer the writer of the cell main")) << a_.server().messages();
  EXPECT_TRUE(a_.server().logs("still hangs at the stop: run root " + root.string()))
      << a_.server().messages();
}

}  // namespace
}  // namespace signalbox
