// Valid requests with random damage: every line that isn't a notification gets exactly one
// well-formed answer, whatever the damage, and the server survives.
//
//   SIGNALBOX_SEED=7 SIGNALBOX_FUZZ_LINES=150000 test_crash --gtest_filter='FuzzRequests.*'
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "server/text/utf8_text.h"
#include "tests/crash/connection.h"
#include "tests/crash/line_damage.h"
#include "tests/crash/server_process.h"
#include "tests/fixtures/random_seed.h"

namespace signalbox::test {
namespace {

namespace json = boost::json;

constexpr std::size_t default_lines_count = 15'000;
constexpr std::size_t subscriptions_count = 300;
constexpr std::size_t lines_at_once = 50;

// Requests of the methods that need few params. RUN stands for the run's id.
constexpr std::pair<const char*, const char*> short_requests[] = {
    {"run.find", R"({"id":"last"})"},
    {"run.pause", R"({"run_id":"RUN","reason":"lunch"})"},
    {"run.resume", R"({"run_id":"RUN","reason":"go on","decision":"approve"})"},
    {"run.retry", R"({"run_id":"RUN","reason":"again","max_retries":2})"},
    {"run.why", R"({"run_id":"RUN"})"},
    {"run.fence", R"({"run_id":"RUN","token":3})"},
    {"run.trace", R"({"run_id":"RUN"})"},
    {"run.diff", R"({"run_id":"RUN","offset":0})"},
    {"run.log", R"({"run_id":"RUN","stream":"stderr","offset":5,"bytes":100})"},
    {"run.rebuild_artifacts", R"({"run_id":"RUN"})"},
    {"strategy.list", R"({"project":"web","station":"plan","limit":3})"},
    {"plan.set_exploration",
     R"({"run_id":"RUN","station":"plan","token":3,"files":["a.cc"],"findings":["it is old"]})"},
    {"plan.set",
     R"({"run_id":"RUN","station":"plan","token":3,"steps":[{"id":"a","description":"do it"},{"id":"b","description":"then","dependencies":["a"]}]})"},
    {"plan.reset", R"({"run_id":"RUN","token":3,"reason":"another way"})"},
    {"plan.get", R"({"run_id":"RUN","station":"plan"})"},
    {"plan.list", R"({"waiting_for":"plan"})"},
    {"step.next", R"({"worker":"w","run_id":"RUN"})"},
    {"step.heartbeat", R"({"run_id":"RUN","step":"a","token":3,"lease_ms":1000})"},
    {"step.complete", R"({"run_id":"RUN","step":"a","token":3,"summary":"done"})"},
    {"step.fail",
     R"({"run_id":"RUN","step":"a","token":3,"error_class":"terminal","error_code":"NO"})"},
    {"lock.acquire", R"({"key":"k","owner":"o","lease_ms":60000})"},
    {"lock.refresh", R"({"key":"k","token":3,"lease_ms":1000})"},
    {"lock.release", R"({"key":"k","token":3})"},
    {"lock.get", R"({"key":"k"})"},
    {"lock.list", R"({"prefix":"k","limit":2})"},
    {"tick.begin", R"({"loop":"nightly","stage":"plan","reason":"cron","lease_ms":1000})"},
    {"tick.end", R"({"loop":"nightly","token":3,"outcome":"succeeded"})"},
    {"tick.recover", R"({"loop":"nightly","reason":"looked"})"},
    {"tick.list", R"({"loop":"nightly","limit":2})"},
    {"watchdog.check", R"({"run_id":"RUN"})"},
    {"loop.trigger", R"({"loop":"heartbeat","reason":"now"})"},
    {"loop.list", R"({})"},
    {"loop.plan_files", R"({"loop":"file_retention"})"},
    {"project.put", R"({"name":"web","repository":"/nonexistent/repository"})"},
    {"project.check", R"({"name":"web"})"},
    {"project.get", R"({"name":"web"})"},
    {"project.list", R"({"limit":2})"},
    {"card.submit", R"({"project":"web","title":"one","brief":"do it","priority":3})"},
    {"card.get", R"({"card_id":"RUN"})"},
    {"card.find", R"({"id":"last"})"},
    {"card.list", R"({"project":"web","status":"backlog","limit":2})"},
    {"card.block", R"({"card_id":"RUN","reason":"wait"})"},
    {"card.unblock", R"({"card_id":"RUN"})"},
    {"card.set_priority", R"({"card_id":"RUN","priority":5,"reason":"soon"})"},
    {"card.why", R"({"card_id":"RUN"})"},
    {"board.get", R"({"project":"web","limit":2})"},
    {"attention.list", R"({"kinds":["failed_run"],"limit":2})"},
    {"report.get", R"({"since":"1h"})"},
    {"events.types", R"({})"},
    {"events.histogram", R"({"from":"1h","buckets":10,"by":"noun"})"},
    {"log.marks", R"({"kinds":["failure"],"backwards":true,"limit":2})"},
    {"state.get", R"({"stream":"run/RUN"})"},
    {"state.diff", R"({"stream":"run/RUN","from":1,"to":"0s"})"},
    {"timeline.get", R"({"from":"1h","group":"pipeline","max_rows":5})"},
    {"timeline.get", R"({"from":"1h","group":"lock","max_rows":5})"},
    {"server.metrics", R"({})"},
    {"server.crash_report", R"({})"},
    {"server.whoami", R"({})"},
    {"server.pause", R"({"reason":"lunch"})"},
    {"server.resume", R"({"reason":"back"})"},
    {"server.in_flight", R"({"limit":3})"},
    {"what_if.run", R"({"policy":"nonsense","seed":7})"},
    {"server.authenticate", R"({"secret":"sbx_guess"})"},
    {"access.issue", R"({"name":"n","role":"viewer","expires_in_ms":60000})"},
    {"access.revoke", R"({"id":"RUN","reason":"old"})"},
    {"access.list", R"({})"},
    {"runner.register", R"({"name":"build1"})"},
    {"runner.exchange", R"({"runner":"r","key":"k","start":1,"number":1,"labels":["a"]})"},
    {"runner.upload", R"({"runner":"r","key":"k","sha256":"0","bytes":0,"offset":0,"content":""})"},
    {"runner.output", R"({"runner":"r","key":"k","job_id":"j","stream":"stdout","offset":0})"},
    {"runner.finish", R"({"runner":"r","key":"k","job_id":"j","result":{"outcome":"failed"}})"},
    {"runner.runs", R"({"runner":"runner:build1-0","key":"sbk_0","runs":["RUN"]})"},
    {"runner.removed", R"({"runner":"r","key":"k","run_id":"RUN","path":"/w","removed":true})"},
    {"runner.list", R"({})"},
    {"runner.get", R"({"runner":"runner:build1-0"})"},
    {"runner.drain", R"({"runner":"runner:build1-0","drains":false})"},
    {"runner.evict", R"({"runner":"runner:build1-0"})"},
    {"cell.get", R"({})"},
    {"cell.switch", R"({"to":"b"})"},
    {"cell.upgrade", R"({})"},
    {"audit.adopt_key", R"({"verifier_key":"signalbox.example+00000000+AAAA"})"},
    {"audit.checkpoint", R"({})"},
    {"audit.tile", R"({"path":"tile/0/000"})"},
    {"audit.records", R"({"from":1,"limit":3})"},
    {"log.redact", R"({"position":3,"fields":["goal"]})"},
};

// It is fuzzed over a connection of its own, because its connection stays open for notifications.
constexpr std::string_view subscribing = "events.subscribe";

// Returns valid requests: one at least of each method but `subscribing`.
std::vector<std::string> valid_lines(const std::string& run_id) {
  const json::object held{{"run_id", run_id}, {"station", "plan"}, {"token", 3}};
  const auto with = [&held](json::object more) {
    for (const auto& member : held) more.emplace(member.key(), member.value());
    return more;
  };
  const json::object station{{"name", "one"},
                             {"timeout", "1h"},
                             {"retry", {{"max_retries", 2}, {"strategies", {"original"}}}}};
  std::vector<std::string> lines = {
      request_line(1, "run.start", {{"goal", "gül"}, {"labels", {{"a", "b"}}}}),
      request_line(2, "run.start",
                   {{"goal", "g"},
                    {"command_id", "c1"},
                    {"idempotency_key", "k1"},
                    {"input", {{"deep", {1, 2.5, nullptr}}}},
                    {"pipeline", {{"name", "p"}, {"station", {station}}}}}),
      request_line(3, "run.get", {{"run_id", run_id}}),
      request_line(4, "run.list", {{"status", "queued"}, {"label", "a=b"}, {"limit", 3}}),
      request_line(5, "run.list", {{"since", "2026-01-31T23:59:59.5+01:00"}, {"cursor", "9"}}),
      request_line(6, "run.cancel", {{"run_id", run_id}, {"reason", "fuzz"}}),
      request_line(7, "run.artifact", {{"run_id", run_id}, {"name", "summary"}}),
      request_line(8, "station.claim", {{"worker", "w"}, {"stations", {"plan"}}}),
      request_line(9, "station.heartbeat", with({{"lease_ms", 1000}})),
      request_line(10, "station.set_external_ref", with({{"external_ref", "job-1"}})),
      request_line(11, "station.complete",
                   with({{"outcome", "failed"}, {"metadata", {{"turns", 3}}}})),
      request_line(12, "station.complete",
                   with({{"outcome", "succeeded"},
                         {"claim_next", true},
                         {"artifacts", {{{"name", "a"}, {"content", "text"}}}}})),
      request_line(99, "station.settle", with({{"outcome", "failed"}, {"reason", "gone"}})),
      request_line(13, "station.defer", with({{"delay_ms", 5}, {"note", "later"}})),
      request_line(98, "station.request_approval", with({{"question", "may I?"}})),
      request_line(14, "events.read", {{"from", 1}, {"limit", 2}, {"types", {"RunStarted"}}}),
      request_line(15, "server.status", {}),
      request_line(16, "server.limits", {}),
  };
  for (const auto& [method, params] : short_requests) {
    std::string text = params;
    if (const auto at = text.find("RUN"); at != std::string::npos) text.replace(at, 3, run_id);
    lines.push_back(request_line(100, method, json::parse(text).as_object()));
  }
  for (std::string& line : lines) line.pop_back();
  return lines;
}

// Expects that each method of the server has a line; a new one needs a request above.
void expect_each_method(Connection& connection, const std::vector<std::string>& lines) {
  std::set<std::string> named{std::string(subscribing)};
  for (const std::string& line : lines) {
    const json::value request = json::parse(line);
    named.emplace(request.at("method").as_string());
  }
  const auto refused = connection.call("no.such_method", {});
  ASSERT_TRUE(refused);
  const json::value methods = refused->at("error").at("data").at("details").at("methods");
  EXPECT_GT(methods.as_array().size(), 70U);
  for (const json::value& method : methods.as_array()) {
    EXPECT_TRUE(named.contains(std::string(method.as_string()))) << method.as_string();
  }
}

// Returns whether the line may be a JSON-RPC request without an id, which is never answered. The
// parser here is configured differently from the server's: it accepts more.
bool may_be_notification(const std::string& line) {
  json::error_code error;
  const json::value value = json::parse(line, error);
  if (error || !value.is_object()) return false;
  return !value.get_object().contains("id");
}

struct Tally {
  std::size_t answers_min = 0;
  std::size_t answers_max = 0;
  std::size_t taken = 0;
  std::size_t refused = 0;
};

constexpr std::int64_t end_of_batch = 424242;

// Counts an answer; returns true for the answer to the last line of a batch.
bool count_answer(const std::string& text, Tally& tally) {
  EXPECT_TRUE(is_utf8(text)) << text;
  json::error_code error;
  const json::value answer = json::parse(text, error);
  if (error || !answer.is_object()) {
    ADD_FAILURE() << text;
    return false;
  }
  const json::object& object = answer.get_object();
  EXPECT_EQ(object.at("jsonrpc"), "2.0") << text;
  if (object.contains("method")) return false;  // a notification to a subscriber
  EXPECT_NE(object.contains("result"), object.contains("error")) << text;
  if (object.at("id") == end_of_batch) return true;
  const std::string code = error_code_of(object);
  EXPECT_NE(code, "INTERNAL") << text;
  ++(code.empty() ? tally.taken : tally.refused);
  return false;
}

// Sends damaged lines in batches, and reads up to the answer to the end of each.
void send_damaged(Connection& connection, const std::vector<std::string>& lines, std::size_t count,
                  std::uint64_t seed, Tally& tally) {
  LineDamage damage(seed);
  std::mt19937_64 random(seed + 1);
  for (std::size_t sent = 0; sent < count; sent += lines_at_once) {
    std::string batch;
    for (std::size_t number = 0; number < lines_at_once; ++number) {
      const std::string line =
          damage.of(lines[random() % lines.size()], lines[random() % lines.size()]);
      batch += line + "\n";
      if (line.empty() || line == "\r") continue;
      ++tally.answers_max;
      tally.answers_min += may_be_notification(line) ? 0 : 1;
    }
    batch += request_line(end_of_batch, "server.status", {});
    ASSERT_TRUE(connection.send(batch));
    // Queries are answered on a path of their own, so their answers may follow later.
    bool end = false;
    while (!end) {
      const auto text = connection.line();
      ASSERT_TRUE(text) << batch;
      end = count_answer(*text, tally);
    }
  }
}

TEST(FuzzRequests, EachLineHasOneWellFormedAnswer) {
  const std::uint64_t seed = random_seed();
  const std::size_t lines_count =
      number_from_environment("SIGNALBOX_FUZZ_LINES").value_or(default_lines_count);
  std::cout << "again with: SIGNALBOX_SEED=" << seed << std::endl;
  const TemporaryDirectory scratch;
  ServerProcess server(scratch.path() / "data");
  ASSERT_TRUE(server.start()) << server.log();
  auto connection = Connection::open(server.socket());
  ASSERT_TRUE(connection);
  const std::string run_id(
      result_of(connection->call("run.start", {{"goal", "be fuzzed"}})).at("run_id").as_string());
  const std::vector<std::string> lines = valid_lines(run_id);
  expect_each_method(*connection, lines);
  Tally tally;
  send_damaged(*connection, lines, lines_count, seed, tally);
  ASSERT_FALSE(HasFatalFailure()) << server.log();
  connection->end_output();
  while (const auto text = connection->line()) count_answer(*text, tally);
  const auto& [answers_min, answers_max, taken, refused] = tally;
  EXPECT_GE(taken + refused, answers_min);
  EXPECT_LE(taken + refused, answers_max);

  auto subscriber = Connection::open(server.socket());
  ASSERT_TRUE(subscriber);
  std::string subscription =
      request_line(1, subscribing, {{"from", 1}, {"types", {"ServerStopped"}}});
  subscription.pop_back();
  Tally subscriptions;
  send_damaged(*subscriber, {subscription}, subscriptions_count, seed, subscriptions);
  ASSERT_FALSE(HasFatalFailure()) << server.log();
  EXPECT_GT(subscriptions.taken, 0U);
  EXPECT_GT(subscriptions.refused, 0U);

  std::cout << taken << " taken, " << refused << " refused" << std::endl;
  EXPECT_GT(taken, lines_count / 20);
  EXPECT_GT(refused, lines_count / 4);
  EXPECT_TRUE(server.running());
  EXPECT_EQ(server.stop().exit_code, 0) << server.log();
}

}  // namespace
}  // namespace signalbox::test
