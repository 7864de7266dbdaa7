// Servers of one cell, as their users see them: one takes commands, the others answer and take over
// (BEHAVIOURS, chapter K).
#include <thread>

#include "tests/scenarios/cell_fixture.h"
#include "tests/scenarios/http_client.h"
#include "tools/cli/client.h"

namespace signalbox {
namespace {

// Returns the run as a server shows it, but for its run root, which is in that server's directory.
boost::json::object shown_run(const CellPeer& peer, const std::string& run_id) {
  boost::json::object run = peer.rpc("run.get", {{"run_id", run_id}}).at("run").as_object();
  run.erase("run_root");
  return run;
}

TEST_F(CellTest, AStandbyAnswersAndSendsCommandsOn) {  // K6
  start_both();
  const std::string run_id = start_run("g", "one");
  const auto there = a_.rpc("run.get", {{"run_id", run_id}});
  EXPECT_FALSE(there.contains("as_of"));
  await_position(b_, there.at("position").to_number<std::uint64_t>());
  const auto here = b_.rpc("run.get", {{"run_id", run_id}});
  EXPECT_EQ(shown_run(b_, run_id), shown_run(a_, run_id));
  EXPECT_FALSE(text_at(here, "as_of").empty());
  EXPECT_TRUE(a_.rpc("cell.get").at("current_at").is_null());
  EXPECT_FALSE(text_at(b_.rpc("cell.get"), "current_at").empty());

  const Output refused = b_.ask({"rpc", "run.start", R"({"goal":"g"})"});
  EXPECT_EQ(refused.exit_code, 75);
  EXPECT_EQ(code_of(refused), "NOT_ACTIVE") << refused.out;
  const auto details = error_of(refused).at("data").at("details").as_object();
  EXPECT_EQ(text_at(details, "address"), a_.address());
  EXPECT_EQ(text_at(details, "server"), "a");
  // Methods without a command id that act for the log go there as well.
  for (const char* method : {"runner.register", "loop.trigger", "cell.switch"}) {
    EXPECT_EQ(code_of(b_.ask({"rpc", method, R"({"name":"heartbeat"})"})), "NOT_ACTIVE") << method;
  }

  HttpClient http(static_cast<std::uint16_t>(std::stoi(b_.address().substr(16))));
  const auto redirected = http.post("/v1/runs", R"({"goal":"g"})");
  EXPECT_EQ(redirected.status, 307U) << redirected.body();
  EXPECT_EQ(redirected.header("Location"), "http" + a_.address().substr(3) + "/v1/runs");
  EXPECT_EQ(http.get("/readyz").status, 503U);
  EXPECT_EQ(http.get("/healthz").status, 200U);
  // Whoever names both addresses isn't told: the command goes to the one that takes it.
  const Output both = run_process({SIGNALBOX_BINARY, "run", "start", "g", "--json", "--server",
                                   b_.address() + "," + a_.address()});
  EXPECT_EQ(both.exit_code, 0) << both.out << both.err;
}

TEST_F(CellTest, TakesOverFromAServerThatWasKilled) {  // K3
  start_both();
  const std::string run_id = start_run("first", "once");
  const auto claimed = result({"station", "claim", "--worker", "w", "--run", run_id});
  const auto token = boost::json::serialize(claimed.at("claim").at("token"));
  a_.server().kill();
  // The command's effect is known to the successor, and so is the claim.
  EXPECT_EQ(start_run("first", "once"), run_id);
  (void)result({"station", "complete", "--run", run_id, "--station", "work", "--token", token,
                "--outcome", "succeeded"});
  EXPECT_EQ(status_of(run_id), "succeeded");
  EXPECT_EQ(result({"run", "list"}).at("runs").as_array().size(), 1U);
  await_role(b_, "active");
  EXPECT_TRUE(b_.server().logs("the connection of a has ended"));
  // The former one is a standby now, with the same log.
  a_.server().start();
  await_role(a_, "standby");
  await_position(a_, b_.rpc("cell.get").at("position").to_number<std::uint64_t>());
  EXPECT_EQ(shown_run(a_, run_id), shown_run(b_, run_id));
}

TEST_F(CellTest, AServerThatHungIsDeposed) {  // K3
  start_both();
  a_.pause();
  // It listens all the same: this one is answered when it goes on, and must not be taken.
  Output late;
  std::thread asks([&] { late = a_.ask({"rpc", "run.start", R"({"goal":"late"})"}); });
  const std::string run_id = start_run("meanwhile", "m");
  await_role(b_, "active");
  a_.go_on();
  asks.join();
  EXPECT_NE(late.exit_code, 0) << late.out;
  await_role(a_, "standby");
  EXPECT_TRUE(a_.server().logs("no longer the writer of the cell main"));
  await_position(a_, b_.rpc("cell.get").at("position").to_number<std::uint64_t>());
  EXPECT_EQ(a_.rpc("run.list").at("runs").as_array().size(), 1U);
  EXPECT_EQ(status_of(run_id), "queued");
  // It wasn't ended for that, and can take over again.
  b_.server().kill();
  await_role(a_, "active");
  EXPECT_EQ(status_of(run_id), "queued");
}

TEST_F(CellTest, IsSwitchedByAPerson) {  // K4
  start_both();
  const std::string run_id = start_run("g", "one");
  EXPECT_EQ(code_of(a_.ask({"cell", "switch", "--to", "nobody"})), "NOT_ALLOWED");
  EXPECT_TRUE(eventually([&] { return a_.ask({"cell", "switch", "--to", "b"}).exit_code == 0; }));
  await_role(b_, "active");
  await_role(a_, "standby");
  EXPECT_EQ(status_of(run_id), "queued");
  // Nothing crashed: the former one ended its part with a last event.
  const auto events = b_.rpc("events.read", {{"types", {"ServerStopped", "RecoveryFinished"}}});
  ASSERT_EQ(events.at("events").as_array().size(), 1U) << boost::json::serialize(events);
  EXPECT_EQ(text_at(events.at("events").as_array()[0].as_object(), "type"), "ServerStopped");
  const Output again = b_.ask({"cell", "switch", "--from", "a"});
  EXPECT_EQ(code_of(again), "NOT_ALLOWED");
  EXPECT_NE((again.out + again.err).find("b takes commands already, and not a"), std::string::npos)
      << again.out << again.err;
  EXPECT_TRUE(eventually([&] { return b_.ask({"cell", "switch", "--from", "b"}).exit_code == 0; }));
  await_role(a_, "active");
  EXPECT_EQ(a_.server().stop(), 0);
  await_role(b_, "active");
  EXPECT_EQ(b_.server().stop(), 0);
}

TEST_F(CellTest, WhatIsDecidedAboutRunnersHoldsAtTheNextServer) {  // K3, K4, N3
  start_both();
  const auto gone = a_.rpc("runner.register", {{"name", "gone"}});
  const auto idle = a_.rpc("runner.register", {{"name", "idle"}});
  for (const auto& each : {gone, idle}) {
    const Output told = a_.ask({"rpc", "runner.exchange", report_of(each, 1)});
    ASSERT_EQ(told.exit_code, 0) << told.out;
  }
  EXPECT_EQ(code_of(b_.ask({"runner", "evict", text_at(gone, "runner")})), "NOT_ACTIVE");
  (void)result({"runner", "evict", text_at(gone, "runner")});
  (void)result({"runner", "drain", text_at(idle, "runner"), "--command-id", "d"});
  const auto at_next = [&](CellPeer& next) {
    EXPECT_EQ(code_of(next.ask({"rpc", "runner.exchange", report_of(gone, 2)})), "RUNNER_EVICTED");
    const auto told = next.ask({"rpc", "runner.exchange", report_of(idle, 2)});
    EXPECT_NE(told.out.find("\"drains\":true"), std::string::npos) << told.out;
    EXPECT_EQ(text_at(next.rpc("runner.get", {{"runner", gone.at("runner")}}), "state"), "evicted");
    // A command that was answered at the other one isn't done again.
    EXPECT_TRUE(result({"runner", "drain", text_at(idle, "runner"), "--command-id", "d"})
                    .contains("replayed"));
  };
  EXPECT_TRUE(eventually([&] { return a_.ask({"cell", "switch", "--to", "b"}).exit_code == 0; }));
  await_role(b_, "active");
  at_next(b_);
  // Also after one that wasn't planned.
  await_role(a_, "standby");
  b_.server().kill();
  await_role(a_, "active");
  at_next(a_);
  (void)result({"runner", "evict", "--off", text_at(gone, "runner")});
  EXPECT_EQ(a_.ask({"rpc", "runner.exchange", report_of(gone, 3)}).exit_code, 0);
}

// Each server had kept what it was asked for; only the writer of the log may record that.
TEST_F(CellTest, WhatAServerHadKeptAboutRunnersIsRecordedWhenItTakesOver) {  // K3, N3
  const std::string gone = "runner:gone-0123456789abcdef";
  const auto file = b_.server().data() / "runners.json";
  const std::string text =
      R"({"schema":"runner_decisions.v1","drained":[],"evicted":[")" + gone + "\"]}\n";
  write_text(file, text);
  start_both();
  const auto recorded = [&] {
    return a_.rpc("events.read", {{"types", boost::json::array{"RunnerEvicted"}}})
        .at("events")
        .as_array();
  };
  const std::string run_id = start_run("g", "one");
  await_position(b_, a_.rpc("cell.get").at("position").to_number<std::uint64_t>());
  EXPECT_TRUE(recorded().empty());
  EXPECT_EQ(content_of(file), text);
  EXPECT_TRUE(eventually([&] { return a_.ask({"cell", "switch", "--to", "b"}).exit_code == 0; }));
  await_role(b_, "active");
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(file); })) << b_.server().messages();
  await_role(a_, "standby");
  await_position(a_, b_.rpc("cell.get").at("position").to_number<std::uint64_t>());
  ASSERT_EQ(recorded().size(), 1U);
  EXPECT_EQ(text_at(recorded()[0].as_object(), "actor"), "signalbox");
  EXPECT_EQ(status_of(run_id), "queued");
}

