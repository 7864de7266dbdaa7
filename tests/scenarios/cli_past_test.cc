// The past, by --at and the debugger: a query as of a moment gives the answer that was given then.
#include <sstream>

#include "server/text/time_text.h"
#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/http_client.h"
#include "tests/scenarios/past_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

TEST_F(PastCliTest, AQueryGivesWhatItGaveThen) {  // R2
  live();
  expect_what_was_given([this](std::vector<std::string> words, const std::string& position) {
    words.insert(words.end(), {"--at", position});
    return server_.cli(words).out;
  });
}

// The directory that the command line is given has nothing, so only the server can answer.
TEST_F(PastCliTest, TheServerThatIsNamedAnswersWhatItGaveThen) {  // O4
  live();
  const std::string nowhere = (scratch_.path() / "nowhere").string();
  const auto ask = [&](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.begin(), SIGNALBOX_BINARY);
    words.insert(words.end(), {"--data", nowhere});
    words.insert(words.end(), more.begin(), more.end());
    return run_process(std::move(words));
  };
  const std::vector<std::string> over_socket = {"--socket", server_.socket().string()};
  expect_what_was_given([&](std::vector<std::string> words, const std::string& position) {
    words.insert(words.end(), {"--at", position});
    return ask(std::move(words), over_socket).out;
  });
  const Output issued = server_.cli({"access", "issue", "reader", "--role", "viewer"});
  ASSERT_EQ(issued.exit_code, 0) << issued.err;
  const std::string token = (scratch_.path() / "reader.token").string();
  write_text(token, issued.out);
  const std::string position = moments_[2].position;
  const Output listed = ask({"run", "list", "--at", position, "--json"},
                            {"--server", address(), "--token-file", token});
  EXPECT_EQ(listed.out, moments_[2].answers[0]) << listed.err;
  HttpClient client(server_.socket());
  EXPECT_EQ(client.get("/v1/runs?at=" + position).json(),
            json::parse(moments_[2].answers[0]).at("result"));
  EXPECT_EQ(client.get("/v1/runs?at=1000000").code(), "POSITION_NOT_FOUND");
  EXPECT_EQ(ask({"run", "cancel", first_, "--at", position, "--json"}, over_socket).exit_code, 77);
  EXPECT_EQ(ask({"run", "list", "--at", "yesterday"}, over_socket).exit_code, 2);
}

// A moment's ages count to it, however long ago it was.
TEST_F(PastCliTest, AgesAreThoseOfTheMoment) {  // R2
  const std::string run = start_run("the first");
  const std::string claimed_at = claim(run);  // a token is the position of its claim
  const auto attempt_of = [](const std::string& shown) {
    std::istringstream lines(shown);
    for (std::string line; std::getline(lines, line);) {
      if (line.find(" original ") != std::string::npos) return line;
    }
    return "no attempt: " + shown;
  };
  await([&] {
    return attempt_of(server_.cli({"run", "get", run}).out).find(" ago") != std::string::npos;
  });
  EXPECT_NE(attempt_of(server_.cli({"run", "get", run, "--at", "0s"}).out).find(" ago"),
            std::string::npos)
      << "the last event is the claim, and the moment is later";
  const Output here = server_.cli({"run", "get", run, "--at", claimed_at});
  EXPECT_NE(attempt_of(here.out).find(" now"), std::string::npos) << here.out << here.err;
  const Output asked =
      run_process({SIGNALBOX_BINARY, "run", "get", run, "--at", claimed_at, "--data",
                   (scratch_.path() / "nowhere").string(), "--socket", server_.socket().string()});
  EXPECT_EQ(attempt_of(asked.out), attempt_of(here.out)) << asked.err;
}

// Returns an answer without the ends of leases: as of a moment, a lease has its full length.
json::value without_lease_ends(json::value answer) {
  if (json::object* object = answer.if_object()) {
    object->erase("expires_at");
    for (auto& member : *object) member.value() = without_lease_ends(member.value());
  } else if (json::array* array = answer.if_array()) {
    for (json::value& each : *array) each = without_lease_ends(each);
  }
  return answer;
}

