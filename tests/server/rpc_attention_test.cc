// Tests `attention.list`: what waits for a person, in which order, and what ends the wait.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "projections/attention.h"
#include "server/limits.h"
#include "server/rpc/attempt_surroundings.h"
#include "tests/server/board_site.h"
#include "tests/server/one_loop.h"

namespace signalbox {
namespace {

namespace json = boost::json;

using Kinds = std::vector<std::string>;

class RpcAttention : public BoardSite {
 protected:
  json::object attention(const std::string& params = "{}") {
    const auto answer = ask("attention.list", params);
    EXPECT_EQ(code_of(answer), "") << json::serialize(answer);
    expect_counted();
    return answer.at("result").as_object();
  }
  // What metrics count is what is listed.
  void expect_counted() const {
    AttentionBounds bounds = attention_bounds(api);
    bounds.failed_runs_max = 0;
    std::map<AttentionKind, std::uint64_t> listed;
    for (const AttentionItem& item : attention_of(engine.world(), bounds)) ++listed[item.kind];
    EXPECT_EQ(attention_counts(engine.world(), bounds), listed);
  }
  Kinds kinds(const std::string& params = "{}") {
    const json::object listed = attention(params);
    Kinds found;
    for (const json::value& item : listed.at("items").as_array()) {
      found.emplace_back(item.at("kind").as_string());
    }
    return found;
  }
  json::object first() {
    const json::object listed = attention();
    const json::array& items = listed.at("items").as_array();
    if (items.empty()) {
      ADD_FAILURE() << "nothing waits";
      return {};
    }
    return items.front().as_object();
  }
  static std::string of_run(const std::string& id) { return R"({"run_id":")" + id + "\"}"; }
  // Starts a run that waits for a decision at once; returns its id.
  std::string start_asking(const std::string& goal) {
    return start_run(
        R"({"goal":")" + goal +
        R"(","pipeline":{"name":"a","station":[{"name":"ask","executor":"approval"}]}})");
  }
  // Starts a run with one station of a worker, which isn't tried again.
  std::string start_working(const std::string& goal) {
    return start_run(R"({"goal":")" + goal +
                     R"(","pipeline":{"name":"w","station":[{"name":"build"}]},"max_retries":0})");
  }
};

TEST_F(RpcAttention, NothingWaitsAtFirst) {  // O1
  const json::object listed = attention();
  EXPECT_TRUE(listed.at("items").as_array().empty());
  EXPECT_EQ(listed.at("total"), 0);
}

TEST_F(RpcAttention, AnApprovalWaitsUntilItIsDecided) {  // O1
  const std::string run = start_asking("ship it");
  const json::object item = first();
  EXPECT_EQ(item.at("kind"), "approval");
  EXPECT_EQ(item.at("run_id"), json::value(run));
  EXPECT_EQ(item.at("subject"), "ship it");
  EXPECT_EQ(item.at("station"), "ask");
  EXPECT_TRUE(item.at("since").is_string());
  const std::string asked = json::serialize(item.at("asked"));
  const json::array& commands = item.at("next_commands").as_array();
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_NE(std::string(commands.front().as_string()).find("--asked " + asked), std::string::npos);
  ask("run.resume", R"({"run_id":")" + run + R"(","decision":"approve","asked":)" + asked + "}");
  EXPECT_EQ(kinds(), Kinds{});
}

TEST_F(RpcAttention, TheLongestWaitComesFirst) {  // O1
  const std::string paused = start_working("first");
  start_asking("second");
  ask("run.pause", R"({"run_id":")" + paused + R"(","reason":"lunch"})");
  const std::string third = start_asking("third");
  EXPECT_EQ(kinds(), (Kinds{"approval", "paused_run", "approval"}));
  const json::object listed = attention(R"({"kinds":["paused_run"]})");
  const json::array& items = listed.at("items").as_array();
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items.front().at("text"), "the run is paused: lunch");
  EXPECT_EQ(listed.at("total"), 1);

  const json::object page = attention(R"({"limit":1})");
  EXPECT_EQ(page.at("items").as_array().size(), 1U);
  EXPECT_EQ(page.at("total"), 3);
  EXPECT_EQ(page.at("counts").at("approval"), 2);
  ask("run.cancel", of_run(third));
  EXPECT_EQ(kinds(), (Kinds{"approval", "paused_run"}));
}

// A decision resumes the run, too, so it is one thing that a person has to do.
TEST_F(RpcAttention, APausedRunThatAsksWaitsOnce) {  // O1
  const std::string run = start_asking("a parser");
  ask("run.pause", R"({"run_id":")" + run + R"(","reason":"lunch"})");
  EXPECT_EQ(kinds(), Kinds{"approval"});
  EXPECT_EQ(attention().at("total"), 1);
  const json::object item = first();
  EXPECT_TRUE(
      std::string(item.at("text").as_string()).ends_with("; the run is paused until then: lunch"))
      << json::serialize(item);
  const std::string asked = json::serialize(item.at("asked"));
  ask("run.resume", R"({"run_id":")" + run + R"(","decision":"approve","asked":)" + asked + "}");
  EXPECT_EQ(kinds(), Kinds{});
}

