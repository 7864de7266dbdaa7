// Tests `audit.adopt_key` over the dispatcher: which keys are accepted, and what the log records.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "store/log_tiles.h"
#include "store/rocks_event_log.h"
#include "store/signed_note.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class RpcAudit : public ::testing::Test, protected RpcSite {
 protected:
  boost::json::object adopt(const std::string& verifier_key) {
    return ask("audit.adopt_key",
               boost::json::serialize(boost::json::object{{"verifier_key", verifier_key}}));
  }
};

TEST_F(RpcAudit, AKeyIsAdoptedOnceAndNamesTheOneBefore) {
  const std::string first = NoteSigner::generate("example.com/box").verifier().text();
  const std::string second = NoteSigner::generate("example.com/box").verifier().text();
  const auto adopted = adopt(first).at("result").as_object();
  EXPECT_TRUE(adopted.at("adopted").as_bool());
  EXPECT_EQ(adopted.at("name").as_string(), "example.com/box");
  EXPECT_EQ(adopted.at("previous").as_string(), "");
  EXPECT_FALSE(adopt(first).at("result").as_object().at("adopted").as_bool());
  const auto rotated = adopt(second).at("result").as_object();
  EXPECT_EQ(rotated.at("verifier_key").as_string(), second);
  EXPECT_EQ(rotated.at("previous").as_string(), first);
}

TEST_F(RpcAudit, OnlyTheWholeVerifierKeyIsOne) {
  const NoteSigner signer = NoteSigner::generate("example.com/box");
  std::string other_name = signer.verifier().text();
  other_name.front() = 'f';
  for (const std::string& wrong :
       {std::string("box"), signer.private_text(), other_name, signer.verifier().text() + " "}) {
    EXPECT_EQ(code_of(adopt(wrong)), "INVALID_PARAMS") << wrong;
  }
}

// Entries of large records take long to read, and a client may ask for many and go.
TEST_F(RpcAudit, CallersTakeTurnsAtTheTiles) {  // C4, G7
  const TemporaryDirectory directory;
  auto opened = RocksEventLog::open(directory.path(), {});
  ASSERT_TRUE(opened) << opened.error().message;
  const auto log_on_disk = std::move(*opened);
  AuditParts parts;
  parts.tiles = std::make_shared<LogTiles>(*log_on_disk);
  Dispatcher with_tiles{api, audit_methods(parts)};
  const auto tile = [&](const std::string& caller) {
    with_tiles.handle(request("audit.tile", R"({"path":"0/000"})"), {caller, Role::viewer}, peer);
    settle();
    return code_of(peer->next());
  };
  std::vector<std::string> lanes;
  api.log_readers = BlockingPool(
      [&lanes](const Lane& lane, const std::function<void()>& action) {
        lanes.push_back(lane.name);
        EXPECT_TRUE(lane.unwanted) << "it isn't read for somebody who has gone";
        action();
      },
      at_once);
  EXPECT_EQ(tile("token:one"), "POSITION_NOT_FOUND");
  EXPECT_EQ(tile("token:other"), "POSITION_NOT_FOUND");
  EXPECT_EQ(lanes, (std::vector<std::string>{"tiles for token:one", "tiles for token:other"}));
  api.log_readers = BlockingPool(
      [](const Lane& lane, const std::function<void()>&) { lane.failed(LaneFailure::overloaded); },
      at_once);
  EXPECT_EQ(tile("token:one"), "OVERLOADED");
}

}  // namespace
}  // namespace signalbox
