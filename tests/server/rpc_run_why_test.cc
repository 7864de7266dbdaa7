// Tests what `run.why` and `attention.list` say about a job whose executor fails.
#include "server/scheduler/job_troubles.h"

#include <gtest/gtest.h>

#include "domain/nanoseconds.h"
#include "server/limits.h"
#include "server/rpc/attempt_surroundings.h"
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

// A crash report says of such a job that it needs an operator.
TEST_F(RpcRunWhy, AJobThatCannotBeAskedWaitsForAPersonOnceThatLasts) {  // O1, T8
  const auto waiting = [this] {
    const auto answer = ask("attention.list", "{}");
    EXPECT_EQ(code_of(answer), "");
    return answer.at("result").at("items").as_array();
  };
  std::int64_t lasts_ms = job_trouble_waits_ms_min - 1;
  api.job_trouble = [&lasts_ms, at_ns = clock.wall_ns()](const std::string&) {
    return JobTrouble{"IO_FAILED: can't read its directory", at_ns, at_ns - lasts_ms * ns_per_ms};
  };
  const auto counted = [this] {
    return attention_counts(engine.world(), attention_bounds(api))[AttentionKind::lost_job];
  };
  EXPECT_TRUE(waiting().empty()) << "it may be over at the next call";
  EXPECT_EQ(counted(), 0U);
  lasts_ms = job_trouble_waits_ms_min;
  const auto items = waiting();
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(counted(), 1U) << "in the metrics";
  EXPECT_EQ(items.at(0).at("kind"), "lost_job");
  EXPECT_EQ(items.at(0).at("text"),
            "its job can't be asked how it is: IO_FAILED: can't read its directory");
  EXPECT_EQ(std::string(items.at(0).at("next_commands").at(0).as_string()),
            "signalbox run why " + run_);
  clock.advance_ms(JobTroubles::repeated_ms_max);
  EXPECT_EQ(waiting().size(), 1U);
  clock.advance_ms(1);
  EXPECT_TRUE(waiting().empty()) << "calls for it succeed again";
}

// What an endpoint answers isn't of this machine, and a disk that can't be read is.
TEST_F(RpcRunWhy, AJobOfAnEndpointWaitsForAPersonWhereItsFilesCannotBeRead) {  // O1, T8
  signalbox::Run run = *engine.world().find_run(*parse_uuid(run_));
  PipelineDefinition pipeline = *run.pipeline;
  pipeline.stations.front().executor = ExecutorKind::modal;
  pipeline.stations.front().modal.emplace();
  run.pipeline = std::make_shared<const PipelineDefinition>(pipeline);
  std::string text = "REMOTE_UNAUTHENTICATED: who are you?";
  api.job_trouble = [&text, at_ns = clock.wall_ns()](const std::string&) {
    return JobTrouble{text, at_ns, at_ns - job_trouble_waits_ms_min * ns_per_ms};
  };
  EXPECT_EQ(lasting_job_trouble(api, run), "");
  text = "JOB_STORAGE: Input/output error";
  EXPECT_EQ(lasting_job_trouble(api, run), text);
}

TEST(JobTroubles, KeepTheLatestOfEachJobUntilItsEnd) {  // A14
  JobTroubles troubles;
  troubles.note("one", {"A: first", 1});
  troubles.note("one", {"B: second", 2});
  EXPECT_EQ(troubles.find("one"), (JobTrouble{"B: second", 2, 1}));
  EXPECT_FALSE(troubles.find("two"));
  troubles.forget("one");
  EXPECT_FALSE(troubles.find("one"));
}

TEST(JobTroubles, KnowHowLongTheyHaveLasted) {  // O1
  constexpr std::int64_t apart_ns = JobTroubles::repeated_ms_max * ns_per_ms;
  JobTroubles troubles;
  troubles.note("one", {"A: first", 1});
  troubles.note("one", {"A: again", 1 + apart_ns});
  EXPECT_EQ(troubles.find("one")->since_ns, 1);
  troubles.note("one", {"A: another", 2 + 2 * apart_ns});
  EXPECT_EQ(troubles.find("one")->since_ns, 2 + 2 * apart_ns);
}

TEST(JobTroubles, AreNewsIfTheyAreOthersOrComeAgainAfterAWhile) {  // A14
  JobTroubles troubles;
  const std::int64_t shown_ns = limits::job_trouble_shown_ms_max * ns_per_ms;
  EXPECT_TRUE(troubles.note("one", {"A: away", 0}));
  EXPECT_FALSE(troubles.note("one", {"A: away", shown_ns}));
  EXPECT_TRUE(troubles.note("two", {"A: away", shown_ns}));
  EXPECT_TRUE(troubles.note("one", {"B: denied", shown_ns}));
  EXPECT_TRUE(troubles.note("one", {"B: denied", 2 * shown_ns + 1}));
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
