// Tests what `run.why` says about a job whose executor fails.
#include "server/scheduler/job_troubles.h"

#include <gtest/gtest.h>

#include "server/limits.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class RpcRunWhy : public ::testing::Test, protected RpcSite {
 protected:
  void SetUp() override {
    const auto started = ask(
        "run.start",
        R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"work","executor":"process","command":["true"]}]}})");
    ASSERT_EQ(code_of(started), "");
    run_ = std::string(started.at("result").at("run_id").as_string());
    take(DispatchStation{*parse_uuid(run_), ids.next_span_id(), {}});
  }
  boost::json::object why() {
    const auto answer = ask("run.why", R"({"run_id":")" + run_ + "\"}");
    EXPECT_EQ(code_of(answer), "");
    return answer.at("result").as_object();
  }
  static std::string text_of(const boost::json::object& answer) {
    return std::string(answer.at("reasons").at(0).at("text").as_string());
  }

  std::string run_;
};

TEST_F(RpcRunWhy, TellsWhatTheExecutorWasAnsweredLately) {  // A14
  EXPECT_EQ(why().at("moving"), true);
  api.job_trouble = [at_ns = clock.wall_ns()](const std::string& job_id) {
    EXPECT_FALSE(job_id.empty());
    return JobTrouble{"REMOTE_UNAUTHENTICATED: who are you? (HTTP 401)", at_ns};
  };
  const auto troubled = why();
  EXPECT_EQ(troubled.at("moving"), false);
  EXPECT_NE(text_of(troubled).find("(HTTP 401)"), std::string::npos) << text_of(troubled);
  clock.advance_ms(limits::job_trouble_shown_ms_max + 1);
  EXPECT_EQ(text_of(why()).find("(HTTP 401)"), std::string::npos) << "it may be over by now";
}

TEST(JobTroubles, KeepTheLatestOfEachJobUntilItsEnd) {  // A14
  JobTroubles troubles;
  troubles.note("one", {"A: first", 1});
  troubles.note("one", {"B: second", 2});
  EXPECT_EQ(troubles.find("one"), (JobTrouble{"B: second", 2}));
  EXPECT_FALSE(troubles.find("two"));
  troubles.forget("one");
  EXPECT_FALSE(troubles.find("one"));
}

// A job that is never reported as over doesn't stay for ever.
TEST(JobTroubles, AreBounded) {  // A14
  JobTroubles troubles;
  const auto count = static_cast<std::int64_t>(limits::job_troubles_max);
  for (std::int64_t each = 0; each <= count; ++each) {
    troubles.note(std::to_string(each), {"A: away", each});
  }
  EXPECT_FALSE(troubles.find("0"));
  EXPECT_TRUE(troubles.find("1"));
  EXPECT_TRUE(troubles.find(std::to_string(count)));
}

}  // namespace
}  // namespace signalbox
