// Every query of the dispatch table, asked while others write: what `at` its position answers later
// is what the live service answered.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "tests/crash/server_test.h"
#include "tests/eventually.h"
#include "tests/fixtures/git_repository.h"

namespace signalbox::test {
namespace {

namespace json = boost::json;

constexpr int query_writers = 4;
constexpr int rounds_of_writer = 25;
constexpr std::size_t asked_rounds_max = 8;

using QueryParams = std::map<std::string, std::vector<json::object>>;  // by method

struct AskedQuery {
  std::string method;
  json::object params;
  json::object result;
};

// What the present decides and not the log: the time of asking, settings, and the figures of the
// process. PROTOCOL.md names them (The past).
const std::map<std::string, std::vector<std::string>> fields_of_the_present = {
    {"run.trace", {"as_of"}},
    {"report.get", {"until"}},
    {"events.histogram", {"to"}},
    {"log.marks", {"to"}},
    {"timeline.get", {"to"}},
    {"server.status",
     {"certificate", "durable_position", "read_models_position", "run_root_failures",
      "run_roots_position", "runners", "settings", "subscriptions", "waiting_claims",
      "waiting_locks"}}};

void erase_present(json::object& object, const std::vector<std::string>& names) {
  for (const std::string& name : names) object.erase(name);
}

// What a runner says of itself isn't in the log.
void erase_reported(json::object& runner) {
  erase_present(runner, {"labels", "repositories", "slots", "lease_ms", "seen_ms_ago", "version"});
  if (runner.at("state") != "evicted") runner.erase("state");
}

// Erases the ends of bars: they are rounded to the resolution, but none is after the time of
// asking.
void erase_ends(json::object& timeline) {
  for (json::value& row : timeline.at("rows").as_array()) {
    for (json::value& bar : row.at("bars").as_array()) bar.as_object().erase("to");
  }
}

// Returns the part of a result that follows from the log alone.
json::object of_the_log(const std::string& method, json::object result) {
  if (method == "timeline.get") erase_ends(result);
  if (method == "report.get") result.at("attempts").as_object().erase("worked_ms");
  if (method == "runner.get") erase_reported(result);
  if (method == "runner.list") {
    for (json::value& runner : result.at("runners").as_array()) erase_reported(runner.as_object());
  }
  if (method == "loop.list") {
    for (json::value& loop : result.at("loops").as_array()) {
      erase_present(loop.as_object(), {"schedule", "time_zone", "next_due_at"});
    }
  }
  const auto found = fields_of_the_present.find(method);
  if (found != fields_of_the_present.end()) erase_present(result, found->second);
  return result;
}

class EveryQueryPositionTest : public ServerTest {
 protected:
  EveryQueryPositionTest() : repository_(make_repository(scratch_.path() / "repository")) {}

  // Ends the job of the deep work, which its supervisor would keep without a server, too.
  void TearDown() override {
    if (!planned_.is_string()) return;
    const std::string run_id(planned_.as_string());
    (void)answer_to("run.cancel", {{"run_id", run_id}});  // refused if the work is done by now
    EXPECT_TRUE(eventually([&] {
      const json::object ended = run(run_id);
      return ended.contains("ended_at") && ended.at("ended_at").is_string();
    }));
  }

  void put_project(const std::string& name) const {
    json::object params{{"name", name}, {"repository", repository_.string()}};
    params["pipeline"] = json::parse(
        R"({"name":"cards","station":[{"name":"intake","executor":"builtin"},{"name":"card"}]})");
    call("project.put", params);
  }

  // Returns the result, or an empty object where the command was refused, as some are.
  static json::object tried(Connection& connection, const char* method, json::object params) {
    const auto answer = connection.call(method, std::move(params));
    if (!answer || !answer->contains("result")) return {};
    return answer->at("result").as_object();
  }

