// Tests the list of runs whose deep work is under way.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <boost/json/serialize.hpp>

#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcPlanList : public ::testing::Test, protected RpcSite {
 protected:
  // Returns the ids of the runs on a page, and puts its cursor into `cursor`.
  std::vector<std::string> page(const std::string& params, json::value& cursor) {
    const json::object answer = ask("plan.list", params);
    EXPECT_EQ(code_of(answer), "") << json::serialize(answer);
    std::vector<std::string> shown;
    if (!answer.contains("result")) return shown;
    for (const json::value& each : answer.at("result").at("plans").as_array()) {
      shown.emplace_back(each.at("run_id").as_string());
    }
    cursor = answer.at("result").at("next_cursor");
    return shown;
  }
};

TEST_F(RpcPlanList, PagesHaveEveryPlanOnce) {  // O5, P8
  std::vector<std::string> runs;
  for (int each = 0; each < 5; ++each) {
    runs.push_back(start_run(R"({"goal":"g","pipeline":{"name":"p",
        "station":[{"name":"deep","executor":"deep_work","deep_work":{"explore":{"worker":true}}}]}})"));
    take(DispatchStation{*parse_uuid(runs.back()), ids.next_span_id()});
  }
  std::sort(runs.begin(), runs.end());
  json::value cursor;
  EXPECT_EQ(page("{}", cursor), runs);
  EXPECT_TRUE(cursor.is_null());
  EXPECT_EQ(page(R"({"limit":5})", cursor), runs);
  EXPECT_TRUE(cursor.is_null()) << "there is no other";
  std::vector<std::string> listed;
  std::string params = R"({"limit":2,"waiting_for":"explore"})";
  do {
    const std::vector<std::string> some = page(params, cursor);
    EXPECT_LE(some.size(), 2U);
    listed.insert(listed.end(), some.begin(), some.end());
    params = R"({"limit":2,"waiting_for":"explore","cursor":)" + json::serialize(cursor) + "}";
  } while (!cursor.is_null() && listed.size() < 10);
  EXPECT_EQ(listed, runs);
  EXPECT_TRUE(page(R"({"waiting_for":"plan"})", cursor).empty());
  EXPECT_EQ(code_of(ask("plan.list", R"({"cursor":"x"})")), "INVALID_PARAMS");
}

}  // namespace
}  // namespace signalbox