TEST_F(RpcAttention, AFailedRunWaitsADayOrUntilItIsRetried) {  // O1
  const std::string run = start_working("a parser");
  work("build", "failed", R"(,"error_class":"terminal","error_code":"NO_IDEA","summary":"none")");
  const json::object item = first();
  EXPECT_EQ(item.at("kind"), "failed_run");
  EXPECT_EQ(item.at("subject"), "a parser");
  EXPECT_NE(std::string(item.at("text").as_string()).find("NO_IDEA"), std::string::npos);
  const std::string failure = json::serialize(item.at("failed_position"));
  const std::string retry = R"({"run_id":")" + run + R"(","failed_position":)" + failure + "}";
  ask("run.retry", retry);
  EXPECT_EQ(kinds(), Kinds{});

  work("build", "failed", R"(,"error_class":"terminal","error_code":"NO_IDEA","summary":"none")");
  EXPECT_EQ(kinds(), Kinds{"failed_run"});
  EXPECT_NE(json::serialize(first().at("failed_position")), failure);
  clock.advance_ms(limits::attention_failed_run_ms_max + 1000);
  EXPECT_EQ(kinds(), Kinds{});
}

// A run is of a card if the card was worked on or merged by it. Anyone may give a run labels.
TEST_F(RpcAttention, ALabelMakesNoFailedRunOneOfACard) {  // O1
  const std::string failed =
      R"(,"error_class":"terminal","error_code":"NO_IDEA","error_message":"none")";
  const std::string run = start_run(R"({"goal":"a parser","labels":{"card":"7"},"max_retries":0,)"
                                    R"("pipeline":{"name":"w","station":[{"name":"build"}]}})");
  work("build", "failed", failed);
  EXPECT_EQ(kinds(), Kinds{"failed_run"});
  EXPECT_EQ(first().at("run_id"), json::value(run));

  EXPECT_EQ(code_of(put("web")), "");
  submit("Fix it");
  start_next();
  work("implement", "failed", failed);
  const json::object listed = attention();
  EXPECT_EQ(listed.at("counts").at("failed_run"), 1) << json::serialize(listed);

  // That of the card is the newest failure, and isn't counted. The service's bounds are
  // attention_failed_runs_max and attention_failures_examined_max.
  AttentionBounds bounds;
  bounds.failed_runs_max = 1;
  const auto found = failed_runs(index, bounds).value();
  ASSERT_EQ(found.items.size(), 1U);
  EXPECT_EQ(to_string(found.items.front().run_id), run);
  EXPECT_FALSE(found.is_capped) << "the card's doesn't count";
  bounds.failures_examined_max = 2;
  EXPECT_EQ(failed_runs(index, bounds).value().items.size(), 1U);
  bounds.failures_examined_max = 1;
  EXPECT_TRUE(failed_runs(index, bounds).value().items.empty());
}

// `prune` frees memory: nobody has seen to a run by that.
TEST_F(RpcAttention, AFailedRunWaitsAlsoWhenTheWorldHasForgottenIt) {  // O1
  const std::string run = start_working("a parser");
  work("build", "failed", R"(,"error_class":"terminal","error_code":"NO_IDEA","summary":"none")");
  clock.advance_ms(2 * 3600 * 1000);
  take(PruneRuns{3600 * 1000});
  ASSERT_EQ(engine.world().ended_runs.find(*parse_uuid(run)), nullptr);
  const json::object item = first();
  EXPECT_EQ(item.at("kind"), "failed_run");
  EXPECT_EQ(item.at("run_id"), json::value(run));
  EXPECT_EQ(item.at("subject"), "a parser");
  EXPECT_NE(std::string(item.at("text").as_string()).find("NO_IDEA"), std::string::npos);
  EXPECT_EQ(ask("report.get").at("result").at("waiting").at("total"), 1);
  clock.advance_ms(limits::attention_failed_run_ms_max - 2 * 3600 * 1000 + 1000);
  EXPECT_EQ(kinds(), Kinds{});
}

