// What `audit retain`, and `audit export` after it, report when they can't continue: whose data it
// is, what there is instead, and commands that work.
#include "tests/scenarios/retention_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class RetentionHintsTest : public RetentionTest {
 protected:
  // Runs the first command that the refusal prints.
  void expect_first_command_works(const Output& refused) const {
    const std::string intro = "  try: ";
    const std::size_t at = refused.err.find(intro);
    ASSERT_NE(at, std::string::npos) << refused.err;
    const std::size_t begin = at + intro.size();
    const std::string command = refused.err.substr(begin, refused.err.find('\n', begin) - begin);
    const Output tried = server_.paste(command);
    EXPECT_EQ(tried.exit_code, 0) << command << "\n" << tried.err;
  }
  static void expect_in(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
  // Returns the `NAME+ID` of a verifier key.
  static std::string label_of(const std::string& key) {
    return key.substr(0, key.find('+', key.find('+') + 1));
  }
  // Continues a copy of this log differently, as another machine would.
  void go_on_elsewhere(const fs::path& data, int events) const {
    test::ServerProcess server(data);
    ASSERT_TRUE(server.start()) << server.log();
    auto connection = test::Connection::open(server.socket());
    ASSERT_TRUE(connection);
    for (int each = 0; each < events; ++each) {
      test::result_of(connection->call("run.start", {{"goal", "elsewhere"}}));
    }
    EXPECT_EQ(server.stop().exit_code, 0);
  }
};

TEST_F(RetentionHintsTest, TilesThatAreNotWholeYet) {
  ended_run("a run");
  server_.stop();
  const std::string horizon = std::to_string(number(retained(), "horizon"));
  server_.start();
  const Output refused = export_to("tiles", {"--format", "tlog"});
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
  expect_in(refused.err, "horizon, which is at " + horizon + ", and ");
  expect_in(refused.err, "the first begins at 257");
  expect_first_command_works(refused);
  expect_verified(at("tiles-cloudevents"));
  append_events(256);
  ASSERT_EQ(export_to("tiles", {"--format", "tlog"}).exit_code, 0);
  expect_verified(at("tiles"));
}

TEST_F(RetentionHintsTest, AnExportThatEndsBeforeTheHorizon) {
  ended_run("a run");
  ASSERT_EQ(export_to("old").exit_code, 0);
  ended_run("another run");
  server_.stop();
  const json::object done = retained();
  const std::string first = std::to_string(number(done, "horizon") + 1);
  const Output refused = export_to("old");
  EXPECT_EQ(refused.exit_code, 1) << refused.err;
  expect_in(refused.err, at("old") + " ends at ");
  expect_in(refused.err, "HISTORY_DROPPED");
  expect_in(refused.err, text(done, "archive"));
  expect_first_command_works(refused);
  expect_verified(at("old-" + first), {"--old-checkpoint", text(done, "archive") + "/checkpoint"});
  expect_verified(at("old"));
}

// The export's first records have moved into an archive.
TEST_F(RetentionHintsTest, AnExportThatEndsAtTheHorizonGoesOn) {
  ended_run("a run");
  server_.stop();
  const std::string first_archive = text(retained(), "archive");
  server_.start();
  ended_run("another run");
  server_.stop();
  ASSERT_EQ(export_to("later").exit_code, 0);
  ASSERT_TRUE(retained().at("dropped").as_bool());
  server_.start();
  ended_run("a third run");
  const Output gone_on = export_to("later");
  ASSERT_EQ(gone_on.exit_code, 0) << gone_on.err;
  expect_verified(at("later"), {"--old-checkpoint", first_archive + "/checkpoint"});
}

// The session goes on where it was.
TEST_F(RetentionHintsTest, AStepToADroppedPositionSaysSo) {
  ended_run("a run");
  server_.stop();
  const json::object done = retained();
  server_.start();
  start_run("a later run");
  server_.stop();
  const std::string first = std::to_string(number(done, "horizon") + 1);
  const Output walked = server_.paste(
      "printf 'go " + first + "\\nback\\ngo 1\\ndiff 2\\nnext\\n' | signalbox replay --step");
  ASSERT_EQ(walked.exit_code, 0) << walked.out << walked.err;
  for (const std::string& position :
       {std::to_string(number(done, "horizon")), std::string("1"), std::string("2")}) {
    expect_in(walked.out, "record " + position +
                              " was archived and dropped: the log has everything from " + first +
                              " on; the archive is " + text(done, "archive") + "\n");
  }
  const std::string next = std::to_string(number(done, "horizon") + 2);
  const std::size_t at = walked.out.rfind("the archive is ");
  EXPECT_NE(walked.out.find(" " + next + "  ", at), std::string::npos) << walked.out;
}