constexpr const char* planned_by_workers = R"(
name = "deep"
[[station]]
name = "build"
executor = "deep_work"
heartbeat_timeout = "10m"
cancel_grace = "100ms"
[station.deep_work]
explore = { worker = true }
plan = { worker = true }
step = { worker = true }
)";

TEST_F(PastCliTest, LocksProjectsCardsTheBoardAndPlansAreAsTheyWere) {  // R2
  struct Query {
    std::string method;
    json::object params;
  };
  struct Seen {
    std::string position;
    std::vector<json::value> answers;  // to the queries that there were then
  };
  std::vector<Query> queries;
  for (const char* method : {"lock.list", "project.list", "card.list", "board.get", "plan.list"}) {
    queries.push_back({method, {}});
  }
  std::vector<Seen> history;
  const auto ask = [this](const Query& query, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"rpc", query.method, json::serialize(query.params)};
    words.insert(words.end(), more.begin(), more.end());
    return without_lease_ends(result(std::move(words)));
  };
  // All answers must be of one position: if something happens in between, they are asked again.
  const auto look = [&] {
    Seen seen;
    do {
      seen.position = json::serialize(rpc("server.status").at("position"));
      seen.answers.clear();
      for (const Query& query : queries) seen.answers.push_back(ask(query));
    } while (json::serialize(rpc("server.status").at("position")) != seen.position);
    history.push_back(std::move(seen));
  };

  look();
  const json::object lock =
      result({"lock", "acquire", "deploy", "--owner", "ops", "--lease-ms", "3600000"});
  queries.push_back({"lock.get", {{"key", "deploy"}}});
  look();
  const std::string repository = (scratch_.path() / "web").string();
  make_repository(repository);
  const Output put =
      server_.cli({"project", "put", "web", "--repository", repository, "--pipeline", pipeline()});
  ASSERT_EQ(put.exit_code, 0) << put.err;
  queries.push_back({"project.get", {{"name", "web"}}});
  look();
  const std::string card =
      text(result({"card", "submit", "Fix it", "--project", "web", "--later"}), "card_id");
  queries.push_back({"card.get", {{"card_id", card}}});
  look();
  ASSERT_EQ(server_.cli({"card", "block", card, "--reason", "wait"}).exit_code, 0);
  look();
  const std::string run = start_run_of(planned_by_workers, "a parser");
  json::object of_attempt{{"run_id", run}, {"station", "build"}};
  await([&] {
    const json::object waiting = rpc("plan.list", {{"waiting_for", "explore"}});
    const json::array& plans = waiting.at("plans").as_array();
    if (plans.empty()) return false;
    of_attempt["token"] = plans.front().at("token");
    return true;
  });
  queries.push_back({"plan.get", {{"run_id", run}}});
  look();
  (void)rpc("plan.set_exploration", of_attempt);
  of_attempt["steps"] = json::parse(R"([{"id":"lex"},{"id":"parse","dependencies":["lex"]}])");
  (void)rpc("plan.set", of_attempt);
  look();
  result({"lock", "release", "deploy", "--token", json::serialize(lock.at("token"))});
  look();

  for (const Seen& seen : history) {
    for (std::size_t query = 0; query < seen.answers.size(); ++query) {
      EXPECT_EQ(ask(queries[query], {"--at", seen.position}), seen.answers[query])
          << queries[query].method << " at " << seen.position;
    }
  }
  EXPECT_EQ(server_.cli({"run", "cancel", run}).exit_code, 0);
  await_status(run, "canceled");
}

