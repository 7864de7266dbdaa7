// `audit retain` drops nothing that isn't in a good archive, which lies elsewhere. With the real
// binary.
#include "tests/scenarios/retention_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// An archive below the data directory would be lost with it, or be deleted by the same command.
TEST_F(RetentionTest, TheArchiveIsElsewhere) {
  ended_run("a run");
  server_.stop();
  for (const std::string& place :
       {server_.data().string(), (server_.data() / "projections" / "read_models").string(),
        (server_.data() / "x" / ".." / "archive").string(), std::string(), std::string("\xff")}) {
    const Output refused = server_.cli({"audit", "retain", "--older-than", "0s", "--archive", place,
                                        "--signing-key", at("audit.key"), "--json"});
    EXPECT_EQ(refused.exit_code, 2) << place << refused.out;
  }
  EXPECT_EQ(number(replayed(), "folded_after"), 0);
}

// If the archive can't be written, or isn't what it should be, nothing is dropped.
TEST_F(RetentionTest, DropsNothingWithoutAGoodArchive) {
  ended_run("a run");
  append_events(100);
  server_.stop();
  const json::object before = replayed();
  const std::string archive = text(retained({"--dry-run"}), "archive");
  const auto untouched = [&] {
    EXPECT_EQ(replayed().at("position"), before.at("position"));
    EXPECT_EQ(replayed().at("state_digest"), before.at("state_digest"));
    EXPECT_EQ(server_.cli({"run", "list", "--at", "3"}).exit_code, 0);
  };

  write_text(at("archive"), "a file where the directory should be");
  EXPECT_NE(retain().exit_code, 0);
  untouched();
  fs::remove(at("archive"));

  // An existing archive that was changed.
  ASSERT_EQ(export_to("archive/" + fs::path(archive).filename().string()).exit_code, 0);
  const std::string lines = archive + "/events-000000000001.jsonl";
  const std::string whole = content_of(lines);
  std::string changed = whole;
  changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
  write_text(lines, changed);
  const Output refused = retain();
  EXPECT_EQ(refused.exit_code, 1) << refused.out;
  EXPECT_NE(refused.out.find("events-000000000001.jsonl"), std::string::npos) << refused.out;
  untouched();
  write_text(lines, whole);
  EXPECT_TRUE(retained().at("dropped").as_bool()) << "a whole one is used as it is";
}

}  // namespace
}  // namespace signalbox
