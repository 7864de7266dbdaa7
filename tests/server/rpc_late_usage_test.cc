// What a job has used up counts once, though its runner tells it after the attempt has ended.
#include <algorithm>
#include <string>
#include <vector>

#include "domain/feature_level.h"
#include "server/rpc/untold_usage.h"
#include "tests/server/rpc_runner_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcLateUsage : public RpcRunners {
 protected:
  static RunId run_of(const std::string& job_id) { return *parse_uuid(job_id.substr(0, 36)); }

  // Ends the job's attempt as the service does when its runner is lost.
  void lose(const std::string& job_id, ErrorClass error_class = ErrorClass::lost,
            const Usage& usage = {}) {
    const signalbox::Run& run = *engine.world().find_run(run_of(job_id));
    CompleteStation end;
    end.from_executor = true;
    end.run_id = run.id;
    end.station = run.definition().name;
    end.token = run.attempt->token;
    end.outcome = Outcome::failed;
    end.error_class = error_class;
    end.error_code = "JOB_LOST";
    end.usage = usage;
    take(end);
  }
  [[nodiscard]] json::object end_of(const std::string& job_id, const Usage& usage) const {
    JobResult result;
    result.usage = usage;
    return as_runner({{"job_id", job_id}, {"result", to_json(result)}});
  }
  // Tells the end of the job, and returns what the answer says of its usage.
  std::string tell(const std::string& job_id, const Usage& usage) {
    const json::object answer = call("runner.finish", end_of(job_id, usage));
    EXPECT_EQ(answer.at("taken"), json::value(false));
    const json::value* const said = answer.if_contains("usage");
    return said == nullptr ? "" : std::string(said->as_string());
  }
  json::object shown(const std::string& job_id) {
    return call("run.get", {{"run_id", to_string(run_of(job_id))}}).at("run").as_object();
  }
  [[nodiscard]] std::ptrdiff_t told() const {
    const auto types = event_types();
    return std::count(types.begin(), types.end(), "LateUsageReported");
  }

  const Usage used{5, 6, 7};
};

TEST_F(RpcLateUsage, CountsOnceHoweverOftenItIsTold) {  // A5, N5
  const std::string job = wanted_job();
  lose(job);
  EXPECT_EQ(tell(job, used), "recorded");
  EXPECT_EQ(tell(job, used), "known");
  EXPECT_EQ(tell(job, {50, 60, 70}), "known") << "the first word stands";
  EXPECT_EQ(told(), 1);
  const json::object seen = shown(job);
  EXPECT_EQ(seen.at("used"), to_json(used));
  EXPECT_EQ(seen.at("status"), "running");
  const json::object attempt = seen.at("stations").at(0).at("attempts").at(0).as_object();
  EXPECT_EQ(attempt.at("usage"), to_json(used));
  EXPECT_EQ(attempt.at("outcome"), "failed") << "nothing else of the result is taken";
  EXPECT_EQ(engine.world().find_run(run_of(job))->used, used);
}

TEST_F(RpcLateUsage, OfTwoWordsAtTheSameMomentOneCounts) {  // A5
  const std::string job = wanted_job();
  lose(job);
  const std::string params = json::serialize(end_of(job, used));
  const auto first = send_from("runner.finish", params);
  const auto second = send_from("runner.finish", params);
  settle();
  settle();
  ASSERT_EQ(first->lines.size(), 1U);
  ASSERT_EQ(second->lines.size(), 1U);
  EXPECT_EQ(first->next().at("result").at("usage"), "recorded");
  EXPECT_EQ(second->next().at("result").at("usage"), "known");
  EXPECT_EQ(told(), 1);
}

TEST_F(RpcLateUsage, OfManyAtTheSameMomentEachCounts) {  // A5
  std::vector<std::string> jobs;
  std::vector<std::shared_ptr<ListeningPeer>> peers;
  for (int each = 0; each < 5; ++each) lose(jobs.emplace_back(wanted_job()));
  for (const std::string& job : jobs) {
    peers.push_back(send_from("runner.finish", json::serialize(end_of(job, used))));
  }
  settle();
  for (const auto& each : peers) EXPECT_EQ(each->next().at("result").at("usage"), "recorded");
  for (const std::string& job : jobs) EXPECT_EQ(shown(job).at("used"), to_json(used));
}

