// `audit retain` moves records older than a policy into an archive and out of the log. State,
// proofs and everything open are as before. All with the real binary on a real log.
#include "tests/crash/fake_wall_clock.h"
#include "tests/scenarios/retention_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

TEST_F(RetentionTest, DropsWhatEndedAndKeepsWhatIsOpen) {
  const std::string ended = ended_run("the one that ended");
  const std::string open = start_run("the one that is open");
  const std::string token = claim(open);
  append_events(700);
  const json::object shown = run(open);
  server_.stop();
  const json::object before = replayed();

  const json::object planned = retained({"--dry-run"});
  EXPECT_FALSE(planned.at("dropped").as_bool());
  EXPECT_FALSE(fs::exists(at("archive")));
  EXPECT_EQ(replayed().at("position"), before.at("position"));
  const json::object done = retained();
  EXPECT_TRUE(done.at("dropped").as_bool());
  for (const char* key : {"from", "horizon", "records_dropped", "records_kept", "runs_dropped",
                          "runs_kept", "archive"}) {
    EXPECT_EQ(done.at(key), planned.at(key)) << key;
  }
  EXPECT_EQ(done.at("runs_dropped"), 1);
  EXPECT_EQ(done.at("runs_kept"), 1);
  EXPECT_EQ(number(done, "horizon"), number(before, "position"));
  EXPECT_GE(number(done, "records_kept"), 2);
  EXPECT_LT(number(done, "log_bytes_after"), number(done, "log_bytes_before"));
  expect_verified(text(done, "archive"));

  const json::object after = replayed({"--to", std::to_string(number(before, "position"))});
  EXPECT_EQ(after.at("state_digest"), before.at("state_digest"));
  EXPECT_EQ(server_.cli({"replay", "--verify"}).exit_code, 0);

  server_.start();
  EXPECT_EQ(run(open), shown);
  EXPECT_EQ(complete(open, "plan", token, "succeeded").exit_code, 0) << "its token is still good";
  EXPECT_EQ(complete(open, "implement", claim(open), "succeeded").exit_code, 0);
  for (const char* query : {"get", "trace", "why"}) {  // not found, with the archive that has it
    const Output gone = server_.cli({"run", query, ended, "--json"});
    EXPECT_EQ(code_of(gone), "RUN_NOT_FOUND");
    const json::object data = one_object(gone).at("error").at("data").as_object();
    EXPECT_EQ(data.at("details").at("archive"), done.at("archive"));
    const Output found =
        run_process({"sh", "-c", std::string(data.at("next_commands").at(1).as_string())}, {});
    EXPECT_NE(found.out.find("the one that ended"), std::string::npos) << found.err;
  }
  const json::object status = result({"status"});
  EXPECT_EQ(status.at("state_digest"), replayed().at("state_digest"));
}

TEST_F(RetentionTest, SaysWhereHistoryBegins) {
  const std::string ended = ended_run("the one that ended");
  const std::string open = start_run("the one that is open");
  append_events(20);
  server_.stop();
  const json::object done = retained();
  const std::string first = std::to_string(number(done, "horizon") + 1);
  server_.start();

  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"events", "--from", "3"},
           {"run", "list", "--at", "3"},
           {"run", "list", "--at", "3", "--socket", server_.socket().string()},
           {"replay", "--to", "3"},
           {"diff", "--from", "3"},
           {"audit", "prove", "3", "--signing-key", at("audit.key")},
           {"audit", "checkpoint", "--to", "3", "--signing-key", at("audit.key")},
           {"audit", "export", "--from", "3", "-o", at("x"), "--signing-key", at("audit.key")}}) {
    SCOPED_TRACE(words.front() + " " + words.at(1));
    auto asked = words;
    asked.emplace_back("--json");
    const Output output = server_.cli(asked);
    EXPECT_EQ(output.exit_code, 1) << output.err;
    const json::object data = one_object(output).at("error").at("data").as_object();
    EXPECT_EQ(text(data, "code"), "HISTORY_DROPPED");
    EXPECT_EQ(data.at("details").at("horizon"), done.at("horizon"));
    EXPECT_EQ(data.at("details").at("archive"), done.at("archive"));
    for (const json::value& next : data.at("next_commands").as_array()) {
      std::string command(next.as_string());
      if (command.starts_with("signalbox ")) {
        command = SIGNALBOX_BINARY + command.substr(9) + " --data " + server_.data().string();
      }
      const Output tried = run_process({"sh", "-c", command}, {});
      EXPECT_EQ(tried.exit_code, 0) << command << tried.err;
      EXPECT_FALSE(tried.out.empty()) << command;
    }
  }
  EXPECT_FALSE(fs::exists(at("x")));

  // A list from the beginning gives what there is, and says from which position it is complete.
  const json::object page = result({"rpc", "events.read", R"({"limit":1000})"});
  EXPECT_EQ(std::to_string(number(page, "history_from")), first);
  const json::array& events = page.at("events").as_array();
  ASSERT_GT(events.size(), 2U);
  EXPECT_EQ(events.front().at("type"), "RunStarted");
  EXPECT_EQ(text(events.front().as_object(), "stream"), "run/" + open);
  const Output for_people = server_.cli({"events"});
  EXPECT_NE(for_people.err.find("from position " + first), std::string::npos) << for_people.err;
  EXPECT_EQ(this->events(open, "RunStarted").size(), 1U);
  // Page by page gives the same events.
  std::size_t one_by_one = 0;
  json::object params{{"limit", 1}};
  for (bool more = true; more; ++one_by_one) {
    const json::object each = result({"rpc", "events.read", json::serialize(params)});
    params["from"] = each.at("next_from");
    more = each.at("more").as_bool();
  }
  EXPECT_EQ(one_by_one, events.size());
}

