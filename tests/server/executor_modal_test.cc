// Tests the executor modal, whose jobs run at an HTTPS endpoint.
#include <set>

#include "tests/server/modal_fixture.h"

namespace signalbox {
namespace {

using std::chrono::milliseconds;

TEST_F(ModalExecutorTest, AJobIsSubmittedAskedForAndGivesItsResult) {  // S8
  endpoint.result(R"({"outcome":"succeeded","summary":"did it","logs":"line 1\nline 2\n",
      "metadata":{"pages":3},
      "artifacts":[{"name":"report.md","text":"# Report\n"},
                   {"name":"picture.png","media_type":"image/png","base64":"iVBORw=="}]})");
  const Job one = job();
  const JobResult result = result_of(one);
  EXPECT_EQ(result.outcome, Outcome::succeeded);
  EXPECT_EQ(result.result.summary, "did it");
  EXPECT_EQ(result.result.logs_inline, "line 1\nline 2\n");
  EXPECT_EQ(result.result.metadata, R"({"pages":3})");
  EXPECT_EQ(result.result.external_ref, "call-1");
  std::vector<std::string> names;
  for (const Artifact& artifact : result.result.artifacts) names.push_back(artifact.name);
  EXPECT_EQ(names, (std::vector<std::string>{"report.md", "picture.png", "implement_summary",
                                             "runner_logs_excerpt"}));
  EXPECT_EQ(site.artifacts().get(result.result.artifacts[1].sha256).value(), "\x89PNG");
  EXPECT_EQ(endpoint.submissions(one.id), 1);
  EXPECT_EQ(endpoint.last_headers()["Modal-Key"], "ak-1");
  EXPECT_EQ(endpoint.last_headers()["Modal-Secret"], "as-2");
  EXPECT_EQ(endpoint.last_headers()["Idempotency-Key"], one.id);
  EXPECT_EQ(endpoint.last_task().at("goal").as_string(), one.goal);
  EXPECT_EQ(endpoint.last_task().at("schema").as_string(), "remote_job.v1");
}

// With the secret of a job somebody could use the socket as that job. What is new here has to be
// something that an endpoint may know (OPERATING.md, Threat model).
TEST_F(ModalExecutorTest, AnEndpointGetsWhatItsJobIsAboutAndNoSecret) {  // P11
  ASSERT_EQ(result_of(job()).outcome, Outcome::succeeded);
  std::set<std::string> given;
  const boost::json::object task = endpoint.last_task().as_object();
  for (const auto& each : task) given.emplace(each.key());
  EXPECT_EQ(given,
            (std::set<std::string>{"schema", "id", "run_id", "station", "attempt", "strategy",
                                   "span_id", "timeout_ms", "goal", "input", "previous",
                                   "resume_ref", "repository", "base", "budget"}));
  for (const auto& [name, value] : endpoint.last_headers()) {
    EXPECT_EQ((name + value).find("SIGNALBOX"), std::string::npos) << name;
  }
}

TEST_F(ModalExecutorTest, AMissingVariableIsNamedAndItsValueNever) {  // S8
  for (const std::string name : {"MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET"}) {
    environment = {"MODAL_TOKEN_ID=ak-1", "MODAL_TOKEN_SECRET=as-2"};
    std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(name); });
    const auto submitted = executor()->submit(job());
    ASSERT_FALSE(submitted);
    EXPECT_EQ(submitted.error().error_class, ErrorClass::config);
    EXPECT_EQ(submitted.error().code, "CONFIG_MISSING");
    EXPECT_NE(submitted.error().message.find(name), std::string::npos);
    EXPECT_EQ(submitted.error().message.find("ak-1"), std::string::npos);
    EXPECT_EQ(submitted.error().message.find("as-2"), std::string::npos);
  }
  EXPECT_EQ(endpoint.submissions(), 0);
}