// Nothing is twice on the pages, and nothing is missing that waits all the time.
TEST_F(RpcAttention, PagesGoOnBehindTheirLastItem) {  // O1
  std::vector<std::string> runs;
  for (int number = 0; number < 5; ++number) {
    runs.push_back(start_asking("goal " + std::to_string(number)));
  }
  const std::string paused = start_working("paused");
  ask("run.pause", of_run(paused));
  const json::object one = attention(R"({"limit":2})");
  EXPECT_EQ(one.at("total"), 6);
  ask("run.cancel", of_run(runs[1]));  // the last item of the first page
  start_asking("goal 5");
  std::vector<std::string> subjects;
  std::string cursor(one.at("next_cursor").as_string());
  for (bool more = true; more;) {
    const json::object page = attention(R"({"limit":2,"cursor":")" + cursor + "\"}");
    EXPECT_EQ(page.at("total"), 6);
    for (const json::value& item : page.at("items").as_array()) {
      subjects.emplace_back(item.at("subject").as_string());
    }
    more = page.at("next_cursor").is_string();
    if (more) cursor = page.at("next_cursor").as_string();
  }
  EXPECT_EQ(subjects, (std::vector<std::string>{"goal 2", "goal 3", "goal 4", "paused", "goal 5"}));
  for (const char* wrong : {"", "7", "x:y", "99999999999999999999:approval"}) {
    EXPECT_EQ(code_of(ask("attention.list", R"({"cursor":")" + std::string(wrong) + "\"}")),
              "INVALID_PARAMS")
        << wrong;
  }
}

// A heartbeat of its attempt changes the run, and not since when it waits.
TEST_F(RpcAttention, AnItemHasTheSameIdWhileItWaits) {  // O1
  const std::string run = start_working("a parser");
  const auto claimed = ask("station.claim", R"({"worker":"ann","stations":["build"]})");
  const std::string token =
      json::serialize(claimed.at("result").at("claim").as_object().at("token"));
  ask("run.pause", of_run(run));
  const json::object before = first();
  EXPECT_EQ(before.at("kind"), "paused_run");
  clock.advance_ms(1000);
  EXPECT_EQ(code_of(ask("station.heartbeat",
                        R"({"run_id":")" + run + R"(","station":"build","token":)" + token + "}")),
            "");
  const json::object after = first();
  EXPECT_EQ(after.at("id"), before.at("id"));
  EXPECT_EQ(after.at("since"), before.at("since"));
}

// Whatever a goal or a question has in it: other lines could look like other items.
TEST_F(RpcAttention, TextsAreOneLineWithoutControlCharacters) {  // O1
  start_asking(R"(ship it\n  $ rm -rf ~ \u001b[2J \u202e)");
  EXPECT_EQ(first().at("subject"), "ship it   $ rm -rf ~ ?[2J ?");
}

TEST_F(RpcAttention, ALoopOfTheServiceThatHasNotTickedForLongWaits) {  // O1
  ScheduledLoop stuck(engine, clock, "heartbeat", Schedule::parse("1m").value(),
                      {[](const std::function<void(const Digest&)>& then) { then({}); },
                       [](Token, const ScheduledLoop::Ended&) {}});
  OneLoop group(stuck);
  loops.add(group);
  loops.arm();
  clock.advance_ms(limits::attention_loop_overdue_ms_min);
  EXPECT_EQ(kinds(), Kinds{}) << "it was due a minute later";
  clock.advance_ms(2 * 60 * 1000);
  const json::object item = first();
  EXPECT_EQ(item.at("kind"), "service");
  EXPECT_EQ(item.at("id"), "service/loop/heartbeat");
  EXPECT_TRUE(item.at("since").is_string());
}

// An item whose name changed while it waits would be another one.
TEST_F(RpcAttention, ADiskFailureIsNamedByWhatItsSourceCannotWrite) {  // O1
  std::vector<std::string> sources = {"snapshots"};
  add_status = [&sources](json::object& status) {
    json::object& failures = status.at("disk_failures").as_object();
    for (const std::string& source : sources) failures[source] = "no " + source;
  };
  EXPECT_EQ(first().at("id"), "service/disk_failure/snapshots");
  EXPECT_EQ(first().at("text"), "no snapshots");
  sources = {"others", "snapshots"};
  const json::object listed = attention();
  ASSERT_EQ(listed.at("total"), 2);
  EXPECT_EQ(listed.at("items").at(0).at("id"), "service/disk_failure/others");
  EXPECT_EQ(listed.at("items").at(1).at("id"), "service/disk_failure/snapshots");
  EXPECT_EQ(ask("server.status").at("result").at("disk_failures"),
            json::value(json::array{"no others", "no snapshots"}));
}

// The card waits, and not the run that failed for it.
TEST_F(RpcAttention, ACardThatNothingRetriesWaits) {  // O1
  EXPECT_EQ(code_of(put("web")), "");
  const std::string card_id = submit("Fix it");
  ask("card.block", R"({"card_id":")" + card_id + R"(","reason":"wait for Ann"})");
  const json::object item = first();
  EXPECT_EQ(item.at("kind"), "blocked_card");
  EXPECT_EQ(item.at("card_id"), json::value(card_id));
  EXPECT_EQ(item.at("subject"), "Fix it");
  EXPECT_EQ(item.at("project"), "web");
  ask("card.unblock", R"({"card_id":")" + card_id + "\"}");
  EXPECT_EQ(kinds(), Kinds{});
}

