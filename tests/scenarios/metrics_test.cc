// The metrics of the real binary as Prometheus reads them, and that documents, alerts and the
// dashboard name no metric that isn't served.
#include <regex>
#include <set>

#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

using Samples = std::map<std::string, double>;

std::string read_source(const std::string& file) {
  return content_of(std::filesystem::path(SIGNALBOX_SOURCE_DIR) / file);
}

// Returns every word of the text that has the form of one of our metrics.
std::set<std::string> metrics_in(const std::string& text) {
  static const std::regex name(R"((signalbox|process)_[a-z_]*[a-z])");
  std::set<std::string> found;
  for (std::sregex_iterator each(text.begin(), text.end(), name), end; each != end; ++each) {
    found.insert(std::regex_replace(each->str(), std::regex("_(bucket|count|sum)$"), ""));
  }
  return found;
}

class MetricsTest : public CliTest {
 protected:
  [[nodiscard]] std::string metrics() const {
    const Output output =
        run_process({"curl", "--silent", "--show-error", "--fail", "--unix-socket",
                     (server_.data() / "signalbox.sock").string(), "http://localhost/metrics"});
    EXPECT_EQ(output.exit_code, 0) << output.err;
    return output.out;
  }
  [[nodiscard]] Samples samples() const {
    Samples found;
    std::istringstream lines(metrics());
    for (std::string line; std::getline(lines, line);) {
      if (line.empty() || line[0] == '#') continue;
      const std::size_t space = line.rfind(' ');
      found[line.substr(0, space)] = std::stod(line.substr(space + 1));
    }
    return found;
  }
};

TEST_F(MetricsTest, CountWhatHappensAndSayWhatIs) {  // R7
  const Samples before = samples();
  EXPECT_EQ(before.at(R"(signalbox_events_total{type="RunStarted"})"), 0);
  EXPECT_EQ(before.at(R"(signalbox_open_runs{status="queued"})"), 0);
  EXPECT_EQ(before.at(R"(signalbox_attention_items{kind="lost_job"})"), 0);
  const std::string run = start_run("be counted");
  start_run("stay");
  ASSERT_EQ(complete(run, "plan", claim(run), "succeeded").exit_code, 0);
  ASSERT_EQ(complete(run, "implement", claim(run), "failed").exit_code, 0);
  result({"lock", "acquire", "deploy", "--owner", "ops"});
  const Samples after = samples();
  EXPECT_EQ(after.at(R"(signalbox_events_total{type="RunStarted"})"), 2);
  EXPECT_EQ(after.at(R"(signalbox_events_total{type="RunFailed"})"), 1);
  EXPECT_EQ(after.at(R"(signalbox_open_runs{status="queued"})"), 1);
  EXPECT_EQ(after.at("signalbox_held_locks"), 1);
  EXPECT_EQ(after.at("signalbox_incarnation"), 1);
  double failures = 0;
  for (const auto& [name, value] : after) {
    if (name.starts_with("signalbox_attempt_failures_total")) failures += value;
  }
  EXPECT_EQ(failures, 1);
  EXPECT_EQ(boost::json::serialize(result({"status"}).at("position")),
            std::to_string(static_cast<std::uint64_t>(after.at("signalbox_log_position"))));
  EXPECT_GT(after.at("signalbox_commit_duration_seconds_count"),
            before.at("signalbox_commit_duration_seconds_count"));
  EXPECT_GT(after.at("process_resident_memory_bytes"), 1e6);
  EXPECT_GT(after.at("process_cpu_seconds_total"), 0);
  EXPECT_GT(after.at("process_start_time_seconds"), 1.6e9);
}

TEST_F(MetricsTest, HaveNoLabelThatGrows) {  // R7
  const std::string run = start_run("unlabelled");
  const std::string text = metrics();
  EXPECT_EQ(text.find(run), std::string::npos);
  const std::size_t lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  for (int number = 0; number < 20; ++number) start_run("run " + std::to_string(number));
  const std::string later = metrics();
  EXPECT_EQ(static_cast<std::size_t>(std::count(later.begin(), later.end(), '\n')), lines);
}

TEST_F(MetricsTest, AreThoseOfTheDocumentTheAlertsAndTheDashboard) {
  std::set<std::string> served;
  std::istringstream lines(metrics());
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash;
    std::string keyword;
    std::string name;
    words >> hash >> keyword >> name;
    if (keyword == "TYPE") served.insert(name);
  }
  EXPECT_GT(served.size(), 20U);
  const std::string protocol = read_source("server/PROTOCOL.md");
  const std::size_t begin = protocol.find("### server.metrics");
  const std::size_t end = protocol.find("`server/rpc/metrics/alerts.yaml`");
  ASSERT_LT(begin, end);
  EXPECT_EQ(metrics_in(protocol.substr(begin, end - begin)), served);
  for (const char* file : {"server/rpc/metrics/alerts.yaml", "server/rpc/metrics/dashboard.json"}) {
    const auto named = metrics_in(read_source(file));
    EXPECT_GT(named.size(), 5U) << file;
    for (const std::string& name : named) EXPECT_TRUE(served.contains(name)) << file << " " << name;
  }
  // Event types are compared, too: a rule about a type that doesn't exist never fires.
  const std::string text = metrics();
  static const std::regex types(R"re(type(?:=|=~)\\?"([A-Za-z|.*]+)\\?")re");
  for (const char* file : {"server/rpc/metrics/alerts.yaml", "server/rpc/metrics/dashboard.json"}) {
    const std::string source = read_source(file);
    for (std::sregex_iterator each(source.begin(), source.end(), types), none; each != none;
         ++each) {
      std::istringstream names((*each)[1].str());
      for (std::string name; std::getline(names, name, '|');) {
        const std::regex wanted("signalbox_events_total\\{type=\"" + name + "\"\\}");
        EXPECT_TRUE(std::regex_search(text, wanted)) << file << " " << name;
      }
    }
  }
}

}  // namespace
}  // namespace signalbox
