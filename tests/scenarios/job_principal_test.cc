// Principals with the real binary: a worker can't use the tokens of another, and a job isn't its
// operator, whatever it does to look like him.
#include <sys/stat.h>

#include "tests/crash/connection.h"
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class PrincipalTest : public CliTest {
 protected:
  // Issues an access token. Returns the environment with which a command uses it.
  std::vector<std::string> issue(const std::string& name, const std::string& role) const {
    const Output issued = server_.cli({"access", "issue", name, "--role", role});
    EXPECT_EQ(issued.exit_code, 0) << issued.err;
    return {"SIGNALBOX_ACCESS_TOKEN=" + issued.out.substr(0, issued.out.size() - 1)};
  }
  static void expect_forbidden(const Output& output) {
    EXPECT_EQ(output.exit_code, 77) << output.out << output.err;
    EXPECT_NE(output.err.find("FORBIDDEN"), std::string::npos) << output.err;
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    return (scratch_.path() / name).string();
  }
  // Starts a run that waits for an approval. Returns its id.
  std::string start_asking() const {
    return start_run_of("name = \"asks\"\n[[station]]\nname = \"ask\"\nexecutor = \"approval\"\n",
                        "publish");
  }
  // Starts a run whose one job executes the script. `allow` is the station's key. Returns its id.
  std::string start_job(const std::string& script, const std::string& allow = "[]") const {
    write_text(file("job.sh"), script);
    return start_run_of(
        "name = \"job\"\n[[station]]\nname = \"go\"\nexecutor = \"process\"\n"
        "command = [\"sh\", \"" +
            file("job.sh") + "\"]\nallow = " + allow +
            "\n[station.retry]\nmax_retries = 0\nstrategies = [\"original\"]\n",
        "work");
  }
  [[nodiscard]] bool waits_for_approval(const std::string& run_id) const {
    return all_events("StationApproved").empty() && text(run(run_id), "status") != "succeeded";
  }
  // Returns the shell command that approves the run, and the lines before and after it.
  [[nodiscard]] std::string approval_of(const std::string& run_id) const {
    return std::string(SIGNALBOX_BINARY) + " run resume " + run_id +
           " --station ask --decision approve --socket " + server_.socket().string();
  }
};

