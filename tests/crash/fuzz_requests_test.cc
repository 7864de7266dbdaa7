// Valid requests with random damage: every line that isn't a notification gets exactly one
// well-formed answer, whatever the damage, and the server survives.
//
//   SIGNALBOX_SEED=7 test_crash --gtest_filter='FuzzRequests.*'
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "server/text/utf8_text.h"
#include "tests/crash/connection.h"
#include "tests/crash/server_process.h"
#include "tests/fixtures/random_seed.h"

namespace signalbox::test {
namespace {

namespace json = boost::json;

constexpr std::size_t lines_count = 20'000;
constexpr std::size_t lines_at_once = 50;

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
  for (std::string& line : lines) line.pop_back();
  return lines;
}

class Damage {
 public:
  explicit Damage(std::uint64_t seed) : random_(seed) {}

  std::string of(std::string line, const std::string& other) {
    for (std::size_t count = pick(4); count > 0; --count) damage(line, other);
    std::erase(line, '\n');
    return line;
  }

 private:
  std::size_t pick(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
  }
  void damage(std::string& line, const std::string& other) {
    static const std::vector<std::string> words = {"null",
                                                   "-1",
                                                   "1e999",
                                                   "0.1",
                                                   "\"\"",
                                                   "[]",
                                                   "{}",
                                                   "true",
                                                   "99999999999999999999",
                                                   "\\u0000",
                                                   "\\ud800",
                                                   "\xf0\x9f\x92\xa9",
                                                   "\xff",
                                                   ":",
                                                   ",",
                                                   "}",
                                                   "]",
                                                   "\"",
                                                   std::string(1, '\0'),
                                                   "-9223372036854775808",
                                                   "\"9007199254740993\"",
                                                   "cancelled",
                                                   std::string(300, 'x')};
    if (line.empty()) line = "{";
    const std::size_t at = pick(line.size());
    switch (pick(6)) {
      case 0:
        line[at] = static_cast<char>(pick(256));
        return;
      case 1:
        line.erase(at, 1 + pick(8));
        return;
      case 2:
        line.insert(at, words[pick(words.size())]);
        return;
      case 3:
        line.replace(at, std::min<std::size_t>(pick(12), line.size() - at),
                     words[pick(words.size())]);
        return;
      case 4:  // a value in the place of another
        line.replace(at, line.size() - at, other.substr(std::min(at, other.size())));
        return;
      case 5:
        line.insert(at, line.substr(pick(line.size()), 1 + pick(20)));
        return;
    }
  }

  std::mt19937_64 random_;
};

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
  EXPECT_NE(object.contains("result"), object.contains("error")) << text;
  if (object.at("id") == end_of_batch) return true;
  const std::string code = error_code_of(object);
  EXPECT_NE(code, "INTERNAL") << text;
  ++(code.empty() ? tally.taken : tally.refused);
  return false;
}

TEST(FuzzRequests, EachLineHasOneWellFormedAnswer) {
  const std::uint64_t seed = random_seed();
  std::cout << "again with: SIGNALBOX_SEED=" << seed
            << " test_crash --gtest_filter='FuzzRequests.*'" << std::endl;
  const TemporaryDirectory scratch;
  ServerProcess server(scratch.path() / "data");
  ASSERT_TRUE(server.start()) << server.log();
  auto connection = Connection::open(server.socket());
  ASSERT_TRUE(connection);
  const std::string run_id(
      result_of(connection->call("run.start", {{"goal", "be fuzzed"}})).at("run_id").as_string());
  const std::vector<std::string> lines = valid_lines(run_id);
  Damage damage(seed);
  std::mt19937_64 random(seed + 1);

  Tally tally;
  for (std::size_t sent = 0; sent < lines_count; sent += lines_at_once) {
    std::string batch;
    for (std::size_t count = 0; count < lines_at_once; ++count) {
      const std::string line =
          damage.of(lines[random() % lines.size()], lines[random() % lines.size()]);
      batch += line + "\n";
      if (line.empty() || line == "\r") continue;
      ++tally.answers_max;
      tally.answers_min += may_be_notification(line) ? 0 : 1;
    }
    batch += request_line(end_of_batch, "server.status", {});
    ASSERT_TRUE(connection->send(batch)) << server.log();
    // Queries are answered on a path of their own, so their answers may follow later.
    bool end = false;
    while (!end) {
      const auto text = connection->line();
      ASSERT_TRUE(text) << batch << server.log();
      end = count_answer(*text, tally);
    }
  }
  connection->end_output();
  while (const auto text = connection->line()) count_answer(*text, tally);
  const auto& [answers_min, answers_max, taken, refused] = tally;
  EXPECT_GE(taken + refused, answers_min);
  EXPECT_LE(taken + refused, answers_max);
  std::cout << taken << " taken, " << refused << " refused" << std::endl;
  EXPECT_GT(taken, lines_count / 20);
  EXPECT_GT(refused, lines_count / 4);
  EXPECT_TRUE(server.running());
  EXPECT_EQ(server.stop().exit_code, 0) << server.log();
}

}  // namespace
}  // namespace signalbox::test