// The request arrived but its response was lost: the job is found, not submitted again.
TEST_F(ModalExecutorTest, AConnectionCutAfterTheRequestSubmitsOnce) {  // S6, S8
  const Job one = job();
  const auto modal = executor();
  endpoint.fail_next({.method = "POST", .cut = true});
  const auto submitted = modal->submit(one);
  ASSERT_FALSE(submitted);
  EXPECT_EQ(submitted.error().code, "REMOTE_UNREACHABLE");
  EXPECT_EQ(endpoint.submissions(one.id), 1);
  EXPECT_TRUE(reaches(*modal, one, JobState::absent));
  EXPECT_EQ(modal->submit(one).value(), "call-1");
  EXPECT_EQ(endpoint.requests("POST"), 1);
  EXPECT_EQ(executor()->submit(one).value(), "call-1");
  EXPECT_EQ(endpoint.requests("POST"), 1);
}

// The job isn't given up while the endpoint can't say whether it was submitted.
TEST_F(ModalExecutorTest, AnUnknownSubmitIsAskedForUntilItIsKnown) {  // S6
  const Job one = job();
  const auto modal = executor();
  endpoint.fail_next({.method = "POST", .cut = true});
  ASSERT_FALSE(modal->submit(one));
  for (int fault = 0; fault < 5; ++fault) endpoint.fail_next({"GET", 503});
  int errors = 0;
  ASSERT_TRUE(eventually([&] {
    const auto state = modal->poll(one);
    errors += state ? 0 : 1;
    return state && *state == JobState::absent;
  }));
  EXPECT_EQ(errors, 5);
  EXPECT_EQ(modal->submit(one).value(), "call-1");
  EXPECT_EQ(endpoint.submissions(one.id), 1);
}

TEST_F(ModalExecutorTest, AfterARestartItIsOnlyAskedFor) {  // S6
  endpoint.hold();
  Job one = job();
  ASSERT_TRUE(executor()->submit(one));
  // After a kill before the log had the ref, the executor reports the ref again.
  EXPECT_EQ(executor()->learned_ref(one).value(), "call-1");
  for (int restart = 0; restart < 5; ++restart) {
    EXPECT_EQ(executor()->poll(one).value(), JobState::running);
  }
  // Without the job's directory the ref from the log is used.
  std::filesystem::remove_all(site.root() / "jobs" / one.id);
  one.external_ref = "call-1";
  EXPECT_EQ(executor()->learned_ref(one).value(), "");
  EXPECT_EQ(executor()->poll(one).value(), JobState::running);
  endpoint.release_held();
  EXPECT_EQ(executor()->poll(one).value(), JobState::finished);
  EXPECT_EQ(endpoint.submissions(one.id), 1);
  EXPECT_EQ(endpoint.requests("POST"), 1);
}

TEST_F(ModalExecutorTest, ItsResultIsKeptWhenTheEndpointForgetsIt) {
  const Job one = job();
  const JobResult first = result_of(one);
  endpoint.forget_all();
  EXPECT_EQ(executor()->poll(one).value(), JobState::finished);
  EXPECT_EQ(executor()->fetch_result(one).value().result, first.result);
}

TEST_F(ModalExecutorTest, AJobThatTheEndpointForgotIsLost) {
  endpoint.hold();
  const Job one = job();
  const auto modal = executor();
  ASSERT_TRUE(modal->submit(one));
  endpoint.forget_all();
  EXPECT_EQ(modal->poll(one).value(), JobState::lost);
  EXPECT_TRUE(modal->clean_up_lost(one).value().empty());
}

TEST_F(ModalExecutorTest, CancelEndsItAndIsConfirmed) {  // S11
  endpoint.hold();
  const Job one = job();
  const auto modal = executor();
  ASSERT_TRUE(modal->submit(one));
  ASSERT_TRUE(modal->cancel(one));
  EXPECT_TRUE(endpoint.was_canceled("call-1"));
  ASSERT_TRUE(reaches(*modal, one, JobState::finished));
  const JobResult result = modal->fetch_result(one).value();
  EXPECT_EQ(result.outcome, Outcome::canceled);
  EXPECT_TRUE(result.canceled);
  EXPECT_FALSE(result.cancel_unconfirmed);
  EXPECT_EQ(executor()->fetch_result(one).value().result, result.result);  // after a restart
}