// Its secret may be where the end of its processes doesn't reach, as in a container.
TEST_F(PrincipalTest, WhatAJobWaitsForEndsWithItsAttempt) {  // G10, P4
  const json::object held =
      rpc("lock.acquire", {{"key", "deploy"}, {"owner", "me"}, {"lease_ms", 600'000}});
  const std::string id =
      start_job("printf %s \"$SIGNALBOX_JOB_TOKEN\" >'" + file("secret.part") + "'; mv '" +
                    file("secret.part") + "' '" + file("secret") + "'; sleep 600",
                R"(["locks"])");
  await([this] { return std::filesystem::exists(file("secret")); });
  auto elsewhere = test::Connection::open(server_.socket());
  auto follower = test::Connection::open(server_.socket());
  ASSERT_TRUE(elsewhere && follower);
  for (auto* each : {&*elsewhere, &*follower}) {
    test::result_of(each->call("server.authenticate", {{"secret", content_of(file("secret"))}}));
  }
  test::result_of(follower->call("events.subscribe", {{"run_id", id}}));
  const json::object wait{{"jsonrpc", "2.0"},
                          {"id", 7},
                          {"method", "lock.acquire"},
                          {"params", {{"key", "deploy"}, {"owner", "x"}, {"wait_ms", 600'000}}}};
  ASSERT_TRUE(elsewhere->send(json::serialize(wait) + "\n"));
  await([&] { return rpc("lock.get", {{"key", "deploy"}}).at("waiting") == 1; });
  result({"run", "cancel", id});
  const auto answer = elsewhere->message();
  ASSERT_TRUE(answer);
  EXPECT_EQ(text(answer->at("error").at("data").as_object(), "code"), "UNAUTHENTICATED");
  while (follower->message()) {
  }
  EXPECT_TRUE(follower->closed_by_server());
  rpc("lock.release", {{"key", "deploy"}, {"token", held.at("token")}});
  EXPECT_TRUE(rpc("lock.get", {{"key", "deploy"}}).at("lock").is_null());
}

TEST_F(PrincipalTest, AWorkerCantUseTheTokensOfAnother) {  // G8
  const auto ann = issue("ann", "worker");
  const auto bob = issue("bob", "worker");
  const std::string id = start_run("shared");
  const Output claimed =
      server_.cli({"station", "claim", "--worker", "ann", "--run", id, "--json"}, ann);
  ASSERT_EQ(claimed.exit_code, 0) << claimed.err;
  const std::string token =
      json::serialize(one_object(claimed).at("result").at("claim").at("token"));
  const auto station = [&](const std::string& verb, std::vector<std::string> more,
                           const std::vector<std::string>& environment) {
    std::vector<std::string> words = {"station",   verb,   "--run",   id,
                                      "--station", "plan", "--token", token};
    words.insert(words.end(), more.begin(), more.end());
    return server_.cli(words, environment);
  };
  expect_forbidden(station("heartbeat", {}, bob));
  expect_forbidden(station("complete", {"--outcome", "succeeded"}, bob));
  EXPECT_TRUE(events(id, "StationSucceeded").empty());

  const Output locked = server_.cli({"lock", "acquire", "deploy", "--owner", "ann", "--json"}, ann);
  ASSERT_EQ(locked.exit_code, 0) << locked.err;
  const std::string lock = json::serialize(one_object(locked).at("result").at("token"));
  expect_forbidden(server_.cli({"lock", "release", "deploy", "--token", lock}, bob));
  expect_forbidden(server_.cli({"lock", "refresh", "deploy", "--token", lock}, bob));
  // The owner's name doesn't help either.
  EXPECT_EQ(code_of(server_.cli({"lock", "acquire", "deploy", "--owner", "ann", "--json"}, bob)),
            "LOCK_HELD");

  // It holds over a restart, whose state comes from the log or from a snapshot.
  server_.kill();
  server_.start();
  expect_forbidden(server_.cli({"lock", "release", "deploy", "--token", lock}, bob));
  EXPECT_EQ(station("heartbeat", {}, ann).exit_code, 0);
  EXPECT_EQ(station("complete", {"--outcome", "succeeded"}, ann).exit_code, 0);
  EXPECT_EQ(server_.cli({"lock", "release", "deploy", "--token", lock}).exit_code, 0) << "an admin";
}

TEST_F(PrincipalTest, AViewerSeesALockWithoutItsToken) {  // G8
  const auto eve = issue("eve", "viewer");
  ASSERT_EQ(server_.cli({"lock", "acquire", "deploy", "--owner", "ann"}).exit_code, 0);
  const Output listed = server_.cli({"lock", "list", "--json"}, eve);
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  const json::object lock = one_object(listed).at("result").at("locks").at(0).as_object();
  EXPECT_EQ(text(lock, "owner"), "ann");
  EXPECT_TRUE(lock.at("token").is_null()) << listed.out;
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"lock", "list"}, {"lock", "get", "deploy"}, {"events"}, {"tick", "list"}}) {
    const Output shown = server_.cli(words, eve);
    EXPECT_EQ(shown.exit_code, 0) << words[0] << ' ' << words[1] << shown.err;
  }
}

TEST_F(PrincipalTest, NoJobApprovesHoweverItHidesItself) {  // G10
  const std::string asking = start_asking();
  const auto stolen = issue("operator", "operator");
  const std::string approve = approval_of(asking);
  const std::string own = "PATH=\"$PATH\" ";
  const std::string id =
      start_job("cd '" + scratch_.path().string() + "'\n" +                                     //
                approve + " 2>direct.err; echo $? >direct\n" +                                  //
                "env -i " + own + approve + " 2>bare.err; echo $? >bare\n" +                    //
                "env " + stolen.front() + " " + approve + " 2>stolen.err; echo $? >stolen\n" +  //
                // Forks twice and begins a session of its own, without any of its variables.
                "setsid env -i " + own + "sh -c '(" + approve +
                " 2>forked.err; echo $? >forked.new; mv forked.new forked) &' &\n" +
                "while [ ! -e forked ]; do sleep 0.05; done\n");
  await_status(id, "succeeded");
  for (const std::string way : {"direct", "bare", "stolen", "forked"}) {
    EXPECT_EQ(content_of(file(way)), "77\n") << way << ": " << content_of(file(way + ".err"));
    EXPECT_NE(content_of(file(way + ".err")).find("FORBIDDEN"), std::string::npos) << way;
  }
  EXPECT_TRUE(waits_for_approval(asking));
  const auto denied = all_events("AccessDenied");
  ASSERT_FALSE(denied.empty());
  for (const json::value& each : denied) {
    EXPECT_EQ(each.at("actor").as_string(), "job:" + id + "/go/1");
    EXPECT_EQ(each.at("data").at("method").as_string(), "run.resume");
  }
  // A person decides.
  EXPECT_EQ(
      server_.cli({"run", "resume", asking, "--station", "ask", "--decision", "approve"}).exit_code,
      0);
  EXPECT_EQ(all_events("StationApproved").at(0).at("actor").as_string().find("uid:"), 0U);
}

// Then its processes have no shim above them, but still the job's secret.
TEST_F(PrincipalTest, AJobThatKillsItsShimDoesntBecomeItsOperator) {  // G10
  const std::string asking = start_asking();
  const std::string id = start_job("kill -9 $PPID\n" + approval_of(asking) + "\n");
  await_status(id, "failed");
  EXPECT_TRUE(waits_for_approval(asking));
}

TEST_F(PrincipalTest, AJobReportsReadsItsRunAndLocks) {  // G10
  const std::string binary = SIGNALBOX_BINARY;
  const std::string other = start_run("not the job's");
  const std::string id = start_job(
      "cd '" + scratch_.path().string() + "'\nset -e\n" +  //
          binary + " station heartbeat\n" +                //
          binary + " run get $SIGNALBOX_RUN_ID\n" +        //
          binary + " lock exec deploy -- true\n" +         //
          "if " + binary + " tick begin nightly --reason due 2>tick.err; then exit 4; fi\n" +
          "grep -q FORBIDDEN tick.err\ngrep -q 'allow = ' tick.err\n" + "if " + binary +
          " run get " + other + "; then exit 5; fi\n" + "if " + binary +
          " run start more; then exit 6; fi\n" +
          "printf %s \"$SIGNALBOX_JOB_TOKEN\" >secret.new\nmv secret.new secret\n" +
          "while [ ! -e checked ]; do sleep 0.05; done\n",
      "[\"locks\"]");
  await([&] {
    return std::filesystem::exists(file("secret")) || text(run(id), "status") == "failed";
  });
  ASSERT_TRUE(std::filesystem::exists(file("secret"))) << server_.cli({"run", "get", id}).out;
  EXPECT_EQ(events(id, "StationHeartbeat").at(0).at("actor").as_string(), "job:" + id + "/go/1");
  EXPECT_EQ(all_events("LockReleased").at(0).at("actor").as_string(), "job:" + id + "/go/1");

  // Whoever has the secret is this job and nobody else, and only while its attempt lasts.
  const std::vector<std::string> secret = {"SIGNALBOX_ACCESS_TOKEN=" + content_of(file("secret"))};
  EXPECT_EQ(server_.cli({"run", "get", id}, secret).exit_code, 0);
  expect_forbidden(server_.cli({"run", "get", other}, secret));
  write_text(file("checked"), "");
  await_status(id, "succeeded");
  const Output ended = server_.cli({"run", "get", id}, secret);
  EXPECT_EQ(ended.exit_code, 77);
  EXPECT_NE(ended.err.find("UNAUTHENTICATED"), std::string::npos) << ended.err;
  struct stat key {};
  ASSERT_EQ(::stat((server_.data() / "jobs.key").c_str(), &key), 0);
  EXPECT_EQ(key.st_mode & 0777U, 0600U);
}

// Its job is over when somebody decides, and so is the server's life in which it asked.
TEST_F(PrincipalTest, AJobAsksForAnApprovalOfItsOwnRun) {  // G10
  const std::string binary = SIGNALBOX_BINARY;
  const std::string self = "run resume $SIGNALBOX_RUN_ID --station go --decision approve";
  const std::string id =
      start_job("cd '" + scratch_.path().string() + "'\nset -e\n" +  //
                binary + " station request-approval --question 'may I drop the table?'\n" + "if " +
                binary + " " + self + " 2>self.err; then exit 5; fi\n" +
                "grep -q FORBIDDEN self.err\necho done >\"$SIGNALBOX_ARTIFACTS_DIR/plan.md\"\n");
  await([&] {
    return !events(id, "StationResultHeld").empty() || text(run(id), "status") == "failed";
  });
  ASSERT_EQ(events(id, "StationResultHeld").size(), 1U) << server_.cli({"run", "get", id}).out;
  EXPECT_EQ(events(id, "StationApprovalRequested").at(0).at("actor").as_string(),
            "job:" + id + "/go/1");
  const std::string shown = json::serialize(result({"run", "get", id}));
  EXPECT_NE(shown.find(R"("waiting_note":"may I drop the table?")"), std::string::npos) << shown;
  const json::object why = result({"run", "why", id});
  EXPECT_NE(json::serialize(why).find("--decision approve"), std::string::npos);

  server_.kill();
  server_.start();
  EXPECT_TRUE(waits_for_approval(id));
  const std::string asked =
      json::serialize(events(id, "StationApprovalRequested").at(0).as_object().at("position"));
  EXPECT_EQ(json::serialize(run(id).at("stations").at(0).at("asked")), asked);
  EXPECT_NE(server_.cli({"run", "resume", id, "--decision", "approve", "--asked", "1"}).exit_code,
            0);
  ASSERT_EQ(server_.cli({"run", "resume", id, "--decision", "approve", "--asked", asked}).exit_code,
            0);
  await_status(id, "succeeded");
  EXPECT_EQ(events(id, "StationClaimed").size(), 1U) << "it isn't done twice";
  EXPECT_EQ(events(id, "StationApproved").at(0).at("actor").as_string().find("uid:"), 0U);
}

// It waits for the answer while it runs.
TEST_F(PrincipalTest, AJobWaitsForTheApprovalThatItAskedFor) {  // G10
  const std::string binary = SIGNALBOX_BINARY;
  const std::string id = start_job(
      binary + " station request-approval --question 'may I go on?'\n" + "while " + binary +
      " run get $SIGNALBOX_RUN_ID --json | grep -q '\"waiting_for\":\"approval\"'; do sleep 0.05; "
      "done\n");
  await([&] { return !events(id, "StationApprovalRequested").empty(); });
  ASSERT_EQ(
      server_.cli({"run", "resume", id, "--station", "go", "--decision", "approve"}).exit_code, 0);
  await_status(id, "succeeded");
  EXPECT_EQ(events(id, "StationApprovalGiven").size(), 1U);
  EXPECT_TRUE(events(id, "StationResultHeld").empty());

  const std::string refused =
      start_job(binary + " station request-approval --question 'may I go on?'\n" +
                "while :; do sleep 0.05; done\n");
  await([&] { return !events(refused, "StationApprovalRequested").empty(); });
  ASSERT_EQ(
      server_.cli({"run", "resume", refused, "--station", "go", "--decision", "reject"}).exit_code,
      0);
  await_status(refused, "failed");
  const json::object ended = run(refused);
  EXPECT_EQ(text(ended.at("error").as_object(), "code"), "REJECTED");
  EXPECT_EQ(events(refused, "StationSucceeded").size(), 0U);
}

}  // namespace
}  // namespace signalbox
