// What a server says of its cell is what the OpenRPC document says of it: the answers of a cell are
// in no transcript.
#include "server/cell/cell_view.h"

#include <gtest/gtest.h>

#include "tests/scenarios/described_call.h"

namespace signalbox {
namespace {

namespace json = boost::json;

TEST(CellViewTest, HasNothingThatIsNotDescribed) {  // M4
  CellView view;
  view.cell = "main";
  view.server = {"a", "tcp://127.0.0.1:7070"};
  view.holder = {"b", "tcp://127.0.0.1:7071"};
  view.append_waiting_since_ns = view.current_ns = view.servers_at_ns = 1;
  view.log_begin = 1;
  view.redactions_due = {7};
  view.servers.emplace_back().role = "standby";
  json::object cell = to_json(view);
  cell["position"] = 1;
  openrpc::expect_described("cell.get", {{"result", cell}});
  for (const char* part : {"position", "servers", "servers_at", "servers_trouble"}) {
    cell.erase(part);
  }
  openapi::Complaints complaints;
  openapi::check_value(cell,
                       openrpc::find_method("server.status")
                           ->at("result")
                           .at("schema")
                           .at("properties")
                           .at("cell")
                           .as_object(),
                       "cell", complaints, openrpc::document());
  EXPECT_EQ(complaints, openapi::Complaints{});
}

}  // namespace
}  // namespace signalbox