TEST_F(ModalExecutorTest, CancelOfASubmitWithoutAnAnswerFindsTheJob) {
  endpoint.hold();
  const Job one = job();
  endpoint.fail_next({.method = "POST", .cut = true});
  ASSERT_FALSE(executor()->submit(one));
  const auto modal = executor();
  ASSERT_TRUE(modal->cancel(one));
  EXPECT_TRUE(endpoint.was_canceled("call-1"));
  EXPECT_TRUE(reaches(*modal, one, JobState::finished));
}

// The endpoint has received it, and knows of it only a moment after the cancel.
TEST_F(ModalExecutorTest, CancelOfASubmitThatIsNotYetKnownFindsTheJob) {  // S11
  endpoint.hold();
  const Job one = job();
  endpoint.fail_next({.method = "POST", .cut = true});
  ASSERT_FALSE(executor()->submit(one));
  endpoint.fail_next({"GET", 404});
  const auto modal = executor();
  EXPECT_FALSE(modal->cancel(one)) << "whether it was submitted isn't known";
  ASSERT_TRUE(eventually(
      [&] { return modal->cancel(one).has_value() && endpoint.was_canceled("call-1"); }));
  EXPECT_TRUE(endpoint.was_canceled("call-1"));
  EXPECT_TRUE(reaches(*modal, one, JobState::finished));
}

TEST_F(ModalExecutorTest, ACancelThatNobodyConfirmsIsGivenUpAndSaidSo) {
  cancel_confirm_max = milliseconds(400);
  endpoint.hold();
  const Job one = job();
  const auto modal = executor();
  ASSERT_TRUE(modal->submit(one));
  for (int fault = 0; fault < 1000; ++fault) endpoint.fail_next({"DELETE", 503});
  ASSERT_TRUE(eventually([&] {
    (void)modal->cancel(one);
    const auto state = modal->poll(one);
    return state && *state == JobState::finished;
  }));
  const JobResult result = modal->fetch_result(one).value();
  EXPECT_EQ(result.outcome, Outcome::canceled);
  EXPECT_TRUE(result.cancel_unconfirmed);
  EXPECT_NE(result.failure.message.find("call-1"), std::string::npos) << result.failure.message;
}

// Refusals end a job, but not one that is being canceled: nothing says that it was.
TEST_F(ModalExecutorTest, ACancelBesideAnEndpointThatRefusesIsUnconfirmed) {  // A9
  refused_max = milliseconds(1);
  cancel_confirm_max = milliseconds(5'000);  // the cancel itself is answered before
  endpoint.hold();
  const Job one = job();
  const auto modal = executor();
  ASSERT_TRUE(modal->submit(one));
  for (int fault = 0; fault < 1000; ++fault) endpoint.fail_next({"GET", 401});
  EXPECT_FALSE(modal->poll(one)) << "refused before the cancel, too";
  ASSERT_TRUE(modal->cancel(one)) << "accepted, and not confirmed";
  ASSERT_TRUE(reaches(*modal, one, JobState::finished));
  const JobResult result = modal->fetch_result(one).value();
  EXPECT_EQ(result.outcome, Outcome::canceled) << result.failure.code;
  EXPECT_TRUE(result.cancel_unconfirmed);
}

TEST_F(ModalExecutorTest, AFailureOfTheJobIsItsOwn) {
  endpoint.result(R"({"outcome":"failed","error_class":"transient","error_code":"GPU_GONE",
      "error_message":"the machine was taken away"})");
  const JobResult result = result_of(job());
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.failure, (Failure{Outcome::failed, ErrorClass::transient, "GPU_GONE",
                                     "the machine was taken away"}));
}

