// Tests what a client is answered about a run root that it may not name.
#include <gtest/gtest.h>

#include "server/followers/run_root/run_root_place.h"

namespace signalbox {
namespace {

TEST(RunRootRule, ARefusalSaysWhetherAnyIsAllowed) {  // G1
  const auto refused = [](const std::vector<std::filesystem::path>& roots) {
    const RunRootRule rule("/srv/data", roots);
    const Decided<void> checked = check_run_root(rule, "/srv/elsewhere", Role::worker);
    EXPECT_FALSE(checked);
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(refused({"/srv/roots"}),
            "worker may not name this run_root: it is below none of those that the server allows");
  EXPECT_EQ(refused({}),
            "worker may not name this run_root: the server allows none, except for admin");
}

}  // namespace
}  // namespace signalbox
