// `runner.*` over the protocol: keys, bounds, and what a runner isn't told.
#include <string>

#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "server/access/secret.h"
#include "server/limits.h"
#include "store/base64.h"
#include "store/sha256.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/server/rpc_runner_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

json::array many(std::size_t count, const json::value& each) { return json::array(count, each); }

TEST_F(RpcRunners, AreKnownByTheKeyOfTheirIdAlone) {  // N3
  EXPECT_TRUE(runner.starts_with("runner:build1-")) << runner;
  EXPECT_EQ(refusal("runner.exchange", report()), "");
  EXPECT_EQ(refusal("runner.exchange", report({{"key", "sbk_0"}})), "FORBIDDEN");
  const json::object other = call("runner.register", {{"name", "build1"}});
  EXPECT_NE(other.at("runner"), json::value(runner));
  EXPECT_EQ(refusal("runner.exchange", report({{"key", other.at("key")}})), "FORBIDDEN");
  for (const char* method : {"runner.finish", "runner.upload", "runner.runs", "runner.removed"}) {
    json::object params{{"runner", runner}, {"key", other.at("key")}};
    if (std::string(method) == "runner.finish") {
      params["job_id"] = "x";
      params["result"] = to_json(JobResult{});
    }
    if (std::string(method) == "runner.upload") {
      params["sha256"] = std::string(64, '0');
      for (const char* field : {"bytes", "offset"}) params[field] = 0;
      params["content"] = "";
    }
    if (std::string(method) == "runner.removed") {
      params["run_id"] = to_json(Uuid{});
      params["path"] = "/w";
      for (const char* field : {"removed", "rescued"}) params[field] = false;
    }
    EXPECT_EQ(refusal(method, params), "FORBIDDEN") << method;
  }
}

TEST_F(RpcRunners, HaveShortNames) {  // N3
  const auto registered = [this](const std::string& name) {
    return refusal("runner.register", {{"name", name}});
  };
  EXPECT_EQ(registered(std::string(limits::runner_name_bytes_max, 'a')), "");
  EXPECT_EQ(registered(std::string(limits::runner_name_bytes_max + 1, 'a')), "INVALID_PARAMS");
  for (const char* name : {"", "A", "a b", "-a", "a/b"}) {
    EXPECT_EQ(registered(name), "INVALID_PARAMS") << name;
  }
}

TEST_F(RpcRunners, ReportWithinBounds) {  // N3
  const auto refused = [this](const char* field, const json::value& value) {
    return refusal("runner.exchange", report({{field, value}}));
  };
  EXPECT_EQ(refused("slots", limits::runner_slots_max), "");
  EXPECT_EQ(refused("slots", limits::runner_slots_max + 1), "INVALID_PARAMS");
  EXPECT_EQ(refused("slots", -1), "INVALID_PARAMS");
  EXPECT_EQ(refused("lease_ms", limits::runner_lease_ms_min), "");
  EXPECT_EQ(refused("lease_ms", limits::runner_lease_ms_min - 1), "INVALID_PARAMS");
  EXPECT_EQ(refused("lease_ms", limits::runner_lease_ms_max), "");
  EXPECT_EQ(refused("lease_ms", limits::runner_lease_ms_max + 1), "INVALID_PARAMS");
  EXPECT_EQ(refused("wait_ms", limits::runner_wait_ms_max + 1), "INVALID_PARAMS");
  EXPECT_EQ(refused("labels", json::array{"GPU"}), "INVALID_PARAMS");
  EXPECT_EQ(refused("labels", many(limits::runner_labels_max, "gpu")), "");
  EXPECT_EQ(refused("labels", many(limits::runner_labels_max + 1, "gpu")), "LIMIT_EXCEEDED");
  const std::string long_path(limits::runner_repositories_bytes_max, 'r');
  EXPECT_EQ(refused("repositories", json::array{long_path}), "");
  EXPECT_EQ(refused("repositories", json::array{long_path, "/"}), "INVALID_PARAMS");
  EXPECT_EQ(refused("repositories", many(limits::runner_repositories_max, "/r")), "");
  EXPECT_EQ(refused("repositories", many(limits::runner_repositories_max + 1, "/r")),
            "LIMIT_EXCEEDED");
  const json::object job{{"job_id", "x"}, {"external_ref", ""}};
  EXPECT_EQ(refused("jobs", many(limits::runner_jobs_max, job)), "");
  EXPECT_EQ(refused("jobs", many(limits::runner_jobs_max + 1, job)), "LIMIT_EXCEEDED");
  const json::value id = to_json(Uuid{});
  EXPECT_EQ(refusal("runner.runs", as_runner({{"runs", many(limits::runner_runs_max, id)}})), "");
  EXPECT_EQ(refusal("runner.runs", as_runner({{"runs", many(limits::runner_runs_max + 1, id)}})),
            "LIMIT_EXCEEDED");
}