TEST_F(RpcLateUsage, OfNothingIsNotRecorded) {
  const std::string job = wanted_job();
  lose(job);
  EXPECT_EQ(tell(job, {}), "");
  EXPECT_EQ(told(), 0);
}

TEST_F(RpcLateUsage, ThatCameWithTheEndOfTheAttemptIsKnown) {  // A5
  const std::string job = wanted_job();
  lose(job, ErrorClass::lost, {1, 2, 3});
  EXPECT_EQ(tell(job, used), "known");
  EXPECT_EQ(shown(job).at("used"), to_json(Usage{1, 2, 3}));
}

TEST_F(RpcLateUsage, CountsOfARunThatHasFailedAndForItsRetry) {  // A5, S11
  const std::string job = wanted_job();
  lose(job, ErrorClass::config);
  ASSERT_EQ(engine.world().find_run(run_of(job)), nullptr);
  EXPECT_EQ(tell(job, used), "recorded");
  EXPECT_EQ(shown(job).at("used"), to_json(used));
  EXPECT_EQ(shown(job).at("status"), "failed");
  EXPECT_EQ(refusal("run.retry", {{"run_id", to_string(run_of(job))}}), "");
  EXPECT_EQ(engine.world().find_run(run_of(job))->used, used);
  EXPECT_EQ(shown(job).at("used"), to_json(used));
  EXPECT_EQ(tell(job, used), "known");
}

TEST_F(RpcLateUsage, CountsOfARunThatWasCanceled) {  // A5
  const std::string job = wanted_job();
  const Token token = engine.world().find_run(run_of(job))->attempt->token;
  EXPECT_EQ(refusal("run.cancel", {{"run_id", to_string(run_of(job))}}), "");
  take(ConfirmCancel{run_of(job), token, {}, /*unconfirmed=*/true, {}});
  EXPECT_EQ(tell(job, used), "recorded");
  EXPECT_EQ(shown(job).at("used"), to_json(used));
  EXPECT_EQ(shown(job).at("status"), "canceled");
}

TEST_F(RpcLateUsage, IsBelievedOfTheRunnerThatHadTheJobAlone) {  // G1, N5
  const std::string job = wanted_job();
  lose(job);
  const json::object other = call("runner.register", {{"name", "build2"}});
  json::object lie = end_of(job, used);
  lie["runner"] = other.at("runner");
  EXPECT_EQ(refusal("runner.finish", lie), "FORBIDDEN") << "with the key of another";
  lie["key"] = other.at("key");
  EXPECT_EQ(call("runner.finish", lie).at("usage"), "unknown");
  EXPECT_EQ(tell(job.substr(0, job.size() - 1) + "9", used), "unknown") << "no such attempt";
  EXPECT_EQ(tell("00000000-0000-0000-0000-0000000000ff-go-1", used), "unknown") << "no such run";
  EXPECT_EQ(tell("never", used), "");
  EXPECT_NE(refusal("runner.finish", end_of(job, {-1, 0, 0})), "");
  EXPECT_EQ(told(), 0);
}

// A server of an earlier version couldn't read it. The runner asks again.
TEST_F(RpcLateUsage, WaitsForTheUpgradeOfTheCell) {  // K9
  const std::string job = wanted_job();
  lose(job);
  engine.set_feature_level(2);
  EXPECT_EQ(refusal("runner.finish", end_of(job, used)), "CELL_UPGRADE_NEEDED");
  engine.set_feature_level(feature_level_newest);
  EXPECT_EQ(tell(job, used), "recorded");
}

TEST_F(RpcLateUsage, ThatWasNotWrittenIsToldAgain) {  // G1
  const std::string job = wanted_job();
  lose(job);
  const auto first = send_from("runner.finish", json::serialize(end_of(job, used)));
  EXPECT_TRUE(projector.catch_up().has_value());
  engine.flush();
  finish(AppendStatus::full);
  EXPECT_TRUE(projector.catch_up().has_value());  // it is asked again, and refused
  EXPECT_EQ(code_of(first->next()), "STORAGE_FULL");
  engine.leave_storage_full();
  EXPECT_EQ(told(), 0);
  EXPECT_EQ(tell(job, used), "recorded");
}

