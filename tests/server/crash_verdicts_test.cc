// Tests the verdict on each item that a crash left in flight.
#include "server/scheduler/crash_verdicts.h"

#include <gtest/gtest.h>

#include <map>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "server/scheduler/job_ownership.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class CrashVerdictsTest : public ::testing::Test, protected RpcSite {
 protected:
  void take(const Command& command) {
    const auto applied = engine.begin({"uid:1", {}, {}}).apply(command);
    ASSERT_TRUE(applied) << applied.error().message;
  }
  RunId start(ExecutorKind executor) {
    StationDefinition station;
    station.name = "work";
    station.executor = executor;
    if (executor == ExecutorKind::process) station.command = {"true"};
    StartRun command;
    command.goal = "g";
    command.pipeline = PipelineDefinition{"p", {station}};
    command.pipeline_digest.bytes[0] = static_cast<std::uint8_t>(executor);
    command.pipeline_digest.bytes[1] = ++pipelines;
    command.run_id = ids.next_run_id(0);
    take(command);
    return command.run_id;
  }
  void begin_tick(const std::string& loop) {
    BeginTick begin;
    begin.loop = loop;
    begin.lease_ms = 1000;
    take(begin);
  }
  std::vector<CrashVerdict> judge() {
    const JobOwnership ownership("here", [this](const std::string&) { return has_directory; });
    return crash_verdicts(
        engine.world(), [this](const signalbox::Run&) { return found; },
        [&ownership](const signalbox::Run& run) { return ownership.is_elsewhere(run); });
  }
  CrashVerdict only() {
    const auto all = judge();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? CrashVerdict{} : all.front();
  }
  Executed<JobState> found = JobState::running;
  bool has_directory = true;
  std::uint8_t pipelines = 0;
};

TEST_F(CrashVerdictsTest, NothingInFlightHasNoVerdict) {
  start(ExecutorKind::worker);
  EXPECT_TRUE(judge().empty());
}

TEST_F(CrashVerdictsTest, AWorkerIsListenedToForItsFullLease) {  // T8
  const RunId run = start(ExecutorKind::worker);
  ClaimStation claim;
  claim.worker = "ann";
  claim.lease_ms = 5000;
  take(claim);
  const CrashVerdict verdict = only();
  EXPECT_EQ(verdict.item.kind, RecoveredKind::claim);
  EXPECT_EQ(verdict.item.name, to_string(run) + "/work");
  EXPECT_EQ(verdict.item.token, 2U);
  EXPECT_EQ(verdict.item.verdict, Verdict::poll);
  EXPECT_NE(verdict.item.evidence.find("5000 ms"), std::string::npos);
}

TEST_F(CrashVerdictsTest, AJobIsJudgedByWhatIsFoundOfIt) {  // T8
  const RunId run = start(ExecutorKind::process);
  take(DispatchStation{run, {}});
  const std::vector<std::pair<Executed<JobState>, Verdict>> cases = {
      {JobState::running, Verdict::poll},
      {JobState::finished, Verdict::poll},
      {JobState::absent, Verdict::requeue},
      {JobState::lost, Verdict::requeue},
      {tl::unexpected(ExecutorError{ErrorClass::transient, "IO", "no permission"}),
       Verdict::needs_operator}};
  for (const auto& [state, expected] : cases) {
    found = state;
    const CrashVerdict verdict = only();
    EXPECT_EQ(verdict.item.kind, RecoveredKind::job);
    EXPECT_EQ(verdict.item.name, to_string(run) + "-work-1");
    EXPECT_EQ(verdict.item.verdict, expected) << verdict.item.evidence;
    EXPECT_FALSE(verdict.next_commands.empty());
  }
}

TEST_F(CrashVerdictsTest, WhatItSaysOfAnItemHasALimit) {  // P8
  const RunId run = start(ExecutorKind::process);
  take(DispatchStation{run, {}});
  const auto evidence_of = [this](std::size_t bytes) {
    found = tl::unexpected(ExecutorError{ErrorClass::transient, "IO", std::string(bytes, 'x')});
    return only().item.evidence;
  };
  const std::size_t others = evidence_of(0).size();
  const std::string at_limit = evidence_of(limits::evidence_bytes_max - others);
  EXPECT_EQ(at_limit.size(), limits::evidence_bytes_max);
  EXPECT_EQ(evidence_of(limits::evidence_bytes_max - others + 1), at_limit);
}