// Works without a server as well, and by a time instead of a position.
TEST_F(PastCliTest, AMomentIsAPositionATimeOrAnAge) {  // R2
  const std::string run = start_run("to be seen");
  const auto started = events(run, "RunStarted").at(0).as_object();
  const std::string time = text(started, "recorded_at");
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  ASSERT_EQ(server_.cli({"run", "cancel", run}).exit_code, 0);
  ASSERT_EQ(server_.stop(), 0);
  const auto status_at = [&](const std::string& moment) {
    return text(result({"run", "get", run, "--at", moment}).at("run").as_object(), "status");
  };
  EXPECT_EQ(status_at(json::serialize(started.at("position"))), "queued");
  EXPECT_EQ(status_at(time), "queued");
  EXPECT_EQ(status_at("1ms"), "canceled");
  EXPECT_EQ(code_of(server_.cli({"run", "list", "--at", "1970-01-01T00:00:00Z", "--json"})),
            "POSITION_NOT_FOUND");
  EXPECT_EQ(code_of(server_.cli({"run", "list", "--at", "100000", "--json"})),
            "POSITION_NOT_FOUND");
  EXPECT_EQ(server_.cli({"run", "list", "--at", "yesterday"}).exit_code, 2);
  EXPECT_EQ(server_.cli({"run", "list", "--at", ""}).exit_code, 2);
  // An age that is older than the log is the log's beginning.
  EXPECT_EQ(result({"run", "list", "--at", "1000h"}).at("position"), 1);
}

// What is asked about a stopped log, or a copy, is about the time before its end.
TEST_F(PastCliTest, AgesOfAStoppedLogCountFromItsEnd) {  // O9
  const std::string run = start_run("to be seen");
  const std::int64_t started_ns =
      parse_time(text(events(run, "RunStarted").at(0).as_object(), "recorded_at")).value();
  const Output served = server_.cli({"run", "list", "--at", "1000h"});
  EXPECT_EQ(served.err.find("counts from"), std::string::npos) << served.err;
  ASSERT_EQ(server_.cli({"run", "cancel", run}).exit_code, 0);
  ASSERT_EQ(server_.stop(), 0);
  const json::array all =
      result({"events", "--at", "0s", "--limit", "1000"}).at("events").as_array();
  const std::string end = text(all.back().as_object(), "recorded_at");
  const std::int64_t age_ms = (parse_time(end).value() - started_ns) / 1'000'000;
  ASSERT_GT(age_ms, 0);
  const Output then = server_.cli({"run", "get", run, "--at", std::to_string(age_ms) + "ms"});
  EXPECT_EQ(then.exit_code, 0) << then.err;
  EXPECT_NE(then.err.find("an age counts from the log's end, "), std::string::npos) << then.err;
  for (const char* command : {"diff", "replay"}) {
    const Output told = server_.cli({command, command == std::string("diff") ? "--from" : "--to",
                                     std::to_string(age_ms) + "ms"});
    EXPECT_NE(told.err.find("counts from the log's end"), std::string::npos) << told.err;
  }
}

// The directory of a stopped service knows the loops that were due, and the first event is before
// all of them.
TEST_F(PastCliTest, AMomentWithoutLoopsSaysSo) {  // O6, O9
  start_run("to be seen");
  ASSERT_EQ(server_.stop(), 0);
  const Output listed = server_.cli({"loop", "list", "--at", "1"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_TRUE(listed.out.starts_with("no loop was due until then")) << listed.out;
}

// A position between a station's end and the run's is inside a commit. No client ever saw that
// state, but asking for it is valid.
TEST_F(PastCliTest, APositionInsideACommitIsAnswered) {
  live();
  const auto failed = events(first_, "StationFailed").at(0).at("position");
  ASSERT_EQ(events(first_, "RunFailed").at(0).at("position").to_number<int>(),
            failed.to_number<int>() + 1);
  const auto why = result({"run", "why", first_, "--at", json::serialize(failed)});
  EXPECT_EQ(why.at("reasons").at(0).at("reason"), "running");
  EXPECT_EQ(why.at("reasons").at(0).at("cause_position"), failed);
  EXPECT_EQ(why.at("moving"), true);
}

TEST_F(PastCliTest, EventsEndAtTheMomentThatIsAskedFor) {  // R2
  live();
  const std::string position = moments_[2].position;
  const auto page = result({"events", "--at", position, "--limit", "1000"});
  EXPECT_EQ(json::serialize(page.at("events").as_array().back().at("position")), position);
  EXPECT_EQ(server_.cli({"access", "list", "--at", position}).exit_code, 0);
}

TEST_F(PastCliTest, WhatHasBeenCannotBeChanged) {
  const std::string run = start_run("as it was");
  const Output refused = server_.cli({"run", "cancel", run, "--at", "2", "--json"});
  EXPECT_EQ(refused.exit_code, 77);
  EXPECT_EQ(code_of(refused), "NOT_ALLOWED");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"events", "--follow", "--at", "1"},
        {"run", "watch", run, "--at", "2"}}) {
    EXPECT_EQ(server_.cli(words).exit_code, 2) << words[0];
  }
  EXPECT_TRUE(events(run, "RunCanceled").empty());
}

