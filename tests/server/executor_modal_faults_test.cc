// Tests the executor modal with the faults of its endpoints: refusals, redirects, slow bodies.
#include <chrono>

#include "server/executors/remote/remote_endpoint.h"
#include "server/executors/remote/remote_result.h"
#include "tests/server/modal_fixture.h"

namespace signalbox {
namespace {

using std::chrono::milliseconds;

struct Answer {
  unsigned status;
  ErrorClass error_class;
  std::string code;
};

TEST_F(ModalExecutorTest, ErrorsOfASubmitHaveTheirClass) {  // S8
  const std::vector<Answer> answers = {{401, ErrorClass::config, "REMOTE_UNAUTHENTICATED"},
                                       {403, ErrorClass::config, "REMOTE_FORBIDDEN"},
                                       {404, ErrorClass::config, "REMOTE_NOT_FOUND"},
                                       {410, ErrorClass::config, "REMOTE_NOT_FOUND"},
                                       {422, ErrorClass::terminal, "REMOTE_REFUSED"},
                                       {429, ErrorClass::transient, "REMOTE_BUSY"},
                                       {500, ErrorClass::transient, "REMOTE_ERROR"},
                                       {503, ErrorClass::transient, "REMOTE_ERROR"}};
  for (const Answer& answer : answers) {
    endpoint.fail_next({"POST", answer.status});
    const auto submitted = executor()->submit(job());
    ASSERT_FALSE(submitted) << answer.status;
    EXPECT_EQ(submitted.error().error_class, answer.error_class) << answer.status;
    EXPECT_EQ(submitted.error().code, answer.code) << answer.status;
  }
  EXPECT_EQ(endpoint.submissions(), 0);
}

TEST_F(ModalExecutorTest, AnEndpointThatIsBusyIsAskedAgainLater) {  // S8
  endpoint.hold();
  const Job one = job();
  const auto modal = executor();
  ASSERT_TRUE(modal->submit(one));
  for (const unsigned status : {429U, 500U, 502U, 503U, 401U, 403U}) {
    endpoint.fail_next({"GET", status});
  }
  endpoint.fail_next({.method = "GET", .cut = true});
  std::vector<std::string> codes;
  ASSERT_TRUE(eventually([&] {
    const auto state = modal->poll(one);
    if (!state) codes.push_back(state.error().code);
    return codes.size() == 7;
  }));
  EXPECT_EQ(codes, (std::vector<std::string>{"REMOTE_BUSY", "REMOTE_ERROR", "REMOTE_ERROR",
                                             "REMOTE_ERROR", "REMOTE_UNAUTHENTICATED",
                                             "REMOTE_FORBIDDEN", "REMOTE_UNREACHABLE"}));
  endpoint.release_held();
  EXPECT_TRUE(reaches(*modal, one, JobState::finished));
  EXPECT_EQ(endpoint.submissions(one.id), 1);
}

// Each answer is a refusal: for refused_max the job is asked for again, and then it fails.
TEST_F(ModalExecutorTest, AnEndpointThatRefusesEveryPollFailsTheJob) {  // A9, A14
  refused_max = milliseconds(20);
  for (const unsigned status : {401U, 403U, 422U}) {
    SCOPED_TRACE(status);
    endpoint.hold();
    Job one = job();
    one.id += "-" + std::to_string(status);
    const auto modal = executor();
    ASSERT_TRUE(modal->submit(one));
    for (int poll = 0; poll < 50; ++poll) endpoint.fail_next({"GET", status});
    EXPECT_FALSE(modal->poll(one)) << "a single refusal ends nothing";
    ASSERT_TRUE(reaches(*modal, one, JobState::finished));
    EXPECT_GT(endpoint.faults_left(), 0U);
    endpoint.clear_faults();
    const JobResult result = modal->fetch_result(one).value();
    EXPECT_EQ(result.outcome, Outcome::failed);
    EXPECT_EQ(result.failure.error_class, ErrorClass::config) << "no attempt begins beside it";
    EXPECT_TRUE(result.failure.code.starts_with("REMOTE_")) << result.failure.code;
    EXPECT_NE(result.failure.message.find("may still run there"), std::string::npos);
    EXPECT_EQ(executor()->poll(one).value(), JobState::finished) << "for a later server, too";
  }
}

TEST_F(ModalExecutorTest, AnAnswerInBetweenEndsTheTimeOfRefusals) {  // A9
  refused_max = milliseconds(1);
  endpoint.hold();
  const Job one = job();
  const auto modal = executor();
  ASSERT_TRUE(modal->submit(one));
  for (int round = 0; round < 5; ++round) {
    endpoint.fail_next({"GET", 401});
    const int asked = endpoint.requests("GET");
    // The refusal, and then the answer that the job runs.
    ASSERT_TRUE(eventually([&] {
      const auto state = modal->poll(one);
      EXPECT_NE(state.value_or(JobState::running), JobState::finished);
      return endpoint.requests("GET") >= asked + 2;
    }));
  }
  endpoint.release_held();
  EXPECT_TRUE(reaches(*modal, one, JobState::finished));
  EXPECT_EQ(modal->fetch_result(one).value().outcome, Outcome::succeeded);
}

TEST_F(ModalExecutorTest, RetryAfterIsHonouredWithinItsBound) {
  const Job one = job();
  const auto modal = executor();
  endpoint.hold();
  ASSERT_TRUE(modal->submit(one));
  auto before = std::chrono::steady_clock::now();
  ASSERT_TRUE(eventually([&] {
    if (endpoint.faults_left() == 0) {
      endpoint.fail_next({.method = "GET", .status = 429, .retry_after_s = 3600});
    }
    before = std::chrono::steady_clock::now();
    const auto busy = modal->poll(one);
    if (busy || busy.error().code != "REMOTE_BUSY") return false;
    const int asked = endpoint.requests("GET");
    const auto state = modal->poll(one);
    // On a busy machine it may be so late that it was asked again.
    if (std::chrono::steady_clock::now() - before >= milliseconds(40)) return false;
    EXPECT_EQ(state.value(), JobState::running);
    EXPECT_EQ(endpoint.requests("GET"), asked);
    return true;
  }));
  endpoint.release_held();
  EXPECT_TRUE(reaches(*modal, one, JobState::finished));
  EXPECT_GE(std::chrono::steady_clock::now() - before, milliseconds(40));
}

TEST_F(ModalExecutorTest, ARedirectIsFollowed) {  // S8
  const Job one = job();
  const auto modal = executor();
  ASSERT_TRUE(modal->submit(one));
  for (int hop = 0; hop < 3; ++hop) endpoint.fail_next({.method = "GET", .redirect = true});
  EXPECT_TRUE(reaches(*modal, one, JobState::finished));
  EXPECT_EQ(endpoint.last_headers()["Modal-Key"], "ak-1");  // the same origin
  EXPECT_EQ(endpoint.requests("GET"), 4);
}

// An endpoint may send the server anywhere, and doesn't say who has the keys there.
TEST_F(ModalExecutorTest, TheKeysGoToNoOtherOrigin) {  // P11, S8
  const Job one = job();
  const auto modal = executor();
  ASSERT_TRUE(modal->submit(one));
  test::JobEndpoint other;
  endpoint.fail_next({.method = "GET", .redirect_to = other.url() + "/elsewhere"});
  ASSERT_TRUE(eventually([&] {
    (void)modal->poll(one);
    return other.requests("GET") > 0;
  }));
  const auto headers = other.last_headers();
  for (const char* name : {"Modal-Key", "Modal-Secret", "Idempotency-Key"}) {
    EXPECT_FALSE(headers.contains(name)) << name;
  }
}

// Both name their calls alike, as either may on purpose.
TEST_F(ModalExecutorTest, AnEndpointIsAskedForItsOwnJobsAlone) {  // P11
  test::JobEndpoint other;
  endpoint.result(R"({"outcome":"succeeded","summary":"of one"})");
  other.result(R"({"outcome":"succeeded","summary":"of the other"})");
  const Job one = job();
  Job two = site.job("verify");
  two.definition.executor = ExecutorKind::modal;
  two.definition.modal = RemoteJobDefinition{other.url(), 10};
  const auto modal = executor();
  ASSERT_NE(one.id, two.id);
  const auto first = modal->submit(one);
  const auto second = modal->submit(two);
  ASSERT_TRUE(first && second);
  ASSERT_EQ(*first, *second);
  ASSERT_TRUE(reaches(*modal, one, JobState::finished));
  ASSERT_TRUE(reaches(*modal, two, JobState::finished));
  EXPECT_EQ(modal->fetch_result(one).value().result.summary, "of one");
  EXPECT_EQ(modal->fetch_result(two).value().result.summary, "of the other");
  EXPECT_EQ(endpoint.submissions(two.id), 0);
  EXPECT_EQ(other.submissions(one.id), 0);
}

TEST_F(ModalExecutorTest, TooManyRedirectsAreAnError) {
  const Job one = job();
  const auto modal = executor();
  ASSERT_TRUE(modal->submit(one));
  for (int hop = 0; hop <= http_redirects_max; ++hop) {
    endpoint.fail_next({.method = "GET", .redirect = true});
  }
  const auto state = modal->poll(one);
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, "REMOTE_UNREACHABLE");
  EXPECT_TRUE(reaches(*modal, one, JobState::finished));
}

// Its answer would be waited for longer than this test may take.
TEST_F(ModalExecutorTest, AnEndpointThatHangsDoesNotHoldUpTheEndOfACanceledJob) {  // S8
  answer_ms_max = 3'600'000;
  cancel_confirm_max = milliseconds(400);
  endpoint.hold();
  const Job one = job();
  const auto modal = executor();
  ASSERT_TRUE(modal->submit(one));
  endpoint.fail_next({.method = "DELETE", .hang = true});
  endpoint.fail_next({.method = "GET", .hang = true});
  EXPECT_FALSE(modal->cancel(one));
  EXPECT_TRUE(reaches(*modal, one, JobState::finished));
  EXPECT_TRUE(modal->fetch_result(one)->cancel_unconfirmed);
}

TEST_F(ModalExecutorTest, ASlowBodyIsWaitedFor) {
  const Job one = job();
  const auto modal = executor();
  ASSERT_TRUE(modal->submit(one));
  endpoint.fail_next({.method = "GET", .slow = milliseconds(100)});
  EXPECT_EQ(modal->poll(one).value(), JobState::finished);
}

// Each of them would take the memory of a value, and 32 MiB have 16 million.
TEST_F(ModalExecutorTest, AResultOfTooManyValuesIsInvalid) {  // S8, P8
  std::string numbers = R"({"outcome":"succeeded","metadata":{"numbers":[1)";
  for (std::size_t number = 0; number < remote_answer_values_max; ++number) numbers += ",1";
  const JobResult result =
      report_remote_job(job(), "call-1", numbers + "]}}", site.artifacts()).value();
  EXPECT_EQ(result.failure.code, "RESULT_INVALID");
  EXPECT_NE(result.failure.message.find("more than 8192 values"), std::string::npos)
      << result.failure.message;
  // As many as the metadata may have.
  std::string most = R"({"outcome":"succeeded","metadata":{"m":[1)";
  while (most.size() < limits::metadata_bytes_max) most += ",1";
  EXPECT_EQ(report_remote_job(job(), "call-1", most + "]}}", site.artifacts())->outcome,
            Outcome::succeeded);
}

}  // namespace
}  // namespace signalbox