TEST_F(CellTest, GoesOnWhenTheDatabaseWasFailedOver) {  // K3, trap 2
  start_both();
  const std::string run_id = start_run("g", "one");
  const auto claimed =
      result({"station", "claim", "--worker", "w", "--run", run_id, "--lease-ms", "60000"});
  const auto token = boost::json::serialize(claimed.at("claim").at("token"));
  nodes_.kill(nodes_.primary());
  // Without its log the cell takes nothing, and shows what it has. What it took in the second
  // before it noticed would be answered once the log is back.
  EXPECT_TRUE(eventually([&] { return a_.rpc("server.limits").contains("as_of"); }))
      << a_.server().messages();
  EXPECT_EQ(code_of(a_.ask({"rpc", "run.start", R"({"goal":"x"})"})), "STORAGE_AWAY");
  const auto shown = a_.rpc("run.get", {{"run_id", run_id}});
  EXPECT_EQ(text_at(shown.at("run").as_object(), "status"), "running");
  EXPECT_FALSE(text_at(shown, "as_of").empty());
  EXPECT_NE(a_.ask({"cell", "status"}).out.find("\"trouble\":\""), std::string::npos);
  nodes_.promote();
  (void)result({"station", "complete", "--run", run_id, "--station", "work", "--token", token,
                "--outcome", "succeeded"});
  EXPECT_EQ(status_of(run_id), "succeeded");
  EXPECT_FALSE(start_run("g", "two").empty());
  const auto attempts = result({"run", "get", run_id}).at("run").at("stations").as_array();
  EXPECT_EQ(attempts[0].at("attempts").as_array().size(), 1U) << "a worker lost its claim";
}