// A copied log: the job may run where it was submitted, and its directory isn't here.
TEST_F(CrashVerdictsTest, AJobOfAnotherMachineNeedsItsOperator) {  // G11
  const RunId run = start(ExecutorKind::process);
  take(DispatchStation{run, {}, {}, "there"});
  for (const JobState state :
       {JobState::running, JobState::finished, JobState::absent, JobState::lost}) {
    found = state;
    const CrashVerdict verdict = only();
    EXPECT_EQ(verdict.item.verdict, Verdict::needs_operator) << verdict.item.evidence;
    EXPECT_NE(verdict.item.evidence.find("machine there"), std::string::npos);
    ASSERT_EQ(verdict.next_commands.size(), 2U);
    EXPECT_EQ(verdict.next_commands.back(), "signalbox station settle --run " + to_string(run) +
                                                " --station work --token 2 --outcome succeeded");
  }
}

// An event of an earlier version doesn't name the machine.
TEST_F(CrashVerdictsTest, AJobWithoutAMachineIsOfWhoHasItsDirectory) {  // G11
  const RunId run = start(ExecutorKind::process);
  take(DispatchStation{run, {}});
  found = JobState::absent;
  EXPECT_EQ(only().item.verdict, Verdict::requeue);
  has_directory = false;
  EXPECT_EQ(only().item.verdict, Verdict::needs_operator);
}

// The crash report, run.why and station.settle never contradict each other.
TEST_F(CrashVerdictsTest, WhereAJobIsHasOneAnswer) {  // G11
  struct Case {
    std::string machine;
    bool has_directory;
    bool is_elsewhere;
  };
  api.ownership = std::make_shared<const JobOwnership>(
      "here", [this](const std::string&) { return has_directory; });
  for (const Case& each : std::vector<Case>{{"here", true, false},
                                            {"here", false, false},
                                            {"there", true, true},
                                            {"there", false, true},
                                            {"", true, false},
                                            {"", false, true}}) {
    SCOPED_TRACE("machine '" + each.machine + "', directory " +
                 (each.has_directory ? "yes" : "no"));
    const RunId run = start(ExecutorKind::process);
    take(DispatchStation{run, ids.next_span_id(), {}, each.machine});
    has_directory = each.has_directory;
    EXPECT_EQ(judge().back().item.verdict == Verdict::needs_operator, each.is_elsewhere);
    const std::string token = std::to_string(engine.world().find_run(run)->attempt->token);
    const auto why = ask("run.why", R"({"run_id":")" + to_string(run) + R"("})");
    ASSERT_EQ(code_of(why), "");
    const std::string text = boost::json::serialize(why.at("result"));
    EXPECT_EQ(text.find("station settle") != std::string::npos, each.is_elsewhere) << text;
    EXPECT_EQ(why.at("result").at("moving"), !each.is_elsewhere) << text;
    const auto settled =
        ask("station.settle", R"({"run_id":")" + to_string(run) + R"(","station":"work","token":)" +
                                  token + R"(,"outcome":"succeeded"})");
    EXPECT_EQ(code_of(settled), each.is_elsewhere ? "" : "STATION_NOT_CLAIMABLE");
  }
}

