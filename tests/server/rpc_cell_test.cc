// `cell.switch`, without a cell: which server is asked to let go.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class RpcCell : public ::testing::Test, protected RpcSite {
 protected:
  RpcCell() {
    view.cell = "main";
    view.server.name = "b";
    ReplicaReport other;
    other.server.name = "a";
    other.role = "standby";
    view.servers = {other};
  }
  // Asks server b, which takes the commands.
  std::string code_of_switch(const std::string& params) {
    cell.handle(request("cell.switch", params), {"uid:1", Role::admin}, peer);
    commit_all();
    return code_of(peer->next());
  }
  CellParts parts() {
    CellParts made;
    made.view = [this] { return view; };
    made.switch_over = [this](const std::string& to) -> Decided<void> {
      switched_to.push_back(to);
      return {};
    };
    return made;
  }

  CellView view;
  std::vector<std::string> switched_to;
  Dispatcher cell{api, cell_methods(parts())};
};

// A client takes the command to whoever is active, and that is another one after the first time.
TEST_F(RpcCell, ASwitchThatIsSaidTwiceIsOne) {  // K4
  EXPECT_EQ(code_of_switch(R"({"from":"a"})"), "NOT_ALLOWED");
  EXPECT_EQ(code_of_switch(R"({"from":"a","to":"a"})"), "NOT_ALLOWED");
  EXPECT_TRUE(switched_to.empty());
  EXPECT_EQ(code_of_switch(R"({"from":"b"})"), "");
  EXPECT_EQ(code_of_switch("{}"), "");
  EXPECT_EQ(switched_to.size(), 2U);
}

}  // namespace
}  // namespace signalbox