TEST_F(CellTest, AnArtifactInTheOtherServersDirectoryIsNotDamaged) {  // K6
  start_both();
  const std::string run_id = start_run("g", "one");
  const auto claimed = result({"station", "claim", "--worker", "w", "--run", run_id});
  const auto token = boost::json::serialize(claimed.at("claim").at("token"));
  write_text(scratch_.path() / "plan.md", "a plan");
  (void)result({"station", "complete", "--run", run_id, "--station", "work", "--token", token,
                "--outcome", "succeeded", "--artifact",
                "plan.md=" + (scratch_.path() / "plan.md").string()});
  await_position(b_, a_.rpc("cell.get").at("position").to_number<std::uint64_t>());
  const boost::json::object asked{{"run_id", run_id}, {"name", "plan.md"}};
  EXPECT_EQ(text_at(a_.rpc("run.artifact", asked), "content"), "a plan");
  const Output refused = b_.ask({"rpc", "run.artifact", boost::json::serialize(asked)});
  EXPECT_EQ(code_of(refused), "ARTIFACT_NOT_FOUND") << refused.out;
  HttpClient http(static_cast<std::uint16_t>(std::stoi(b_.address().substr(16))));
  EXPECT_EQ(http.get("/v1/runs/" + run_id + "/artifacts/plan.md").status, 404U);
}