TEST_F(RetentionTest, LeavesEveryProofAsItWas) {
  ended_run("a run that ended");
  const std::string open = start_run("a run that is open");
  append_events(600);
  const std::string early = checkpoint("early.checkpoint", {"--to", "300"});
  const std::string kept =
      std::to_string(number(events(open, "RunStarted").at(0).as_object(), "position"));
  server_.stop();
  const json::object done = retained();
  expect_verified(text(done, "archive"), {"--old-checkpoint", early});
  server_.start();
  append_events(600);
  const std::string late = checkpoint("late.checkpoint");
  append_events(10);

  ASSERT_EQ(export_to("lines").exit_code, 0);
  expect_verified(at("lines"), {"--old-checkpoint", late});
  expect_verified(at("lines"), {"--old-checkpoint", text(done, "archive") + "/checkpoint"});
  ASSERT_EQ(export_to("tiles", {"--format", "tlog"}).exit_code, 0);
  expect_verified(at("tiles"), {"--old-checkpoint", late});
  for (const std::string& position :
       {kept, std::to_string(number(done, "horizon") + 1), std::to_string(1200)}) {
    const std::string file = at(position + ".tlog-proof");
    const Output proven =
        server_.cli({"audit", "prove", position, "--signing-key", at("audit.key"), "-o", file});
    EXPECT_EQ(proven.exit_code, 0) << position << ": " << proven.err;
    expect_verified(file);
  }
  const Output capsule = server_.cli(
      {"run", "export", open, "--signing-key", at("audit.key"), "-o", at("open.capsule")});
  EXPECT_EQ(capsule.exit_code, 0) << capsule.err;
  expect_verified(at("open.capsule"));
}

// Redacted records are dropped or kept like others, and are proved as before.
TEST_F(RetentionTest, WhatWasRedactedIsArchivedAndStaysProved) {
  const auto started_at = [this](const std::string& run_id) {
    return std::to_string(number(events(run_id, "RunStarted").at(0).as_object(), "position"));
  };
  const auto redact = [this](const std::string& position) {
    return server_.cli({"audit", "redact", position, "--reason", "a secret", "--json"});
  };
  const std::string ended = started_at(ended_run("the secret of one that ended"));
  const std::string open = start_run("the secret of one that is open");
  const std::string kept = started_at(open);
  append_events(300);
  server_.stop();
  ASSERT_EQ(redact(ended).exit_code, 0);
  ASSERT_EQ(redact(kept).exit_code, 0);
  const std::string early = checkpoint("early.checkpoint");
  const json::object done = retained();
  EXPECT_EQ(done.at("runs_dropped"), 1);
  expect_verified(text(done, "archive"), {"--old-checkpoint", early});
  EXPECT_EQ(server_.cli({"replay", "--verify"}).exit_code, 0);
  ASSERT_EQ(
      server_
          .cli({"run", "export", open, "--signing-key", at("audit.key"), "-o", at("open.capsule")})
          .exit_code,
      0);
  expect_verified(at("open.capsule"));

  EXPECT_EQ(code_of(redact(ended)), "HISTORY_DROPPED");
  const Output again = redact(kept);
  EXPECT_EQ(again.exit_code, 0) << again.out;
  EXPECT_FALSE(one_object(again).at("result").at("redacted").as_bool());
  server_.start();
  const json::object started = events(open, "RunStarted").at(0).as_object();
  EXPECT_TRUE(started.at("redacted").as_bool());
  EXPECT_EQ(text(run(open), "goal"), "[redacted]");
  const std::string later = started_at(start_run("a later secret"));
  server_.stop();
  const Output erased = redact(later);
  ASSERT_EQ(erased.exit_code, 0) << erased.out;
  EXPECT_EQ(server_.cli({"replay", "--verify"}).exit_code, 0);
  ASSERT_EQ(export_to("lines").exit_code, 0);
  expect_verified(at("lines"), {"--old-checkpoint", early});
  // Works, too, if the redaction event is after the horizon and its record isn't.
  expect_verified(text(retained(), "archive"), {"--old-checkpoint", early});
  EXPECT_EQ(server_.cli({"replay", "--verify"}).exit_code, 0);
  server_.start();
  EXPECT_EQ(text(run(open), "goal"), "[redacted]");
}