// A longer reason must not keep the end of a worktree from being recorded.
TEST_F(RpcRunners, SayAtAnyLengthWhatBecameOfAWorktree) {  // N3
  const json::object said = as_runner({{"run_id", to_json(Uuid{})},
                                       {"path", "/w"},
                                       {"reason", std::string(limits::reason_bytes_max + 1, 'r')}});
  EXPECT_EQ(call("runner.removed", said).at("taken"), json::value(false));
  EXPECT_EQ(refusal("runner.removed",
                    as_runner({{"run_id", to_json(Uuid{})},
                               {"path", std::string(limits::path_bytes_max + 1, 'p')}})),
            "LIMIT_EXCEEDED");
}

// They and the service can't be upgraded at the same moment.
TEST_F(RpcRunners, OfALaterVersionSayMoreThanIsUnderstood) {  // N3
  json::object job{{"job_id", "x"}, {"external_ref", ""}, {"new", json::array{1}}};
  EXPECT_EQ(refusal("runner.exchange",
                    report({{"jobs", json::array{job}}, {"new", 1}, {"version", "9.0.0"}})),
            "");
  EXPECT_EQ(call("runner.get", {{"runner", runner}}).at("version"), json::value("9.0.0"));
  EXPECT_EQ(refusal("runner.runs", as_runner({{"new", true}})), "");
  EXPECT_EQ(refusal("runner.exchange", report({{"slots", "many"}})), "INVALID_PARAMS");
}

// What isn't theirs is to be forgotten, and its result is nobody's.
TEST_F(RpcRunners, KeepNoJobThatTheyWereNotGiven) {  // N5
  const json::object answer =
      call("runner.exchange", report({{"jobs", {{{"job_id", "0-x-1"}, {"external_ref", ""}}}}}));
  EXPECT_EQ(json::serialize(answer.at("forget")), R"(["0-x-1"])");
  const json::object taken =
      call("runner.finish", as_runner({{"job_id", "never"}, {"result", to_json(JobResult{})}}));
  EXPECT_EQ(taken.at("taken"), json::value(false));
}

// What an event can't hold would end the service, or leave the attempt without an end.
TEST_F(RpcRunners, TellNoResultThatCannotBeRecorded) {  // G1, N5
  const auto refused = [this](const JobResult& result) {
    return refusal("runner.finish", as_runner({{"job_id", "x"}, {"result", to_json(result)}}));
  };
  JobResult result;
  result.escaped_pids.assign(limits::escaped_pids_max, 1);
  EXPECT_EQ(refused(result), "");
  result.escaped_pids.push_back(1);
  EXPECT_EQ(refused(result), "LIMIT_EXCEEDED");
  result = {};
  result.usage.cost_microusd = -1;
  EXPECT_NE(refused(result), "");
  result = {};
  result.checks_changed = std::string(limits::summary_bytes_max + 1, 'a');
  EXPECT_EQ(refused(result), "LIMIT_EXCEEDED");
  result = {};
  result.result.metadata = "no JSON";
  EXPECT_EQ(refused(result), "INVALID_PARAMS");
}

// A copied work directory, or one that was set back.
TEST_F(RpcRunners, AreOneProcessAtATime) {  // N5
  EXPECT_EQ(refusal("runner.exchange", report({{"start", 2}})), "");
  EXPECT_EQ(refusal("runner.exchange", report({{"start", 2}, {"instance", "b"}})), "FORBIDDEN");
  EXPECT_EQ(refusal("runner.exchange", report({{"start", 1}, {"instance", "b"}})), "FORBIDDEN");
  EXPECT_EQ(refusal("runner.exchange", report({{"start", 3}, {"instance", "b"}})), "");
  EXPECT_EQ(refusal("runner.exchange", report({{"start", 2}})), "FORBIDDEN");
}