// An append whose fate is unknown keeps every answer back that came after it, but for this one.
TEST_F(CellTest, SaysHowItIsToATokenWhileItsLogIsAway) {  // K3
  start_both();
  const std::string token = (scratch_.path() / "token").string();
  write_text(token, a_.server().cli({"access", "issue", "one", "--role", "viewer"}).out);
  auto client = Client::connect(*ServerAddress::parse(a_.address()), std::chrono::seconds(60));
  ASSERT_TRUE(client);
  nodes_.freeze_standbys();
  bool is_taken = false;
  std::thread asks([&] {
    const auto one = boost::json::parse(R"({"name":"one","station":[{"name":"work"}]})");
    is_taken = client->call("run.start", {{"goal", "late"}, {"pipeline", one}}).has_value();
  });
  EXPECT_TRUE(eventually([&] {
    const auto cell = a_.rpc("cell.get");
    return cell.contains("waiting_append") && cell.at("waiting_append").is_object();
  }));
  nodes_.kill(nodes_.primary());
  nodes_.thaw_standbys();
  ASSERT_TRUE(a_.server().logs("hasn't acknowledged anything"));
  EXPECT_EQ(code_of(a_.ask({"rpc", "run.list"})), "STORAGE_AWAY");
  const std::vector<std::string> status = {SIGNALBOX_BINARY, "cell",       "status",       "--json",
                                           "--server",       a_.address(), "--token-file", token};
  EXPECT_TRUE(eventually([&] {  // its own attempts at the database may end later
    const Output shown = run_process(status);
    return shown.exit_code == 0 && shown.out.find("\"trouble\":\"") != std::string::npos;
  }));
  // Whoever is unknown can't be recorded, and isn't kept waiting either.
  write_text(token, std::string("sbx_") + std::string(64, '0') + "\n");
  EXPECT_EQ(code_of(run_process(status)), "STORAGE_AWAY");
  nodes_.promote();
  asks.join();
  EXPECT_TRUE(is_taken);
}