  static void work(Connection& connection, const std::string& name, int round) {
    json::object params{{"goal", name + " " + std::to_string(round)}, {"project", "web"}};
    params["pipeline"] = json::parse(
        R"({"name":"p","station":[{"name":"work"},{"name":"ask","executor":"approval"}]})");
    const json::object started = tried(connection, "run.start", params);
    if (!started.contains("run_id")) return;
    const json::value& run_id = started.at("run_id");
    const json::object taken = tried(connection, "station.claim",
                                     {{"worker", name}, {"run_id", run_id}, {"lease_ms", 600'000}});
    if (round % 4 == 0) tried(connection, "run.pause", {{"run_id", run_id}});
    if (!taken.contains("claim") || !taken.at("claim").is_object()) return;
    json::object attempt{
        {"run_id", run_id}, {"station", "work"}, {"token", taken.at("claim").at("token")}};
    if (round % 5 == 0) return;
    if (round % 5 == 1) {
      attempt["progress_digest"] = "further";
      tried(connection, "station.heartbeat", attempt);
      return;
    }
    attempt["outcome"] = round % 5 == 2 ? "failed" : "succeeded";
    if (round % 5 == 4) {
      attempt["artifacts"] = json::parse(R"([{"name":"a.txt","content":"text"}])");
    }
    tried(connection, "station.complete", attempt);
    if (round % 5 == 3)
      tried(connection, "run.resume", {{"run_id", run_id}, {"decision", "reject"}});
    if (round % 10 == 3) tried(connection, "run.retry", {{"run_id", run_id}});
  }

  static void hold(Connection& connection, const std::string& name, int round) {
    const std::string number = std::to_string(round % 3);
    const json::object lock =
        tried(connection, "lock.acquire",
              {{"key", "key " + number}, {"owner", name}, {"lease_ms", 600'000}});
    if (lock.contains("token") && round % 2 == 0) {
      tried(connection, "lock.release", {{"key", lock.at("key")}, {"token", lock.at("token")}});
    }
    const std::string loop = name + " " + number;
    const json::object tick = tried(connection, "tick.begin", {{"loop", loop}});
    if (tick.contains("token") && round % 3 != 0) {
      tried(connection, "tick.end",
            {{"loop", loop}, {"token", tick.at("token")}, {"outcome", "succeeded"}});
    }
    if (round % 6 == 0) {
      tried(connection, "tick.recover", {{"loop", loop}, {"reason", "seen"}, {"force", true}});
    }
  }

  static void submit(Connection& connection, const std::string& name, int round) {
    const json::object card = tried(connection, "card.submit",
                                    {{"project", "web"}, {"title", name}, {"priority", round}});
    if (card.contains("card_id") && round % 2 == 0) {
      tried(connection, "card.block", {{"card_id", card.at("card_id")}, {"reason", "wait"}});
    }
    if (round % 8 == 0) {
      const std::string token_name = name + "-" + std::to_string(round);
      tried(connection, "access.issue", {{"name", token_name}, {"role", "viewer"}});
    }
  }

  void write(int writer) const {
    auto connection = Connection::open(server_.socket());
    if (!connection) return;
    const std::string name = "writer " + std::to_string(writer);
    for (int round = 0; round < rounds_of_writer; ++round) {
      work(*connection, name, round);
      hold(*connection, name, round);
      submit(*connection, "writer-" + std::to_string(writer), round);
    }
  }

  // Returns the methods that can be asked about the past, from the service itself: all but those
  // that say that they can't.
  [[nodiscard]] std::set<std::string> queries() const {
    std::set<std::string> names;
    const auto refused = answer_to("no.such.method");
    const json::value& data = refused.value().at("error").at("data");
    const json::array& methods = data.at("details").at("methods").as_array();
    for (const json::value& method : methods) {
      const std::string name(method.as_string());
      const auto answer = answer_to(name.c_str(), {{"at", 1}});
      const json::value* const error = answer.value().if_contains("error");
      const std::string why = error == nullptr ? "" : std::string(error->at("message").as_string());
      const bool takes_none =
          why.starts_with(name + " takes no `at`") || why.starts_with(name + " isn't a query");
      if (!takes_none) names.insert(name);
    }
    return names;
  }

  // Has a runner report that the log names from then on.
  void drain_a_runner() {
    const json::object registered = call("runner.register", {{"name", "one"}});
    runner_ = registered.at("runner");
    call("runner.exchange", {{"runner", runner_},
                             {"key", registered.at("key")},
                             {"start", 1},
                             {"number", 1},
                             {"instance", "i"},
                             {"labels", {"one"}},
                             {"slots", 1},
                             {"lease_ms", 600'000}});
    call("runner.drain", {{"runner", runner_}});
  }

  // Returns what to ask each query for. A new query needs a row here.
  [[nodiscard]] QueryParams params_now() const {
    const json::value run_id = call("run.find", {{"id", "last"}}).at("run_id");
    const json::object of_run{{"run_id", run_id}};
    const json::object of_card{{"card_id", call("card.find", {{"id", "last"}}).at("card_id")}};
    const json::value token = call("run.get", of_run).at("run").at("started_position");
    return {{"run.get", {of_run}},
            {"run.find", {{{"id", "last"}}}},
            {"run.list",
             {{{"limit", 500}, {"totals", true}},
              {{"order_by", "updated"}},
              {{"status", "queued,running"}, {"station", "work"}},
              {{"waiting_for", "approval"}}}},
            {"run.why", {of_run}},
            {"run.fence", {{{"run_id", run_id}, {"token", token}}}},
            {"run.trace", {{{"run_id", run_id}, {"otlp", true}}}},
            {"run.artifact", {{{"run_id", run_id}, {"name", "a.txt"}}}},
            {"strategy.list", {{}}},
            {"plan.get", {of_run, {{"run_id", planned_}}}},
            {"plan.list", {{}}},
            {"lock.get", {{{"key", "key 1"}}}},
            {"lock.list", {{}}},
            {"tick.list", {{}}},
            {"loop.list", {{}}},
            {"project.get", {{{"name", "web"}}}},
            {"project.list", {{}}},
            {"card.get", {of_card}},
            {"card.find", {{{"id", "last"}}}},
            {"card.list", {{}, {{"status", "backlog"}, {"limit", 20}}}},
            {"card.why", {of_card}},
            {"board.get", {{}, {{"project", "web"}, {"limit", 5}}}},
            {"attention.list", {{}}},
            {"report.get", {{{"since", "1"}}}},
            {"events.read", {{{"from", token}}, {{"backwards", true}}, of_run}},
            {"events.types", {{}}},
            {"events.histogram", {{{"from", "1"}, {"by", "type"}}}},
            {"log.marks", {{{"from", "1"}}}},
            {"state.get",
             {{{"stream", "run/" + std::string(run_id.as_string())}},
              {{"stream", "lock/key 1"}},
              {{"stream", "project/web"}}}},
            {"timeline.get",
             {{{"from", "1"}, {"resolution_ms", 50}},
              {{"from", "1"}, {"resolution_ms", 50}, {"group", "worker"}},
              {{"from", "1"}, {"resolution_ms", 50}, {"group", "lock"}}}},
            {"server.status", {{}}},
            {"server.in_flight", {{}}},
            {"server.limits", {{}}},
            {"server.crash_report", {{}}},
            {"access.list", {{}}},
            {"runner.list", {{}}},
            {"runner.get", {{{"runner", runner_}}}}};
  }

  // Asks everything once. Refusals are no answers: another artifact may be missing.
  void ask_all(Connection& reader, std::vector<AskedQuery>& answers) const {
    for (const auto& [method, variants] : params_now()) {
      for (const json::object& params : variants) {
        json::object result = tried(reader, method.c_str(), params);
        if (!result.empty()) answers.push_back({method, params, std::move(result)});
      }
    }
  }

  void expect_the_same_later(std::vector<AskedQuery> answers) const {
    auto reader = Connection::open(server_.socket());
    ASSERT_TRUE(reader.has_value());
    // Moments that follow each other are the cheapest.
    std::ranges::stable_sort(answers, {}, [](const AskedQuery& asked) {
      return number_of(asked.result.at("position"));
    });
    for (AskedQuery& asked : answers) {
      asked.params["at"] = asked.result.at("position");
      const json::object then = result_of(reader->call(asked.method, asked.params));
      const json::object expected = of_the_log(asked.method, asked.result);
      const json::object found = of_the_log(asked.method, then);
      ASSERT_TRUE(found == expected)
          << asked.method << " " << json::serialize(asked.params)
          << "\nthen: " << json::serialize(expected) << "\nlater: " << json::serialize(found);
    }
  }

  const std::filesystem::path repository_;
  json::value planned_;  // the id of a run with deep work
  json::value runner_;
};

TEST_F(EveryQueryPositionTest, AtAPositionAQueryAnswersWhatItAnsweredThen) {  // O9, P9
  start();
  crash_and_start();
  put_project("web");
  drain_a_runner();
  json::object deep{{"goal", "deep"}};
  deep["pipeline"] = json::parse(
      R"({"name":"deep","station":[{"name":"dig","executor":"deep_work",
          "deep_work":{"explore":{"worker":true}}}]})");
  planned_ = start_run(deep);
  auto first = Connection::open(server_.socket());
  ASSERT_TRUE(first.has_value());
  work(*first, "first", 4);
  submit(*first, "first", 1);

  const QueryParams asked_for = params_now();
  for (const std::string& method : queries()) {
    EXPECT_TRUE(asked_for.contains(method)) << method << " isn't asked here";
  }

  auto reader = Connection::open(server_.socket());
  ASSERT_TRUE(reader.has_value());
  std::vector<AskedQuery> answers;
  std::atomic<int> writing = query_writers;
  std::vector<std::thread> threads;
  for (int writer = 0; writer < query_writers; ++writer) {
    threads.emplace_back([this, writer, &writing] {
      write(writer);
      --writing;
    });
  }
  for (std::size_t round = 0; writing > 0 && round < asked_rounds_max; ++round) {
    ask_all(*reader, answers);
  }
  for (std::thread& thread : threads) thread.join();
  ask_all(*reader, answers);
  std::set<std::string> answered;
  for (const AskedQuery& asked : answers) answered.insert(asked.method);
  for (const std::string& method : queries()) {
    EXPECT_TRUE(answered.contains(method)) << method << " was always refused";
  }
  expect_the_same_later(std::move(answers));
}

}  // namespace
}  // namespace signalbox::test