// A reader that starts at the horizon meets redaction events of records before it: one of them was
// kept there, one is in the archive.
TEST_F(RetentionTest, WhatWasRedactedBeforeTheHorizonIsToldOfAfterIt) {
  const test::FakeWallClock clock(scratch_.path());
  ASSERT_TRUE(clock.available()) << "libfaketime is missing: tools/packages faketime";
  const std::string ended = ended_run("the secret of one that ended");
  const std::string open = start_run("the secret of one that is open");
  append_events(20);
  std::vector<std::string> positions;
  for (const std::string& run_id : {ended, open}) {
    const json::object started = events(run_id, "RunStarted").at(0).as_object();
    positions.push_back(std::to_string(number(started, "position")));
  }
  server_.stop();
  clock.set("+2d");
  json::object done;
  clock.over([&] {
    for (const std::string& position : positions) {
      const Output redacted = server_.cli({"audit", "redact", position, "--reason", "a secret"});
      EXPECT_EQ(redacted.exit_code, 0) << redacted.err;
    }
    const Output output = retain({}, "1d");
    ASSERT_EQ(output.exit_code, 0) << output.out << output.err;
    done = one_object(output).at("result").as_object();
  });
  ASSERT_TRUE(done.at("dropped").as_bool());
  EXPECT_EQ(done.at("runs_dropped"), 1);
  EXPECT_LT(number(done, "horizon") + 2, number(replayed(), "position"));

  ASSERT_EQ(export_to("lines").exit_code, 0);
  expect_verified(at("lines"), {"--old-checkpoint", text(done, "archive") + "/checkpoint"});
  const std::string kept = at("kept.tlog-proof");
  const Output proven =
      server_.cli({"audit", "prove", positions[1], "--signing-key", at("audit.key"), "-o", kept});
  EXPECT_EQ(proven.exit_code, 0) << proven.err;
  expect_verified(kept);
  EXPECT_EQ(server_.cli({"replay", "--verify"}).exit_code, 0);
  server_.start();
  EXPECT_EQ(text(run(open), "goal"), "[redacted]");
}

// A run that was kept because it was open is dropped once it has ended; archives follow one
// another.
TEST_F(RetentionTest, GoesOnWhereTheLastOneEnded) {
  const std::string open = start_run("open at first");
  append_events(300);
  server_.stop();
  const json::object first = retained();
  EXPECT_EQ(first.at("runs_kept"), 1);
  EXPECT_FALSE(retained().at("dropped").as_bool()) << "only the record of the drop itself is new";
  server_.start();
  end_run(open);
  append_events(300);
  server_.stop();
  const json::object before = replayed();
  const json::object last = retained();
  EXPECT_EQ(last.at("runs_dropped"), 1);
  EXPECT_EQ(last.at("records_kept"), 0);
  EXPECT_EQ(number(last, "from"), number(first, "horizon") + 1);
  expect_verified(text(last, "archive"),
                  {"--old-checkpoint", text(first, "archive") + "/checkpoint"});
  const json::object after = replayed({"--to", std::to_string(number(before, "position"))});
  EXPECT_EQ(after.at("state_digest"), before.at("state_digest"));
  EXPECT_EQ(server_.cli({"replay", "--verify"}).exit_code, 0);
}