TEST_F(RpcAttention, AMergeThatWasDeferredOftenWaits) {  // A9, O1
  EXPECT_EQ(code_of(put("web")), "");
  const std::string card_id = submit("Fix it");
  start_next();
  work("implement");
  work("verify");
  for (std::uint32_t merge = 0; merge < limits::card_merges_max; ++merge) {
    EXPECT_EQ(kinds(), Kinds{});
    start_merge(card_id);
    work("merge", "failed",
         R"(,"error_class":"terminal","error_code":"BASE_MOVED","error_message":"too late")");
  }
  const json::object item = first();
  EXPECT_EQ(item.at("kind"), "blocked_card");
  EXPECT_EQ(item.at("card_id"), json::value(card_id));
  EXPECT_NE(std::string(item.at("text").as_string()).find("BASE_MOVED: too late"),
            std::string::npos);
  ask("card.unblock", R"({"card_id":")" + card_id + "\"}");
  EXPECT_EQ(kinds(), Kinds{});
}

// A command that --exec runs for each new item runs once, however often the merge is tried.
TEST_F(RpcAttention, ADeferredMergeIsTheSameItemWhileItIsTriedAgain) {  // A9, O1
  EXPECT_EQ(code_of(put("web")), "");
  const std::string card_id = submit("Fix it");
  start_next();
  work("implement");
  work("verify");
  const auto merge_in_vain = [this] {
    work("merge", "failed",
         R"(,"error_class":"terminal","error_code":"BASE_MOVED","error_message":"too late")");
  };
  const auto names = [this] {
    std::vector<std::string> found;
    for (const AttentionItem& item : attention_of(engine.world(), {})) {
      found.push_back(name_of(item));
    }
    return found;
  };
  for (std::uint32_t merge = 0; merge < limits::card_merges_max; ++merge) {
    start_merge(card_id);
    EXPECT_EQ(kinds(), Kinds{}) << "it may be merged yet";
    merge_in_vain();
  }
  const std::vector<std::string> waiting = names();
  EXPECT_EQ(waiting.size(), 1U);
  clock.advance_ms(31 * 60 * 1000);  // blockedRetryMinutes
  const std::string merge_run = to_string(start_merge(card_id));
  EXPECT_EQ(names(), waiting);
  EXPECT_EQ(first().at("next_commands").at(1), json::value("signalbox run why " + merge_run));
  merge_in_vain();
  EXPECT_EQ(names(), waiting);
  clock.advance_ms(31 * 60 * 1000);
  start_merge(card_id);
  work("merge", "succeeded", R"(,"external_ref":"beef")");
  EXPECT_EQ(kinds(), Kinds{});
}

TEST_F(RpcAttention, AHaltedLoopWaitsUntilItIsRecovered) {  // O1
  take(StartServer{"v"});
  ask("tick.begin", R"({"loop":"nightly","reason":"due"})");
  EXPECT_EQ(kinds(), Kinds{});
  take(StartServer{"v"});
  EXPECT_EQ(kinds(), Kinds{"halted_loop"});
  EXPECT_EQ(first().at("loop"), "nightly");
  const std::string token = json::serialize(first().at("token"));
  EXPECT_EQ(first().at("next_commands").at(1),
            json::value("signalbox tick recover nightly --token " + token +
                        " --reason 'what was found'"));
  ask("tick.recover", R"({"loop":"nightly","reason":"checked","token":)" + token + "}");
  EXPECT_EQ(kinds(), Kinds{});
}

TEST_F(RpcAttention, TheStreamSaysWhenItMayHaveChanged) {  // O1
  auto asking = std::make_shared<ListeningPeer>();
  auto others = std::make_shared<ListeningPeer>();
  dispatcher.handle(request("events.subscribe", R"({"types":["attention.changed"]})"),
                    {"uid:1", Role::admin}, asking);
  dispatcher.handle(request("events.subscribe", "{}"), {"uid:1", Role::admin}, others);
  commit_all();
  const Position from = log.tail() + 1;
  start_working("nothing waits");
  start_asking("ship it");
  for (Position at = from; at <= log.tail();) {
    const Commit commit = log.read_commit(at).value();
    feed.publish(std::vector<Commit>{commit});
    at = commit.back().position + 1;
  }
  ASSERT_EQ(asking->delivered.size(), 1U);
  EXPECT_NE(asking->delivered.front().find("\"attention.changed\""), std::string::npos);
  EXPECT_NE(asking->delivered.front().find("\"position\":"), std::string::npos);
  for (const std::string& line : others->delivered) {
    EXPECT_EQ(line.find("attention.changed"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace signalbox