TEST_F(RpcRunners, OutputIsTakenOfTheirJobsUnderWayAlone) {  // N4
  const auto refused = [this](const std::string& stream, std::size_t bytes,
                              const std::string& content) {
    return refusal("runner.output", as_runner({{"job_id", "00000000-a-1"},
                                               {"stream", stream},
                                               {"offset", bytes},
                                               {"content", content}}));
  };
  EXPECT_EQ(refused("stdout", 0, "YQ=="), "FORBIDDEN");
  EXPECT_EQ(refused("../stdout", 0, "YQ=="), "INVALID_PARAMS");
  EXPECT_EQ(refused("stdout", 0, "no base64"), "INVALID_PARAMS");
  const std::string piece(limits::runner_output_bytes_max + 1, 'a');
  EXPECT_EQ(refused("stdout", 0, to_base64(piece)), "INVALID_PARAMS");
  EXPECT_EQ(refusal("runner.output", {{"runner", runner},
                                      {"key", "sbk_0"},
                                      {"job_id", "x"},
                                      {"stream", "stdout"},
                                      {"offset", 0},
                                      {"content", ""}}),
            "FORBIDDEN");
}

// A report that waited while the state was set back is asked again when it is answered.
TEST_F(RpcRunners, ReportsMayWaitWhileTheDiskFillsUp) {  // G1, N5
  const auto waiting = [this] { return json::serialize(report({{"wait_ms", 5000}})); };
  const auto first = send_from("runner.exchange", waiting());
  send(request("lock.acquire", R"({"key":"k","owner":"o"})"));
  engine.flush();
  finish(AppendStatus::full);
  EXPECT_EQ(code_of(peer->next()), "STORAGE_FULL");
  const auto second = send_from("runner.exchange", waiting());
  EXPECT_TRUE(first->lines.empty()) << "it waits again";
  EXPECT_EQ(second->lines.size(), 1U);
  const auto third = send_from("runner.exchange", waiting());
  EXPECT_EQ(first->lines.size(), 1U);
  EXPECT_TRUE(third->lines.empty());
}

TEST_F(RpcRunners, AreListedDrainedAndEvicted) {  // N3
  EXPECT_EQ(refusal("runner.get", {{"runner", runner}}), "RUNNER_NOT_FOUND");
  EXPECT_EQ(refusal("runner.exchange", report()), "");
  EXPECT_EQ(call("runner.list", {}).at("runners").as_array().size(), 1U);
  EXPECT_EQ(call("runner.get", {{"runner", runner}}).at("state"), "connected");
  EXPECT_EQ(call("runner.drain", {{"runner", runner}}).at("drains"), json::value(true));
  EXPECT_EQ(call("runner.exchange", report()).at("drains"), json::value(true));
  EXPECT_EQ(call("runner.drain", {{"runner", runner}, {"drains", false}}).at("drains"),
            json::value(false));
  EXPECT_EQ(refusal("runner.evict", {{"runner", "box"}}), "RUNNER_NOT_FOUND");
  EXPECT_EQ(refusal("runner.evict", {{"runner", runner}}), "");
  EXPECT_EQ(refusal("runner.exchange", report()), "RUNNER_EVICTED");
  EXPECT_EQ(refusal("runner.drain", {{"runner", runner}}), "RUNNER_EVICTED");
  const json::object unchanged = call("runner.evict", {{"runner", runner}});
  EXPECT_EQ(unchanged.at("evicted"), json::value(true));
  EXPECT_EQ(unchanged.at("changed"), json::value(false));
  EXPECT_EQ(call("runner.evict", {{"runner", runner}, {"evicted", false}}).at("evicted"),
            json::value(false));
  EXPECT_EQ(refusal("runner.exchange", report()), "");
  EXPECT_EQ(event_types(), (std::vector<std::string>{"RunnerDrained", "RunnerUndrained",
                                                     "RunnerEvicted", "RunnerReadmitted"}));
}