// The station's attempt belongs to the service; each step is held by an outside worker.
TEST_F(CrashVerdictsTest, AStepOfAnOutsideWorkerIsListenedToForItsFullLease) {  // T8
  StationDefinition station;
  station.name = "work";
  station.executor = ExecutorKind::deep_work;
  station.deep_work = DeepWorkDefinition{};
  StartRun command;
  command.goal = "g";
  command.pipeline = PipelineDefinition{"p", {station}};
  command.run_id = ids.next_run_id(0);
  take(command);
  const RunId run = command.run_id;
  take(DispatchStation{run, ids.next_span_id()});
  const Token token = engine.world().find_run(run)->attempt->token;
  take(SetExploration{run, "work", token, {}, {}, {}, {}});
  take(SetPlan{run, "work", token, {{"one", {}, {}, {}, {}}, {"two", {}, {}, {}, {}}}});
  EXPECT_EQ(judge().size(), 1U) << "none is in anybody's hands";
  take(NextStep{"ann", run, {}, 5000, {}});
  const Token step = engine.world().find_run(run)->plan->find("one")->token;
  const auto verdicts = judge();
  ASSERT_EQ(verdicts.size(), 2U);
  const CrashVerdict& verdict = verdicts.back();
  EXPECT_EQ(verdict.item.kind, RecoveredKind::step);
  EXPECT_EQ(verdict.item.name, to_string(run) + "/work/one");
  EXPECT_EQ(verdict.item.token, step);
  EXPECT_EQ(verdict.item.verdict, Verdict::poll);
  EXPECT_EQ(verdict.item.evidence, "worker ann has its full lease again: 5000 ms");
  EXPECT_EQ(verdict.next_commands.front(), "signalbox plan get " + to_string(run));
  const auto report = boost::json::parse(crash_report({7, 1, 2, 0}, verdicts)).as_object();
  EXPECT_EQ(report.at("items").at(1).at("kind"), "step");
  // This step is done by the station's own worker, whose verdict is the station's.
  take(CompleteStep{run, "one", step, {}});
  take(NextStep{"own", run, token, {}, {}});
  EXPECT_EQ(judge().size(), 1U);
}

TEST_F(CrashVerdictsTest, TicksOfOthersNeedTheirOperator) {  // T8
  begin_tick("nightly");
  begin_tick("it's late");
  begin_tick("watchdog");
  take(TimeOutTick{"it's late", 2, 1200});
  std::map<std::string, CrashVerdict> by_loop;
  for (CrashVerdict& each : judge()) by_loop[each.item.name] = each;
  ASSERT_EQ(by_loop.size(), 3U);
  EXPECT_EQ(by_loop["nightly"].item.verdict, Verdict::needs_operator);
  EXPECT_EQ(by_loop["nightly"].next_commands.back(),
            "signalbox tick recover nightly --token 1 --reason checked");
  EXPECT_EQ(by_loop["it's late"].item.verdict, Verdict::expired);
  EXPECT_EQ(by_loop["it's late"].next_commands.back(),
            R"(signalbox tick recover 'it'\''s late' --token 2 --reason checked)");
  EXPECT_EQ(by_loop["watchdog"].item.verdict, Verdict::requeue);
}

TEST_F(CrashVerdictsTest, TheReportHasThemAll) {  // T8
  begin_tick("nightly");
  AcquireLock acquire;
  acquire.key = "deploy";
  acquire.owner = "ann";
  take(acquire);
  const auto verdicts = judge();
  const auto report =
      boost::json::parse(crash_report({7, 1'700'000'000'000'000'000, 2, 19}, verdicts)).as_object();
  EXPECT_EQ(report.at("schema_version"), "crash_report.v1");
  EXPECT_EQ(report.at("incarnation").to_number<int>(), 7);
  EXPECT_EQ(report.at("last_durable_position").to_number<int>(), 2);
  EXPECT_EQ(report.at("torn_bytes").to_number<int>(), 19);
  EXPECT_EQ(report.at("items_total").to_number<int>(), 2);
  EXPECT_EQ(report.at("verdicts").at("poll").to_number<int>(), 1);
  EXPECT_EQ(report.at("verdicts").at("needs_operator").to_number<int>(), 1);
  const auto& lock = report.at("items").at(0).as_object();
  EXPECT_EQ(lock.at("kind"), "lock");
  EXPECT_EQ(lock.at("name"), "deploy");
  EXPECT_EQ(lock.at("verdict"), "poll");
  EXPECT_EQ(report.at("items").at(1).at("kind"), "tick");
}

TEST(CrashReport, ListsSoManyItemsAndCountsAll) {  // T8, P8
  std::vector<CrashVerdict> verdicts(crash_report_items_max);
  const auto report = [&verdicts] {
    return boost::json::parse(crash_report({}, verdicts)).as_object();
  };
  EXPECT_EQ(report().at("items").as_array().size(), crash_report_items_max);
  EXPECT_EQ(report().at("items_omitted"), 0);
  verdicts.emplace_back();
  EXPECT_EQ(report().at("items").as_array().size(), crash_report_items_max);
  EXPECT_EQ(report().at("items_omitted"), 1);
  EXPECT_EQ(report().at("items_total"), crash_report_items_max + 1);
}

}  // namespace
}  // namespace signalbox
