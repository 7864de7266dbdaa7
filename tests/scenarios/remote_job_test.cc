// Stations whose work an HTTPS endpoint does, with the real server killed meanwhile: a job is
// submitted once, polled after a restart, and canceled at the endpoint. S6 S8 S11
#include "tests/fixtures/job_endpoint.h"
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;
using test::JobEndpoint;

class RemoteJobs : public CliTest {
 protected:
  void SetUp() override {
    ::setenv("MODAL_TOKEN_ID", "ak-1", 1);
    ::setenv("MODAL_TOKEN_SECRET", "as-secret", 1);
    CliTest::SetUp();
  }
  void TearDown() override {
    ::unsetenv("MODAL_TOKEN_ID");
    ::unsetenv("MODAL_TOKEN_SECRET");
  }
  std::string start() const {
    return start_run_of(
        "name = \"remote\"\n[[station]]\nname = \"implement\"\nexecutor = \"modal\"\n"
        "[station.modal]\nendpoint = \"" +
            endpoint_.url() +
            "\"\npoll = \"20ms\"\n"
            "[station.retry]\nbackoff = \"10ms\"\n",
        "work elsewhere");
  }
  std::size_t count(const std::string& run_id, const std::string& type) const {
    return events(run_id, type).size();
  }
  void restart() {
    server_.kill();
    server_.start();
  }

  JobEndpoint endpoint_;
};

TEST_F(RemoteJobs, AKilledServerOnlyAsksAfterItsJob) {  // S6, S8
  endpoint_.hold();
  const std::string id = start();
  await([&] { return count(id, "StationExternalRefSet") == 1; });
  for (int kill = 0; kill < 5; ++kill) restart();
  await([&] { return endpoint_.requests("GET") > 0; });
  EXPECT_EQ(endpoint_.submissions(), 1);
  EXPECT_EQ(endpoint_.requests("POST"), 1);
  endpoint_.release_held();
  await_status(id, "succeeded");
  const auto attempt =
      run(id).at("stations").as_array().at(0).at("attempts").as_array().at(0).as_object();
  EXPECT_EQ(text(attempt, "external_ref"), "call-1");
  EXPECT_EQ(text(attempt, "summary"), "done remotely");
  EXPECT_EQ(count(id, "StationClaimed"), 1U);
}

// Killed after the request was sent and before any of its answer was kept.
TEST_F(RemoteJobs, ASubmitWithoutItsAnswerIsLookedUp) {  // S6
  endpoint_.hold();
  for (int cut = 0; cut < 3; ++cut) {
    endpoint_.fail_next({.method = "POST", .cut = true});
    for (int fault = 0; fault < 2; ++fault) endpoint_.fail_next({"GET", 503});
    const std::string id = start();
    await([&] { return endpoint_.submissions() == cut + 1; });
    restart();
    await([&] { return count(id, "StationExternalRefSet") == 1; });
    EXPECT_EQ(endpoint_.requests("POST"), cut + 1) << "it was sent again";
    EXPECT_EQ(endpoint_.submissions(), cut + 1);
    EXPECT_EQ(count(id, "StationClaimed"), 1U);
  }
}

TEST_F(RemoteJobs, CancelEndsTheJobThere) {  // S11
  endpoint_.hold();
  const std::string id = start();
  await([&] { return count(id, "StationExternalRefSet") == 1; });
  result({"run", "cancel", id});
  await_status(id, "canceled");
  EXPECT_TRUE(endpoint_.was_canceled("call-1"));
  EXPECT_EQ(count(id, "CancelConfirmed"), 1U);
}

// Remote jobs use no slot of local jobs, and the other way round.
TEST_F(RemoteJobs, LocalWorkGoesOnBesideAnyNumberOfThem) {
  server_.kill();
  std::ofstream(server_.data() / "signalbox.toml") << "jobs_max = 1\nremote_jobs_max = 2\n";
  server_.start();
  endpoint_.hold();
  const std::vector<std::string> ids{start(), start(), start()};
  for (int index = 0; index < 2; ++index) {
    await(
        [&] { return count(ids[static_cast<std::size_t>(index)], "StationExternalRefSet") == 1; });
  }
  const std::string local = start_run_of(
      "name = \"local\"\n[[station]]\nname = \"implement\"\n"
      "executor = \"process\"\ncommand = [\"true\"]\n",
      "here");
  await_status(local, "succeeded");
  const json::object why = result({"run", "why", ids[2]});
  const json::object reason = why.at("reasons").as_array().at(0).as_object();
  EXPECT_EQ(text(reason, "reason"), "jobs_max");
  EXPECT_EQ(reason.at("holders").as_array().size(), 2U);
  EXPECT_NE(text(reason, "unblocked_by").find("remote_jobs_max"), std::string::npos);
  endpoint_.release_held();
  for (const std::string& id : ids) await_status(id, "succeeded");
  EXPECT_EQ(endpoint_.submissions(), 3);
}

TEST_F(RemoteJobs, AJobThatIsGoneIsLostAndTriedAgain) {
  endpoint_.hold();
  const std::string id = start();
  await([&] { return count(id, "StationExternalRefSet") == 1; });
  endpoint_.forget_all();
  await([&] { return count(id, "StationExternalRefSet") == 2; });
  endpoint_.release_held();
  await_status(id, "succeeded");
  EXPECT_EQ(endpoint_.submissions(), 2);  // one for each attempt
}

TEST_F(RemoteJobs, MissingCredentialsAreNamedAndNeverShown) {  // S8
  server_.kill();
  ::unsetenv("MODAL_TOKEN_ID");
  server_.start();
  const std::string id = start();
  await_status(id, "failed");
  const json::object failed = run(id);
  EXPECT_NE(json::serialize(failed).find("CONFIG_MISSING"), std::string::npos);
  EXPECT_NE(json::serialize(failed).find("MODAL_TOKEN_ID"), std::string::npos);
  EXPECT_EQ(json::serialize(failed).find("as-secret"), std::string::npos);
  EXPECT_EQ(endpoint_.submissions(), 0);
}

}  // namespace
}  // namespace signalbox