// The projections can be deleted as before: their initial state is in the log.
TEST_F(RetentionTest, AnswersTheSameWithoutProjections) {
  const std::string open = start_run("open");
  const std::string failed = start_run("rescued");
  EXPECT_EQ(complete(failed, "plan", claim(failed), "failed").exit_code, 0);
  ended_run("ended");
  const auto lock = result({"lock", "acquire", "deploy", "--owner", "me", "--lease-ms", "600000"});
  append_events(50);
  server_.stop();
  retained();
  const auto answers = [&] {
    server_.start();
    json::array all;
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"run", "list"},
                                               {"run", "get", open},
                                               {"strategy", "list"},
                                               {"tick", "list"},
                                               {"card", "list"},
                                               {"lock", "get", "deploy"},
                                               {"run", "why", open}}) {
      json::object answer = result(words);
      answer.erase("position");
      if (json::value* held = answer.if_contains("lock")) {
        held->as_object().erase("expires_at");  // leases begin anew at each start
      }
      all.emplace_back(std::move(answer));
    }
    server_.stop();
    return all;
  };
  const json::array with = answers();
  fs::remove_all(server_.data() / "projections");
  json::array without = answers();
  ASSERT_EQ(with.size(), without.size());
  for (std::size_t number = 0; number < with.size(); ++number) {
    if (number == 3) continue;  // the server's own loops tick at every start
    EXPECT_EQ(with[number], without[number]) << number;
  }
}

TEST_F(RetentionTest, RefusesWhileAServerRuns) {
  append_events(10);
  const Output output = retain();
  EXPECT_EQ(output.exit_code, 75) << output.out;
  EXPECT_EQ(code_of(output), "IN_USE");
  EXPECT_NE(output.out.find("by `signalbox serve`, process " + std::to_string(server_.pid())),
            std::string::npos)
      << output.out;
  EXPECT_NE(output.out.find("\"kill " + std::to_string(server_.pid())), std::string::npos);
  EXPECT_FALSE(fs::exists(at("archive")));
  EXPECT_FALSE(fs::exists(at("nothing")));
  const Output nowhere =
      run_process({SIGNALBOX_BINARY, "audit", "retain", "--older-than", "1d", "--archive",
                   at("archive"), "--signing-key", at("audit.key"), "--data", at("nothing")},
                  {});
  EXPECT_EQ(nowhere.exit_code, 2) << nowhere.err;
  EXPECT_FALSE(fs::exists(at("nothing")));
}

// Ages longer than any clock has run.
TEST_F(RetentionTest, NothingIsOlderThanTime) {
  ended_run("a run");
  server_.stop();
  for (const char* age : {"200000d", "9223372036854775807ms"}) {
    const Output output = retain({}, age);
    EXPECT_EQ(output.exit_code, 0) << output.out;
    EXPECT_FALSE(one_object(output).at("result").at("dropped").as_bool()) << age;
  }
}

TEST_F(RetentionTest, WhatWasKeptIsReplayedAndPlayed) {
  const std::string open = start_run("the one that is open");
  const std::string token = claim(open);
  append_events(40);
  server_.stop();
  const json::object done = retained();
  const std::string horizon = std::to_string(number(done, "horizon"));
  EXPECT_GE(result({"replay", "--run", open}).at("records").as_array().size(), 2U);
  std::ofstream(at("policy.toml")) << "";
  server_.start();
  ASSERT_EQ(complete(open, "plan", token, "succeeded").exit_code, 0);
  start_run("a later one");
  EXPECT_EQ(code_of(server_.cli({"artifacts", "rebuild", open, "--json"})), "HISTORY_DROPPED");
  for (const std::vector<std::string>& from :
       {std::vector<std::string>{}, std::vector<std::string>{"--from", horizon}}) {
    std::vector<std::string> words{"replay", "--what-if", at("policy.toml")};
    words.insert(words.end(), from.begin(), from.end());
    const json::object played = result(words);
    EXPECT_EQ(played.at("recorded").at("runs"), 1);
    EXPECT_EQ(played.at("runs_before"), 1);
  }
}

TEST_F(RetentionTest, KeepsWhatIsYounger) {
  append_events(10);
  server_.stop();
  const json::object before = replayed();
  const Output output = retain({}, "1d");
  ASSERT_EQ(output.exit_code, 0) << output.err;
  EXPECT_FALSE(one_object(output).at("result").at("dropped").as_bool());
  EXPECT_EQ(replayed().at("position"), before.at("position"));
  EXPECT_EQ(retain({}, "soon").exit_code, 2);
}

}  // namespace
}  // namespace signalbox
