// Servers of a cell whose database lost what it had acknowledged (BEHAVIOURS, chapter K).
#include <string>

#include "tests/scenarios/cell_fixture.h"

namespace signalbox {
namespace {

TEST_F(CellTest, ADatabaseThatLostRecordsIsRepairedFromAReplica) {  // K5
  start_both();
  const std::string run_id = start_run("g", "one");
  const auto position = a_.rpc("cell.get").at("position").to_number<std::uint64_t>();
  await_position(b_, position);
  EXPECT_EQ(b_.server().stop(), 0);
  (void)start_run("only at a", "two");
  EXPECT_EQ(a_.server().stop(), 0);
  const std::string bytes =
      "select encode(sha256(string_agg(bytes, '' order by prev)), 'hex') from sb_entry";
  const std::string before = nodes_.query(bytes);
  // As if an old backup had been restored.
  (void)nodes_.query("delete from sb_entry where prev > 1");
  for (CellPeer* peer : {&a_, &b_}) {
    peer->server().launch();
    EXPECT_TRUE(eventually([&] { return !peer->server().running(); }));
    EXPECT_EQ(peer->server().stop(), 78);  // how it has ended
    EXPECT_TRUE(peer->server().logs("lost acknowledged records")) << peer->server().messages();
  }
  // From the one that has less, and then from the one that has all; and once more, of nothing.
  for (CellPeer* peer : {&b_, &a_, &a_}) {
    const Output repaired = peer->server().cli({"cell", "repair", "--json"});
    EXPECT_EQ(repaired.exit_code, 0) << repaired.out << repaired.err;
  }
  // The same bytes, whatever links they are in now; and both serve again.
  EXPECT_EQ(nodes_.query(bytes), before);
  a_.server().start();
  await_role(a_, "active");
  b_.server().start();
  await_role(b_, "standby");
  EXPECT_EQ(status_of(run_id), "queued");
  EXPECT_EQ(result({"run", "list"}).at("runs").as_array().size(), 2U);
  // Not from one that has gone another way. The last one to stop has everything.
  EXPECT_EQ(b_.server().stop(), 0);
  EXPECT_EQ(a_.server().stop(), 0);
  (void)nodes_.query(
      "update sb_entry set head = overlay(head placing '\\x00'::bytea from "
      "octet_length(head)) where prev = (select max(prev) from sb_entry)");
  const Output other = a_.server().cli({"cell", "repair"});
  EXPECT_EQ(other.exit_code, 78) << other.out << other.err;
  EXPECT_NE(other.err.find("differ"), std::string::npos) << other.err;
}

// Nobody asks for anything that an append would come of.
TEST_F(CellTest, ADatabaseThatLosesRecordsIsFoundByAWriterThatIsIdle) {  // K5
  start_both();
  const std::string run_id = start_run("g", "one");
  await_position(b_, position_of(a_));
  (void)nodes_.query("delete from sb_entry where prev > 1");
  EXPECT_TRUE(eventually([&] { return a_.role() != "active"; })) << a_.server().messages();
  EXPECT_TRUE(a_.server().logs(
      "no longer the writer of the cell main: the database lost acknowledged records"))
      << a_.server().messages();
  for (CellPeer* peer : {&a_, &b_}) {
    EXPECT_TRUE(eventually([&] { return !peer->server().running(); }));
    EXPECT_EQ(peer->server().stop(), 78);  // how it has ended
    EXPECT_TRUE(peer->server().logs("`signalbox cell repair` puts back what it lost"))
        << peer->server().messages();
  }
  EXPECT_EQ(a_.server().cli({"cell", "repair"}).exit_code, 0);
  a_.server().start();
  await_role(a_, "active");
  b_.server().start();
  await_role(b_, "standby");
  EXPECT_EQ(status_of(run_id), "queued");
}

}  // namespace
}  // namespace signalbox
