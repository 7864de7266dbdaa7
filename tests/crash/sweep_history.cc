#include "tests/crash/sweep_history.h"

#include <chrono>
#include <cstdlib>
#include <utility>

#include <boost/json/serialize.hpp>

namespace signalbox::test {
namespace {

namespace json = boost::json;

std::int64_t history_now_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Returns the parts of an answer that are kept: a result, or an error's code and details.
json::object kept_answer(const json::object& answer) {
  if (const json::value* result = answer.if_contains("result")) return {{"result", *result}};
  const json::object& data = answer.at("error").at("data").as_object();
  json::object error;
  error["code"] = data.at("code");
  if (const json::value* details = data.if_contains("details")) error["details"] = *details;
  return {{"error", std::move(error)}};
}

}  // namespace

SweepHistory::SweepHistory() {
  const char* path = std::getenv("SIGNALBOX_HISTORY");
  if (path != nullptr && *path != '\0') file_.open(path, std::ios::app);
}

void SweepHistory::called(const std::string& command_id, const std::string& method,
                          const json::object& params) {
  if (!file_.is_open()) return;
  const auto number = static_cast<std::int64_t>(numbers_.size()) + 1;
  numbers_.emplace(command_id, number);
  json::object line;
  line["call"] = number;
  line["client"] = command_id.substr(0, command_id.find('-'));
  line["at"] = history_now_ns();
  line["method"] = method;
  line["params"] = params;
  line["merged"] = true;
  write(line);
}

void SweepHistory::answered(const std::string& command_id, const json::object& answer) {
  if (!file_.is_open()) return;
  json::object line;
  line["return"] = numbers_.at(command_id);
  line["at"] = history_now_ns();
  line["answer"] = kept_answer(answer);
  write(line);
}

void SweepHistory::write(const json::object& line) { file_ << json::serialize(line) << '\n'; }

}  // namespace signalbox::test