TEST_F(PastCliTest, TheDebuggerWalksBothWays) {  // R1
  live();
  const std::string script = (scratch_.path() / "script").string();
  std::ofstream(script) << "go 0\nnext\n\nback\nrun " << first_
                        << "\ntype LockAcquired\nstate\nrejection\nnonsense\ngo 1000000\nquit\n";
  const Output walked = run_process({"sh", "-c", "exec \"$0\" replay --step --data \"$1\" < \"$2\"",
                                     SIGNALBOX_BINARY, server_.data().string(), script});
  EXPECT_EQ(walked.exit_code, 0) << walked.err;
  std::vector<std::string> types;
  std::istringstream lines(walked.out);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string position;
    std::string time;
    std::string stream;
    std::string type;
    words >> position >> time >> stream >> type;
    if (!position.empty() && std::isdigit(position[0]) != 0 &&
        time.find(':') != std::string::npos) {
      types.push_back(position + " " + type);
    }
  }
  ASSERT_GE(types.size(), 6U) << walked.out;
  EXPECT_EQ(types[1], "1 ServerStarted");
  EXPECT_EQ(types[2], "2 RunStarted");
  EXPECT_EQ(types[3], "1 ServerStarted");
  EXPECT_EQ(types[4], "2 RunStarted");
  EXPECT_TRUE(types[5].ends_with(" LockAcquired")) << types[5];
  for (const char* said :
       {"serving      false → true", "owner = ops", "there is no further rejection",
        "there is no nonsense", "go takes a position from 0 to "}) {
    EXPECT_NE(walked.out.find(said), std::string::npos) << said << "\n" << walked.out;
  }
}

// `--against` finds the first event from which another program's state differs.
TEST_F(PastCliTest, ReplayAgainstAnotherProgramFindsWhereTheyPart) {  // R3
  live();
  const auto same =
      result({"replay", "--verify", "--digest-every", "3", "--against", SIGNALBOX_BINARY});
  EXPECT_GE(same.at("digests_compared").to_number<int>(), 4);
  const std::string other = (scratch_.path() / "other").string();
  std::ofstream(other) << "#!" SIGNALBOX_PYTHON
                          "\n"
                          "import json, subprocess, sys\n"
                          "ended = subprocess.run(['" SIGNALBOX_BINARY
                          "'] + sys.argv[1:], capture_output=True)\n"
                          "answer = json.loads(ended.stdout)\n"
                          "result = answer['result']\n"
                          "for each in [result] + result.get('digests', []):\n"
                          "    if each['position'] >= 8: each['state_digest'] = 'f' * 64\n"
                          "print(json.dumps(answer))\n";
  std::filesystem::permissions(other, std::filesystem::perms::owner_all);
  const Output parted =
      server_.cli({"replay", "--verify", "--digest-every", "3", "--against", other, "--json"});
  EXPECT_EQ(parted.exit_code, 78) << parted.out;
  const auto error = one_object(parted).at("error").as_object();
  EXPECT_EQ(error.at("data").at("details").at("position"), 8) << parted.out;
  const Output broken = server_.cli({"replay", "--against", "/bin/false", "--json"});
  EXPECT_NE(broken.exit_code, 0);
}

}  // namespace
}  // namespace signalbox