TEST_F(CellTest, BeginsWithTheLogOfAServerThatWasAlone) {
  a_.configure("");
  a_.server().start();
  const auto run_id = text_at(a_.rpc("run.start", {{"goal", "before"}}), "run_id");
  EXPECT_EQ(a_.server().stop(), 0);
  CellPeer again("a", nodes_.url());  // its settings, with the cell
  std::filesystem::copy_file(again.server().data() / "signalbox.toml",
                             a_.server().data() / "signalbox.toml",
                             std::filesystem::copy_options::overwrite_existing);
  a_.server().start();
  EXPECT_TRUE(eventually([&] { return a_.role() == "active"; })) << a_.server().messages();
  EXPECT_EQ(text_at(a_.rpc("run.get", {{"run_id", run_id}}).at("run").as_object(), "goal"),
            "before");
  // What was before the cell isn't in the database: another server needs a copy, and says so.
  b_.server().launch();
  EXPECT_TRUE(eventually([&] { return !b_.server().running(); }));
  EXPECT_EQ(b_.server().stop(), 78);  // how it has ended
  EXPECT_TRUE(b_.server().logs("signalbox cell seed")) << b_.server().messages();
  EXPECT_EQ(a_.server().stop(), 0);
  seed(a_, b_);
  b_.server().start();
  await_role(b_, "active");
  EXPECT_EQ(text_at(b_.rpc("run.get", {{"run_id", run_id}}).at("run").as_object(), "goal"),
            "before");
}

// As a data directory that was copied to another machine, with its settings.
TEST_F(CellTest, RefusesASecondServerOfTheSameName) {  // K10
  start_both();
  CellPeer copy("b", nodes_.url());
  copy.server().launch();
  EXPECT_TRUE(eventually([&] { return !copy.server().running(); }));
  EXPECT_EQ(copy.server().stop(), 78);  // how it has ended
  EXPECT_TRUE(copy.server().logs("give this one a name of its own")) << copy.server().messages();
  EXPECT_EQ(b_.role(), "standby");
  // The one that has the name needs no wait to start again.
  b_.server().kill();
  b_.server().start();
  EXPECT_EQ(b_.server().messages().find("was called b"), std::string::npos);
  // And one that replaces it does, until it is gone.
  b_.server().kill();
  copy.server().start();
  await_role(copy, "standby");
  EXPECT_TRUE(copy.server().logs("takes the place of another one")) << copy.server().messages();
}

TEST_F(CellTest, AStandbyEndsIfTheTablesAreOfANewerVersion) {  // K12
  start_both();
  const auto set_version = [this](const char* version) {
    (void)nodes_.query(std::string("comment on table sb_cell is 'signalbox shared log, version ") +
                       version + "'");
    // Whoever connects looks at it.
    (void)nodes_.query(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = "
        "'signalbox'");
  };
  set_version("2");
  EXPECT_TRUE(eventually([&] { return !b_.server().running(); }));
  EXPECT_EQ(b_.server().stop(), 78);  // how it has ended
  EXPECT_TRUE(b_.server().logs("which a newer Signalbox made")) << b_.server().messages();
  set_version("1");
  EXPECT_FALSE(start_run("g", "one").empty());  // the active one has waited
}

// It ends after a minute, which the tests of the join measure with a clock of theirs.
TEST_F(CellTest, SaysIfNoHostOfTheDatabaseLetsItInAndCanBeStoppedMeanwhile) {  // K12
  CellPeer c("c", nodes_.url() + "_of_another_name");
  c.server().launch();
  ASSERT_TRUE(c.server().logs("waiting for the log of the cell"));
  EXPECT_TRUE(c.server().logs("_of_another_name")) << c.server().messages();
  EXPECT_EQ(c.server().stop(), 0) << c.server().messages();
}

TEST_F(CellTest, TwoThatStartAtOnceAgreeOnOne) {  // K3
  a_.server().launch();
  b_.server().launch();
  EXPECT_TRUE(eventually([&] {
    const std::string roles = a_.role() + b_.role();
    return roles == "activestandby" || roles == "standbyactive";
  })) << a_.server().messages()
      << b_.server().messages();
  EXPECT_FALSE(start_run("g", "one").empty());
}

}  // namespace
}  // namespace signalbox