TEST_F(ModalExecutorTest, ItTellsWhatItUsedAndWhenItsQuotaIsBack) {
  endpoint.result(R"({"outcome":"failed","error_class":"quota","error_code":"USAGE_LIMIT",
      "quota_reset_at":"2026-01-02T03:04:05.000000000Z",
      "usage":{"cost_microusd":7,"tokens":8,"turns":9}})");
  const JobResult result = result_of(job());
  EXPECT_EQ(result.failure.error_class, ErrorClass::quota);
  EXPECT_EQ(result.usage, (Usage{7, 8, 9}));
  EXPECT_EQ(result.quota_reset_at_ns, 1'767'323'045'000'000'000);
}

// The endpoint gets the rendered prompt, not the template from the pipeline.
TEST_F(ModalExecutorTest, ACodingAgentIsARemoteJobToo) {
  Job one = job();
  one.definition.executor = ExecutorKind::coderunner;
  one.definition.coderunner = {Agent::codex, CoderunnerMode::modal, "Do {{goal}}", "small"};
  EXPECT_EQ(result_of(one).outcome, Outcome::succeeded);
  const boost::json::value agent = endpoint.last_task().at("coderunner");
  EXPECT_EQ(agent.at("agent").as_string(), "codex");
  EXPECT_EQ(agent.at("prompt").as_string(), "Do " + one.goal);
  EXPECT_EQ(agent.at("model").as_string(), "small");
}

TEST_F(ModalExecutorTest, WhatIsNoResultIsATypedFailure) {
  for (
      const std::string text :
      {"", "<html>busy</html>", "[]", R"({"summary":"no outcome"})",
       R"({"outcome":"succeeded","artifacts":[{"name":"a"}]})",
       R"({"outcome":"succeeded","artifacts":[{"name":"a","base64":"?"}]})",
       R"({"outcome":"succeeded","artifacts":[{"name":"..","text":"x"}]})",
       R"({"outcome":"succeeded","artifacts":[{"name":"a/./b","text":"x"}]})",
       R"({"outcome":"succeeded","artifacts":[{"name":"attempt.tar","text":"x"}]})",
       R"({"outcome":"succeeded","artifacts":[{"name":"a","text":"x","media_type":"application/vnd.signalbox.attempt+tar"}]})",
       R"({"outcome":"succeeded","surprise":1})"}) {
    endpoint.result(text);
    const JobResult result = result_of(job());
    EXPECT_EQ(result.outcome, Outcome::failed) << text;
    EXPECT_EQ(result.failure.error_class, ErrorClass::terminal) << text;
    EXPECT_EQ(result.failure.code, "RESULT_INVALID") << text;
  }
}

TEST_F(ModalExecutorTest, AResultThatIsRefusedWasPaidForAllTheSame) {  // S7
  endpoint.result(
      R"({"outcome":"succeeded","usage":{"cost_microusd":5000000,"tokens":7,"turns":2},)"
      R"("artifacts":[{"name":"..","text":"x"}]})");
  const JobResult result = result_of(job());
  EXPECT_EQ(result.failure.code, "RESULT_INVALID");
  EXPECT_EQ(result.usage, (Usage{5'000'000, 7, 2}));
}

TEST_F(ModalExecutorTest, LogsThatAreTooLongSaySo) {  // S9
  const std::string logs(100'000, 'x');
  endpoint.result(R"({"outcome":"succeeded","logs":")" + logs + "\"}");
  const JobResult result = result_of(job());
  EXPECT_LE(result.result.logs_inline.size(), limits::logs_inline_bytes_max);
  EXPECT_NE(result.result.logs_inline.find("the original is 100000 bytes"), std::string::npos);
}

TEST_F(ModalExecutorTest, ConcurrentSubmitsAreOne) {  // S6
  const Job one = job();
  std::vector<std::thread> submitters;
  for (int index = 0; index < 8; ++index) {
    submitters.emplace_back([&] { EXPECT_EQ(executor()->submit(one).value(), "call-1"); });
  }
  for (std::thread& submitter : submitters) submitter.join();
  EXPECT_EQ(endpoint.requests("POST"), 1);
}

}  // namespace
}  // namespace signalbox
