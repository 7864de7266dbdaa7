// Checkpoints and tiles over HTTP, from the real server: they are those of an export, and what was
// signed before is the older checkpoint of what is exported later.
#include <map>
#include <sstream>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "tests/scenarios/audit_fixture.h"
#include "tests/scenarios/http_client.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class AuditHttp : public AuditTest {
 protected:
  HttpClient client() const { return HttpClient(server_.socket()); }
  // Starts the server again with this setting.
  void restart_with(const std::string& settings) {
    EXPECT_EQ(server_.stop(), 0);
    write_text(server_.data() / "signalbox.toml", settings);
    server_.start();
  }
  // Returns the bytes of each tile of an export, by its path.
  [[nodiscard]] std::map<std::string, std::string> tiles_of(const std::string& directory) const {
    std::map<std::string, std::string> tiles;
    for (const auto& each : fs::recursive_directory_iterator(fs::path(at(directory)) / "tile")) {
      if (!each.is_regular_file()) continue;
      tiles[each.path().lexically_relative(at(directory)).string()] = content_of(each.path());
    }
    return tiles;
  }
};

TEST_F(AuditHttp, TilesAreThoseOfAnExport) {  // C4
  append_events(300);
  restart_with("audit_key = \"" + at("audit.key") + "\"\n");
  const HttpReply signed_now = client().get("/audit/checkpoint");
  ASSERT_EQ(signed_now.status, 200U) << signed_now.body();
  EXPECT_EQ(signed_now.header("Cache-Control"), "no-store");
  write_text(at("then.checkpoint"), signed_now.body());
  append_events(20);
  ASSERT_EQ(client().get("/audit/checkpoint").status, 200U);
  ASSERT_EQ(export_to("export").exit_code, 0);
  expect_verified(at("export"), {"--old-checkpoint", at("then.checkpoint")});
  ASSERT_EQ(export_to("tiles", {"--format", "tlog"}).exit_code, 0);
  const auto tiles = tiles_of("tiles");
  EXPECT_GE(tiles.size(), 5U);
  // The export may have records that are newer than the latest checkpoint.
  ASSERT_EQ(client().get("/audit/checkpoint").status, 200U);
  for (const auto& [path, bytes] : tiles) {
    const HttpReply tile = client().get("/audit/" + path);
    EXPECT_EQ(tile.status, 200U) << path << tile.body();
    EXPECT_TRUE(tile.body() == bytes) << path;
    EXPECT_NE(tile.header("Cache-Control").find("immutable"), std::string::npos);
  }
  EXPECT_EQ(client().get("/audit/tile/0/009").code(), "POSITION_NOT_FOUND");
  EXPECT_EQ(client().get("/audit/tile/entries/x001/000.p/7").code(), "POSITION_NOT_FOUND");
  for (const char* wrong : {"0/0", "0/x000/001", "8/000", "entries/000.p/256", "0/000.p/0"}) {
    EXPECT_EQ(client().get(std::string("/audit/tile/") + wrong).code(), "INVALID_PARAMS") << wrong;
  }
}

TEST_F(AuditHttp, RecordsAreThoseOfAnExport) {  // C4
  restart_with("audit_key = \"" + at("audit.key") + "\"\n");
  append_events(20);
  ASSERT_EQ(export_to("export").exit_code, 0);
  std::map<std::string, json::value> exported;
  for (const auto& each : fs::recursive_directory_iterator(at("export"))) {
    if (each.path().extension() != ".jsonl") continue;
    std::istringstream lines(content_of(each.path()));
    for (std::string line; std::getline(lines, line);) {
      json::value record = json::parse(line);
      exported[std::string(record.at("position").as_string())] = std::move(record);
    }
  }
  ASSERT_GE(exported.size(), 20U);
  std::size_t seen = 0;
  std::string from = "1";
  for (bool more = true; more;) {
    const HttpReply reply = client().get("/v1/audit/records?limit=7&from=" + from);
    ASSERT_EQ(reply.status, 200U) << reply.body();
    const json::object page = reply.json();
    EXPECT_LE(page.at("records").as_array().size(), 7U);
    for (const json::value& record : page.at("records").as_array()) {
      const auto known = exported.find(std::string(record.at("position").as_string()));
      if (known == exported.end()) continue;  // newer than the export
      EXPECT_EQ(record, known->second);
      ++seen;
    }
    from = json::serialize(page.at("next_from"));
    more = page.at("more").as_bool();
  }
  EXPECT_EQ(seen, exported.size());
  EXPECT_EQ(client().get("/v1/audit/records?limit=0").code(), "INVALID_PARAMS");
  EXPECT_EQ(client().get("/v1/audit/records?limit=1001").code(), "INVALID_PARAMS");
  EXPECT_EQ(client().get("/v1/audit/records?limit=1000").status, 200U);
}

TEST_F(AuditHttp, ACheckpointIsOfTheWholeLogAndOfTheKeyOfTheFile) {  // C4
  restart_with("audit_key = \"" + at("audit.key") + "\"\n");
  const auto first = result({"rpc", "audit.checkpoint"});
  EXPECT_EQ(text(first, "verifier_key"), verifier_key_);
  start_run("one more");
  const auto second = result({"rpc", "audit.checkpoint"});
  EXPECT_GT(second.at("size").as_int64(), first.at("size").as_int64());
  EXPECT_NE(second.at("root"), first.at("root"));
  // Another key in the file signs from then on: no restart, and nothing of the old one is kept.
  const std::string next = make_key("next.key");
  fs::rename(at("next.key"), at("audit.key"));
  EXPECT_EQ(text(result({"rpc", "audit.checkpoint"}), "verifier_key"), next);
  fs::remove(at("audit.key"));
  const Output gone = server_.cli({"rpc", "audit.checkpoint", "--json"});
  EXPECT_EQ(code_of(gone), "NOT_ALLOWED") << gone.out;
  EXPECT_EQ(gone.out.find(at("audit.key")), std::string::npos) << gone.out;
}

TEST_F(AuditHttp, WithoutAKeyNothingIsSigned) {  // C4
  const HttpReply refused = client().get("/audit/checkpoint");
  EXPECT_EQ(refused.status, 403U);
  EXPECT_EQ(refused.code(), "NOT_ALLOWED");
  EXPECT_EQ(refused.json().at("details").at("setting").as_string(), "audit_key");
}

}  // namespace
}  // namespace signalbox
