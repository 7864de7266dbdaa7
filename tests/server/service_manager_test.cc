// Tests how a process that a service manager started is stopped for good.
#include "server/platform/service_manager.h"

#include <gtest/gtest.h>

namespace signalbox {
namespace {

TEST(StopCommand, IsThatOfWhoeverWouldStartItAgain) {  // G17
  const char* const of_system = "0::/system.slice/signalbox.service\n";
  EXPECT_EQ(stop_command_of(41, "41", of_system), "systemctl stop signalbox.service");
  EXPECT_EQ(stop_command_of(41, "41", "2:cpu:/\n1:name=systemd:/system.slice/a.service\n"),
            "systemctl stop a.service");
  EXPECT_EQ(stop_command_of(
                41, "41",
                "0::/user.slice/user-1000.slice/user@1000.service/app.slice/signalbox.service\n"),
            "systemctl --user stop signalbox.service");
  EXPECT_EQ(stop_command_of(41, "40", of_system), "kill 41") << "started by a shell in a service";
  EXPECT_EQ(stop_command_of(41, "", of_system), "kill 41");
  for (const char* cgroup : {"", "0::/\n", "0::/user.slice/session-3.scope\n", "nothing"}) {
    EXPECT_EQ(stop_command_of(41, "41", cgroup), "kill 41") << cgroup;
  }
}

}  // namespace
}  // namespace signalbox
