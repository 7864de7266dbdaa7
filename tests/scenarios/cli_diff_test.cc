// `diff`: what changed between two moments.
#include <algorithm>
#include <map>

#include "tests/scenarios/past_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

TEST_F(PastCliTest, DiffTellsWhatChangedOverAllThings) {  // R2
  live();
  const auto diff =
      result({"diff", "--from", moments_[2].position, "--to", moments_[6].position, "--all"});
  std::map<std::string, std::string> changes;
  std::map<std::string, std::string> statuses;
  for (const auto& each : diff.at("changes").as_array()) {
    const std::string stream = text(each.as_object(), "stream");
    changes[stream] = text(each.as_object(), "change") + " " + text(each.as_object(), "last_event");
    for (const auto& field : each.at("fields").as_array()) {
      if (field.at("field") == "status") statuses[stream] = text(field.as_object(), "to");
    }
  }
  EXPECT_EQ(changes, (std::map<std::string, std::string>{{"run/" + first_, "changes RunFailed"},
                                                         {"run/" + second_, "appears RunCanceled"},
                                                         {"lock/deploy", "appears LockAcquired"}}));
  EXPECT_EQ(statuses["run/" + first_], "failed");
  EXPECT_EQ(statuses["run/" + second_], "canceled");
  const auto none =
      result({"diff", "--from", moments_[2].position, "--to", moments_[2].position, "--all"});
  EXPECT_TRUE(none.at("changes").as_array().empty());
  EXPECT_EQ(server_.cli({"diff", "--from", "5", "--to", "4"}).exit_code, 2);
  // Before the first event there was nothing.
  const auto all = result({"diff", "--from", "1970-01-01T00:00:00Z", "--all"});
  EXPECT_EQ(all.at("from"), 0);
  EXPECT_EQ(text(all.at("changes").as_array().at(0).as_object(), "stream"), "server");
}

// Without --all: counts, and names with the reason, of what somebody should look at first.
TEST_F(PastCliTest, DiffSumsUp) {  // O3
  live();
  const auto group = [](const json::object& diff, const char* kind) {
    for (const json::value& each : diff.at("summary").as_array()) {
      if (each.at("kind") == kind) return each.as_object();
    }
    ADD_FAILURE() << kind << " isn't there: " << json::serialize(diff);
    return json::object{{"total", 0}, {"counts", json::object()}, {"items", json::array()}};
  };
  const auto diff = result({"diff", "--from", moments_[2].position, "--to", moments_[6].position});
  EXPECT_FALSE(diff.contains("changes"));
  const json::object runs = group(diff, "runs");
  EXPECT_EQ(runs.at("total").to_number<int>(), 2);
  EXPECT_EQ(runs.at("counts").at("failed").to_number<int>(), 1);
  const json::array& items = runs.at("items").as_array();
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].at("state"), "failed");
  EXPECT_EQ(items[0].at("stream"), json::value("run/" + first_));
  EXPECT_EQ(items[0].at("name"), "the first") << "it began before --from";
  EXPECT_EQ(items[0].at("new"), false);
  EXPECT_EQ(items[1].at("state"), "canceled");
  EXPECT_EQ(items[1].at("name"), "the second");
  EXPECT_EQ(items[1].at("new"), true);
  const json::object locks = group(diff, "locks");
  EXPECT_EQ(locks.at("items").at(0).at("state"), "held");
  EXPECT_EQ(locks.at("items").at(0).at("name"), "deploy");

  const Output shown = server_.cli({"diff", "--from", "0"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_NE(shown.out.find("runs      1 failed, 1 canceled\n"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("the first: implement"), std::string::npos) << shown.out;
  const Output none = server_.cli({"diff", "--from", "3", "--to", "3"});
  EXPECT_EQ(none.out, "no difference in 0 events\n");
}

TEST_F(PastCliTest, DiffOfManyRunsFitsAScreen) {  // O3, O7
  for (int each = 0; each < 40; ++each) start_run("run number " + std::to_string(each));
  const Output shown = server_.cli({"diff", "--from", "0"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_LE(std::count(shown.out.begin(), shown.out.end(), '\n'), 25) << shown.out;
  EXPECT_NE(shown.out.find("40 started"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("26 more"), std::string::npos) << shown.out;
}

}  // namespace
}  // namespace signalbox