// Of a job that the service knows the usage of, and nobody else any more.
class UntoldUsageTest : public RpcLateUsage {
 protected:
  // Returns a job whose attempt has ended.
  Job lost_job() {
    Job job;
    job.id = wanted_job();
    job.run_id = run_of(job.id);
    job.machine = runner;
    lose(job.id);
    return job;
  }

  std::vector<std::string> given_up;
  UntoldUsage untold{api, [this](const Job& job, const std::string& why) {
                       given_up.push_back(job.id + ": " + why);
                     }};
};

TEST_F(UntoldUsageTest, IsTriedAgainUntilItIsRecorded) {  // A5, K9
  const Job job = lost_job();
  engine.set_feature_level(2);
  untold.note(job, used);
  settle();
  for (int tries = 2; tries < limits::untold_usage_tries_max; ++tries) {
    untold.try_again();
    settle();
  }
  EXPECT_EQ(told(), 0);
  engine.set_feature_level(feature_level_newest);
  untold.try_again();
  settle();
  EXPECT_EQ(shown(job.id).at("used"), to_json(used));
  untold.try_again();
  settle();
  EXPECT_EQ(told(), 1);
  EXPECT_TRUE(given_up.empty());
}

TEST_F(UntoldUsageTest, ThatWasNotWrittenIsTriedAgain) {  // A5, G1
  const Job job = lost_job();
  untold.note(job, used);
  EXPECT_TRUE(projector.catch_up().has_value());
  engine.flush();
  finish(AppendStatus::full);
  EXPECT_TRUE(projector.catch_up().has_value());
  engine.leave_storage_full();
  EXPECT_EQ(told(), 0);
  untold.try_again();
  settle();
  EXPECT_EQ(shown(job.id).at("used"), to_json(used));
  EXPECT_TRUE(given_up.empty());
}

TEST_F(UntoldUsageTest, IsGivenUpWithAWordInTheEnd) {  // A5
  const Job job = lost_job();
  engine.set_feature_level(2);
  untold.note(job, used);
  settle();
  for (int tries = 1; tries < limits::untold_usage_tries_max; ++tries) {
    EXPECT_TRUE(given_up.empty()) << tries;
    untold.try_again();
    settle();
  }
  ASSERT_EQ(given_up.size(), 1U);
  EXPECT_TRUE(given_up.front().starts_with(job.id + ": ")) << given_up.front();
  untold.note(job, used);
  settle();
  untold.give_up();
  EXPECT_EQ(given_up.size(), 2U) << "the service ends";
  untold.note(job, used);
  settle();
  EXPECT_EQ(given_up.size(), 3U);
}

TEST_F(UntoldUsageTest, OfMoreJobsThanAreKeptIsGivenUp) {  // G1
  const Job job = lost_job();
  engine.set_feature_level(2);
  for (std::size_t count = 0; count <= limits::untold_usage_jobs_max; ++count) {
    untold.note(job, used);
    settle();
  }
  EXPECT_EQ(given_up.size(), 1U);
}

// Its records are dropped, or are about to be: no other may follow them.
TEST_F(RpcLateUsage, OfARunWhoseRecordsWereDroppedIsUnknown) {  // G17
  const std::string job = wanted_job();
  lose(job, ErrorClass::config);
  api.is_dropped = [](const RunId&) { return true; };
  EXPECT_EQ(tell(job, used), "unknown");
  EXPECT_EQ(told(), 0);
}

TEST_F(RpcLateUsage, IsInTheReport) {  // O3
  const std::string job = wanted_job();
  lose(job);
  EXPECT_EQ(tell(job, used), "recorded");
  const json::object usage = call("report.get", {}).at("usage").as_object();
  EXPECT_EQ(usage.at("cost_microusd"), json::value(used.cost_microusd));
  EXPECT_EQ(usage.at("failed").at("cost_microusd"), json::value(used.cost_microusd));
  EXPECT_EQ(usage.at("costliest").at(0).at("run_id").as_string(), to_string(run_of(job)));
}

}  // namespace
}  // namespace signalbox
