#include "server/executors/coderunner/mock_agent.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <thread>

#include <boost/describe/enum_to_string.hpp>
#include <boost/json/serialize.hpp>

#include "server/platform/atomic_file.h"
#include "server/platform/clock.h"
#include "server/text/described_json.h"
#include "server/text/json_text.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct MockUsage {
  std::optional<std::int64_t> cost_microusd;
  std::optional<std::int64_t> tokens;
  std::optional<std::int64_t> turns;
};
BOOST_DESCRIBE_STRUCT(MockUsage, (), (cost_microusd, tokens, turns))

struct MockRequest {
  std::optional<std::string> station;     // applies only to this station
  std::optional<std::uint32_t> attempts;  // applies only to this many first attempts
  std::optional<std::string> outcome;     // as in result.json, or "fail"
  std::optional<ErrorClass> error_class;
  std::optional<std::string> error_code;
  std::optional<std::string> error_message;
  std::optional<std::int64_t> quota_reset_in_ms;
  std::optional<std::int64_t> delay_ms;  // duration of the work
  std::optional<MockUsage> usage;
  std::map<std::string, std::string> files;  // content by path in the workspace
};
BOOST_DESCRIBE_STRUCT(MockRequest, (),
                      (station, attempts, outcome, error_class, error_code, error_message,
                       quota_reset_in_ms, delay_ms, usage, files))

DeclaredResult mock_failure(ErrorClass error_class, std::string code, std::string message) {
  return declared_failure({Outcome::failed, error_class, std::move(code), std::move(message)});
}

Decided<MockRequest> request_of(const AgentTask& task) {
  if (task.input.empty()) return MockRequest{};
  const auto input = parse_json(task.input);
  if (!input || !input->is_object()) return MockRequest{};
  const json::value* mock = input->get_object().if_contains("mock");
  if (mock == nullptr) return MockRequest{};
  auto request = from_json<MockRequest>(*mock, "input.mock");
  if (!request) return request;
  const bool for_other_station = request->station && *request->station != task.station;
  const bool for_earlier_attempts = request->attempts && task.attempt > *request->attempts;
  if (for_other_station || for_earlier_attempts) return MockRequest{};
  return request;
}

std::optional<Outcome> outcome_of(const MockRequest& request) {
  const std::string name = request.outcome.value_or("succeeded");
  if (name == "fail") return Outcome::failed;
  const auto outcome = from_json<Outcome>(json::value(name), "outcome");
  if (!outcome) return std::nullopt;
  return *outcome;
}

// Returns false if a path leads out of the workspace or a file can't be written.
bool write_files(const std::map<std::string, std::string>& files) {
  for (const auto& [name, content] : files) {
    const std::filesystem::path path = std::filesystem::path(name).lexically_normal();
    if (path.empty() || path.is_absolute() || *path.begin() == "..") return false;
    std::error_code error;
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
    std::ofstream file(path, std::ios::binary);
    if (!(file << content).flush()) return false;
  }
  return true;
}

std::string summary_of(const AgentTask& task) {
  return "Mock " + task.station + ", attempt " + std::to_string(task.attempt) + ", strategy " +
         boost::describe::enum_to_string(task.strategy, "?") + ".\n\n" + task.goal;
}

json::object to_json_object(const AgentTask& task) {
  json::object result;
  result["schema_version"] = "mock_result.v1";
  result["station"] = task.station;
  result["attempt"] = task.attempt;
  result["strategy"] = boost::describe::enum_to_string(task.strategy, "?");
  result["goal"] = task.goal;
  return result;
}

}  // namespace

DeclaredResult run_mock_agent(const AgentTask& task, const std::filesystem::path& artifacts) {
  const auto request = request_of(task);
  if (!request) return mock_failure(ErrorClass::config, "MOCK_INVALID", request.error().message);
  const auto outcome = outcome_of(*request);
  if (!outcome)
    return mock_failure(ErrorClass::config, "MOCK_INVALID", "input.mock.outcome is unknown");
  std::this_thread::sleep_for(
      std::chrono::milliseconds(std::max<std::int64_t>(request->delay_ms.value_or(0), 0)));
  if (!write_files(request->files)) {
    return mock_failure(ErrorClass::config, "MOCK_INVALID",
                        "a file of input.mock can't be written");
  }
  const auto written = write_file_atomically(artifacts / "mock_result.json",
                                             json::serialize(to_json_object(task)) + "\n");
  if (!written)
    return mock_failure(ErrorClass::transient, "STORAGE_FAILED", written.error().message);

  DeclaredResult result;
  result.outcome = *outcome;
  result.summary = summary_of(task);
  result.metadata = R"({"mode":"mock"})";
  const MockUsage usage = request->usage.value_or(MockUsage{0, 0, 1});
  result.usage = DeclaredUsage{usage.cost_microusd, usage.tokens, usage.turns};
  if (*outcome == Outcome::succeeded) return result;
  result.error_class = request->error_class.value_or(ErrorClass::terminal);
  result.error_code = request->error_code.value_or("MOCK_FAILED");
  result.error_message = request->error_message.value_or("the run's input asked for it");
  if (request->quota_reset_in_ms) {
    result.quota_reset_at =
        format_time(SystemClock().wall_ns() + *request->quota_reset_in_ms * 1'000'000);
  }
  return result;
}

}  // namespace signalbox