// Those of machines that came and went for years; one that is there, or that a run needs, stays so.
TEST_F(RpcRunners, DrainedOnesThatAreGoneMakeRoomForOtherDecisions) {  // N3, P11
  EXPECT_EQ(refusal("runner.exchange", report()), "");
  const std::string needed = runner_id("needed", "0123456789abcdef");
  const auto numbered = [](std::size_t count) {
    return runner_id("r" + std::to_string(count), "0123456789abcdef");
  };
  const std::string run_id = start_run(
      R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"go","executor":"process","command":["true"]}]}})");
  take(DispatchStation{*parse_uuid(run_id), ids.next_span_id(), {}, needed});
  take(DrainRunner{needed, {}});
  {
    auto transaction = engine.begin({"signalbox", {}, {}});
    for (std::size_t count = 2; count < limits::decided_runners_max; ++count) {
      ASSERT_TRUE(transaction.apply(EvictRunner{numbered(count), {}}));
    }
    ASSERT_TRUE(transaction.apply(DrainRunner{numbered(0), {}}));
  }
  commit_all();
  runners.restore(engine.world());
  EXPECT_EQ(refusal("runner.drain", {{"runner", runner}}), "LIMIT_EXCEEDED") << "it may come back";
  const auto is_wanted = [](const std::string&, const std::string&) { return false; };
  clock.advance_ms(limits::runner_lease_ms_default + 1);
  runners.sweep(clock.monotonic_ns(), is_wanted);  // it was stopped meanwhile
  for (std::int64_t s = 0; s <= limits::runner_lease_ms_default / 1000; ++s) {
    clock.advance_ms(1000);
    runners.sweep(clock.monotonic_ns(), is_wanted);
  }
  EXPECT_EQ(refusal("runner.exchange", report()), "");
  const json::object drained = call("runner.drain", {{"runner", runner}});
  EXPECT_EQ(drained.at("runner"), json::value(runner));
  EXPECT_EQ(drained.at("drains"), json::value(true));
  EXPECT_EQ(engine.world().standing_of(runner), RunnerStanding::drained);
  EXPECT_EQ(engine.world().standing_of(numbered(0)), RunnerStanding::free);
  EXPECT_EQ(engine.world().standing_of(needed), RunnerStanding::drained);
  EXPECT_EQ(engine.world().runners.size(), limits::decided_runners_max);
  runners.expect(numbered(1));
  EXPECT_EQ(refusal("runner.drain", {{"runner", numbered(1)}}), "LIMIT_EXCEEDED");
}

// Nothing is told, and nothing holds, that could still be lost.
TEST_F(RpcRunners, AreEvictedOnceThatIsDurable) {  // G1, N3
  EXPECT_EQ(refusal("runner.exchange", report()), "");
  send(request("runner.evict", json::serialize(json::object{{"runner", runner}})));
  EXPECT_TRUE(peer->lines.empty());
  EXPECT_EQ(runners.get(runner, clock.monotonic_ns()).value().state, RunnerState::connected);
  commit_all();
  EXPECT_EQ(code_of(peer->next()), "");
  EXPECT_EQ(runners.get(runner, clock.monotonic_ns()).value().state, RunnerState::evicted);
}

TEST_F(RpcRunners, ADecisionThatWasNotWrittenDoesNotHold) {  // G1, N3
  EXPECT_EQ(refusal("runner.exchange", report()), "");
  send(request("runner.evict", json::serialize(json::object{{"runner", runner}})));
  engine.flush();
  finish(AppendStatus::full);
  EXPECT_EQ(code_of(peer->next()), "STORAGE_FULL");
  engine.leave_storage_full();
  EXPECT_EQ(refusal("runner.exchange", report()), "");
  EXPECT_EQ(call("runner.get", {{"runner", runner}}).at("state"), "connected");
}

TEST_F(RpcRunners, ADecisionThatIsRepeatedIsMadeOnce) {  // G2, N3
  EXPECT_EQ(refusal("runner.exchange", report()), "");
  const json::object drain{{"runner", runner}, {"command_id", "d1"}};
  EXPECT_FALSE(call("runner.drain", drain).contains("replayed"));
  EXPECT_EQ(refusal("runner.drain", {{"runner", runner}, {"drains", false}}), "");
  const json::object again = call("runner.drain", drain);
  EXPECT_EQ(again.at("replayed"), json::value(true));
  EXPECT_EQ(again.at("runner"), json::value(runner));
  EXPECT_EQ(again.at("drains"), json::value(true)) << "as it was answered first";
  EXPECT_EQ(again.at("changed"), json::value(true));
  EXPECT_EQ(call("runner.get", {{"runner", runner}}).at("drains"), json::value(false));
  EXPECT_EQ(event_types().size(), 2U);
  EXPECT_EQ(refusal("runner.evict", drain), "IDEMPOTENCY_CONFLICT");
}