// The bundle of entries that the export has begun is of records that the log has no more.
TEST_F(RetentionHintsTest, TilesGoOnWhereverTheHorizonIs) {
  ended_run("a run");
  append_events(290);
  server_.stop();
  ASSERT_EQ(export_to("tiles", {"--format", "tlog"}).exit_code, 0);
  const std::uint64_t horizon = retained().at("horizon").to_number<std::uint64_t>();
  ASSERT_GT(horizon, 256U);
  ASSERT_NE(horizon % 256, 0U);
  fs::copy(at("tiles"), at("damaged"), fs::copy_options::recursive);
  const std::string begun = "tile/entries/001.p/" + std::to_string(horizon % 256);
  fs::resize_file(at("damaged/" + begun), fs::file_size(at("damaged/" + begun)) - 1);
  fs::copy(at("damaged"), at("emptied"), fs::copy_options::recursive);
  fs::resize_file(at("emptied/" + begun), 0);
  server_.start();
  append_events(10);
  ASSERT_EQ(export_to("tiles", {"--format", "tlog"}).exit_code, 0);
  expect_verified(at("tiles"));
  for (const char* each : {"damaged", "emptied"}) {
    const Output refused = export_to(each, {"--format", "tlog"});
    EXPECT_EQ(refused.exit_code, 1) << each;
    expect_in(refused.err, begun);
  }
  append_events(300);
  ASSERT_EQ(export_to("tiles", {"--format", "tlog"}).exit_code, 0);
  expect_verified(at("tiles"));
}

TEST_F(RetentionHintsTest, AnArchiveThatIsntOurs) {
  const std::string other = make_key("other.key", "example.com/other");
  ended_run("a run");
  server_.stop();
  fs::copy(server_.data(), at("elsewhere"), fs::copy_options::recursive);
  server_.start();
  ended_run("here");
  server_.stop();
  const std::string archive = text(retained({"--dry-run"}), "archive");
  const json::object before = replayed();
  const auto refused_for = [&](int exit_code, const std::string& part) {
    const Output refused = retain();
    EXPECT_EQ(refused.exit_code, exit_code) << refused.out;
    expect_in(refused.out, part);
    expect_in(refused.out, archive);
    expect_in(refused.out, "name another directory");
    EXPECT_EQ(replayed().at("position"), before.at("position"));
    EXPECT_EQ(number(replayed(), "folded_after"), 0);
  };

  // An export of this log, with another key.
  const std::string place = "archive/" + fs::path(archive).filename().string();
  ASSERT_EQ(export_to(place, {}, "other.key").exit_code, 0);
  refused_for(2, label_of(other));
  fs::remove_all(archive);

  // An export of another log, with this key.
  go_on_elsewhere(at("elsewhere"), 40);
  const Output exported = run_process(
      {SIGNALBOX_BINARY, "audit", "export", "-o", archive, "--signing-key", at("audit.key"), "--to",
       std::to_string(number(before, "position")), "--data", at("elsewhere")},
      {});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  expect_verified(archive);
  refused_for(78, "isn't an export of this log but of another one of example.com/box");
  fs::remove_all(archive);
  EXPECT_TRUE(retained().at("dropped").as_bool());
}

// A key that the log hasn't adopted signs no archive: verifiers that follow its keys would refuse
// it.
TEST_F(RetentionHintsTest, AKeyThatTheLogDoesntName) {  // G17
  ended_run("a run");
  const std::string next = make_key("next.key");
  const std::string strange = make_key("strange.key", "example.com/other");
  server_.stop();
  const auto refused = [&](const std::string& key, const std::string& verifier_key) {
    const Output output = server_.cli({"audit", "retain", "--older-than", "0s", "--archive",
                                       at("archive"), "--signing-key", at(key), "--json"});
    EXPECT_EQ(output.exit_code, 1) << output.out;
    EXPECT_EQ(code_of(output), "KEY_NOT_ADOPTED");
    expect_in(output.out, "the log hasn't adopted the key " + label_of(verifier_key));
    expect_in(output.out, "signalbox audit adopt '" + verifier_key + "'");
    EXPECT_FALSE(fs::exists(at("archive")));
    return output.out;
  };
  expect_in(refused("next.key", next), "it has adopted " + verifier_key_ + " at position ");
  refused("strange.key", strange);
  server_.start();
  ASSERT_EQ(server_.cli({"audit", "adopt", next}).exit_code, 0);
  server_.stop();
  refused("audit.key", verifier_key_);
  const json::object both = retained({"--signing-key", at("next.key")});
  EXPECT_TRUE(both.at("dropped").as_bool());
  expect_verified(text(both, "archive"));
  server_.start();
  const Output adopted = server_.cli({"audit", "adopt", strange});
  EXPECT_EQ(adopted.exit_code, 2) << adopted.out;
  expect_in(adopted.err, "the log's archives are of example.com/box");
  expect_in(adopted.err, "signalbox audit keygen -o FILE --name example.com/box");
}

}  // namespace
}  // namespace signalbox
