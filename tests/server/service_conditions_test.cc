// What in the service itself needs a person: whatever the status has of it is in the inbox and in
// the metric.
#include "server/rpc/methods/service_conditions.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "server/limits.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class ServiceConditions : public ::testing::Test, protected RpcSite {
 protected:
  // Returns the item of the only condition there is with this status.
  json::object item_with(const json::object& more) {
    add_status = [more](json::object& status) {
      for (const auto& each : more) status[each.key()] = each.value();
    };
    const auto answer = ask("attention.list", R"({"kinds":["service"]})");
    EXPECT_EQ(code_of(answer), "") << json::serialize(answer);
    const json::array& items = answer.at("result").at("items").as_array();
    EXPECT_EQ(items.size(), 1U) << json::serialize(answer);
    return items.empty() ? json::object() : items.front().as_object();
  }
  std::map<ServiceCondition, double> counts() {
    return count_conditions(api, {{[this](json::object& status) { add_status(status); }}, loops});
  }
};

TEST_F(ServiceConditions, AStoreOfArtifactsThatFailsNeedsAPerson) {  // O1, S13
  const json::object item =
      item_with({{"artifact_store",
                  {{"store", "s3://b"},
                   {"trouble", {{"since", "2026-07-01T08:00:00Z"}, {"message", "HTTP 403"}}}}}});
  EXPECT_EQ(item.at("id"), "service/artifact_store");
  EXPECT_EQ(item.at("text"), "the store of artifacts can't be used: HTTP 403");
  EXPECT_TRUE(item.at("since").is_string());
  EXPECT_EQ(counts(), (std::map<ServiceCondition, double>{{ServiceCondition::artifact_store, 1}}));
}

TEST_F(ServiceConditions, TheTroublesOfACellNeedAPerson) {  // O1, K11
  const auto with = [this](const char* field) {
    return item_with({{"cell", {{"durability", nullptr}, {field, "no rights"}}}});
  };
  EXPECT_EQ(with("trouble").at("id"), "service/cell");
  EXPECT_EQ(with("drop_trouble").at("id"), "service/cell/drop");
  const json::object item = with("redaction_trouble");
  EXPECT_EQ(item.at("id"), "service/cell/redaction");
  EXPECT_EQ(item.at("text"), "what the cell has redacted isn't erased everywhere: no rights");
  EXPECT_EQ(item.at("next_commands"), json::value(json::array{"signalbox cell status"}));
  EXPECT_EQ(counts(), (std::map<ServiceCondition, double>{{ServiceCondition::cell, 1}}));
}

TEST_F(ServiceConditions, AFailureIsShownWithItsTimeAndItsCommands) {  // O1
  const json::object item = item_with({{"file_retention",
                                        {{"last",
                                          {{"at", "2026-07-01T08:00:00Z"},
                                           {"error", "no space"},
                                           {"next_commands", json::array{"df -h"}}}}}}});
  EXPECT_EQ(item.at("id"), "service/file_retention");
  EXPECT_EQ(item.at("text"), "the latest removal of files failed: no space");
  EXPECT_EQ(item.at("next_commands"), json::value(json::array{"df -h"}));
  EXPECT_TRUE(item.at("since").is_string());
}

TEST_F(ServiceConditions, WithoutTroubleThereIsNone) {  // O1
  add_status = [](json::object& status) {
    status["artifact_store"] = {{"store", "s3://b"}, {"trouble", nullptr}};
    status["listen"] = {{"address", "127.0.0.1:1"}, {"trouble", nullptr}};
    status["retention"] = {{"last", nullptr}};
    status["cell"] = {{"trouble", nullptr}, {"drop_trouble", nullptr}};
  };
  EXPECT_TRUE(counts().empty());
}

}  // namespace
}  // namespace signalbox