// Of a restarted service, or another one of the cell.
TEST_F(RpcRunners, AreDecidedAboutThoughTheyHaveNotReportedHere) {  // K3, N3
  (void)take(EvictRunner{runner, {}});
  EXPECT_EQ(refusal("runner.exchange", report()), "RUNNER_EVICTED");
  EXPECT_EQ(refusal("runner.evict", {{"runner", runner}, {"evicted", false}}), "");
  EXPECT_EQ(refusal("runner.exchange", report()), "");
}

// It is shown as a trouble of the job until the result is there.
TEST_F(RpcRunners, SayWhyAResultCannotBeSent) {  // N4, O1
  const std::string job = wanted_job();
  const auto reported = [&](const json::object& more) {
    json::object said{{"job_id", job}, {"external_ref", "1"}};
    for (const auto& each : more) said[each.key()] = each.value();
    looked_again.clear();
    return refusal("runner.exchange", report({{"jobs", json::array{said}}}));
  };
  using Looks = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(reported({}), "");
  EXPECT_EQ(looked_again, (Looks{{job, ""}}));
  for (int report = 0; report < 2; ++report) {
    EXPECT_EQ(reported({{"undelivered", "HTTP 403"}, {"ending", true}}), "");
    EXPECT_EQ(looked_again, (Looks{{job, "HTTP 403"}})) << "also when nothing else is new";
  }
  EXPECT_EQ(reported({{"undelivered", std::string(limits::reason_bytes_max, 'a')}}), "");
  EXPECT_EQ(reported({{"undelivered", std::string(limits::reason_bytes_max + 1, 'a')}}),
            "LIMIT_EXCEEDED");
  EXPECT_EQ(reported({{"finished", true}}), "");
  EXPECT_EQ(looked_again, (Looks{{job, ""}}));
}

// An earlier version had kept them in a file, and the log had no room for them.
TEST_F(RpcRunners, DecisionsThatTheLogDoesNotHaveAreUndone) {  // N3
  EXPECT_EQ(refusal("runner.exchange", report()), "");
  unrecorded = {{runner, true}, {runner, false}};
  const json::object undrain{{"runner", runner}, {"drains", false}};
  EXPECT_FALSE(call("runner.drain", {{"runner", runner}, {"drains", true}}).empty());
  EXPECT_TRUE(call("runner.drain", undrain).at("changed").as_bool()) << "by the log";
  EXPECT_EQ(unrecorded.size(), 2U);
  EXPECT_TRUE(call("runner.drain", undrain).at("changed").as_bool());
  EXPECT_FALSE(call("runner.drain", undrain).at("changed").as_bool());
  const json::object readmit{{"runner", runner}, {"evicted", false}};
  EXPECT_TRUE(call("runner.evict", readmit).at("changed").as_bool());
  EXPECT_FALSE(call("runner.evict", readmit).at("changed").as_bool());
  EXPECT_TRUE(unrecorded.empty());
}

TEST_F(RpcRunners, WithAnyOtherIdAreNotFound) {  // G1, N3
  for (const std::string& id :
       {std::string(), std::string("box"), std::string("runner:never-0123456789abcdef"),
        std::string("runner:a\n"), "runner:" + std::string(500'000, 'a')}) {
    for (const char* method : {"runner.get", "runner.drain", "runner.evict"}) {
      const json::object answer = answer_to(method, {{"runner", id}});
      EXPECT_EQ(code_of(answer), id.empty() ? "INVALID_PARAMS" : "RUNNER_NOT_FOUND") << method;
      EXPECT_LT(json::serialize(answer).size(), 2000U) << method;
    }
  }
  EXPECT_TRUE(event_types().empty());
}

}  // namespace
}  // namespace signalbox
