#include "tests/crash/sweep.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <boost/json/serialize.hpp>

namespace signalbox::test {
namespace {

namespace json = boost::json;

std::string text_of(const json::object& object, const char* key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

std::uint64_t number_in(const json::object& object, const char* key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr ? number_of(*value) : 0;
}

bool ends_attempt(const std::string& type) {
  return type == "StationSucceeded" || type == "StationAttemptFailed" || type == "StationFailed" ||
         type == "StationTimedOut" || type == "StationDeferred" || type == "StationCanceled";
}

// Returns whether a worker may get this error: its lease expired, or another client ended the run.
bool is_expected_refusal(const std::string& code) {
  return code == "STALE_TOKEN" || code == "RUN_TERMINAL" || code == "STATION_ALREADY_SUCCEEDED";
}

}  // namespace

bool SweepOracle::check(Connection& connection) {
  // Answers first: the log that is read after them must have their effects.
  const auto answers = record_.answers_from(answers_checked_);
  for (bool more = true; more;) {
    const auto answer = connection.call("events.read", {{"from", position_ + 1}, {"limit", 1000}});
    if (!answer) return false;
    const json::object page = result_of(answer);
    if (page.empty()) return false;
    for (const json::value& event : page.at("events").as_array()) apply_event(event.as_object());
    EXPECT_EQ(number_in(page, "next_from"), position_ + 1);
    more = page.at("more").as_bool();
  }
  for (const AnsweredCommand& answered : answers) check_answer(answered);
  answers_checked_ += answers.size();
  return true;
}

void SweepOracle::apply_event(const json::object& json) {
  Event event{number_in(json, "position"), text_of(json, "type"), {}, json.at("data").as_object()};
  EXPECT_EQ(event.position, position_ + 1) << "a hole";
  position_ = event.position;
  if (event.type == "ServerStarted") ++lives_;
  const std::string stream = text_of(json, "stream");
  if (stream.starts_with("run/")) {
    event.run_id = stream.substr(4);
    apply_run_event(event, number_in(json, "cause"));
  }
  const std::string command_id = text_of(json, "command_id");
  if (command_id.empty()) return;
  EXPECT_TRUE(record_.find_sent(command_id)) << command_id << " was never sent";
  std::vector<Event>& events = by_command_[command_id];
  EXPECT_TRUE(events.empty() || events.back().position + 1 == event.position)
      << command_id << " has a second effect, at " << event.position;
  events.push_back(std::move(event));
}

void SweepOracle::apply_run_event(const Event& event, std::uint64_t cause) {
  RunState& run = runs_[event.run_id];
  const std::string station = text_of(event.data, "station");
  const std::string where = event.type + " at " + std::to_string(event.position);
  EXPECT_FALSE(run.ended) << where << ": the run had ended";
  if (event.type == "RunStarted") {
    EXPECT_TRUE(idempotency_keys_.insert(text_of(event.data, "idempotency_key")).second)
        << where << ": the idempotency key had a run";
  } else if (event.type == "StationClaimed") {
    EXPECT_FALSE(run.succeeded.contains(station)) << where << ": rewound " << station;
    EXPECT_EQ(run.token, 0U) << where << ": another attempt was under way";
    run.token = event.position;
  } else if (event.type == "StationSubmitIntended") {
    EXPECT_TRUE(jobs_.insert(text_of(event.data, "job_id")).second) << where << ": submitted twice";
  } else if (event.type == "StationHeartbeat") {
    EXPECT_EQ(cause, run.token) << where << ": a stale token was taken";
  } else if (ends_attempt(event.type)) {
    EXPECT_EQ(cause, run.token) << where << ": a stale token was taken";
    run.token = 0;
    if (event.type == "StationSucceeded") run.succeeded.insert(station);
  } else if (event.type == "RunSucceeded") {
    ++runs_succeeded_;
    run.ended = true;
  } else if (event.type == "RunFailed" || event.type == "RunCanceled") {
    run.ended = true;
  }
}

void SweepOracle::check_answer(const AnsweredCommand& answered) const {
  const std::string& id = answered.command_id;
  const std::string about =
      id + " " + answered.command.method + " " + json::serialize(answered.answer);
  const auto place = by_command_.find(id);
  const std::vector<Event> events =
      place != by_command_.end() ? place->second : std::vector<Event>{};
  if (const std::string code = error_code_of(answered.answer); !code.empty()) {
    EXPECT_TRUE(is_expected_refusal(code)) << about;
    EXPECT_TRUE(events.empty()) << about << ": refused, but in the log";
    return;
  }
  const json::object& result = answered.answer.at("result").as_object();
  const std::string& method = answered.command.method;
  if (method == "station.claim") {
    if (!result.at("claim").is_null() || !events.empty()) {
      check_claim(result.at("claim"), events, about);
    }
    return;
  }
  ASSERT_FALSE(events.empty()) << about << ": acknowledged, and not in the log";
  EXPECT_LE(events.back().position, number_in(result, "position")) << about;
  if (method == "run.start") {
    EXPECT_EQ(events.front().type, "RunStarted") << about;
    EXPECT_EQ(events.front().run_id, text_of(result, "run_id")) << about;
  } else if (method == "station.heartbeat") {
    EXPECT_EQ(events.front().type, "StationHeartbeat") << about;
    EXPECT_EQ(events.size(), 1U) << about;
  } else {
    check_completion(answered, events);
  }
}

void SweepOracle::check_completion(const AnsweredCommand& answered,
                                   const std::vector<Event>& events) const {
  const json::object& result = answered.answer.at("result").as_object();
  const std::string about = answered.command_id + " " + json::serialize(answered.answer);
  EXPECT_TRUE(ends_attempt(events.front().type)) << about;
  EXPECT_EQ(events.front().run_id, text_of(answered.command.params, "run_id")) << about;
  const auto has = [&events](const char* type) {
    return std::any_of(events.begin(), events.end(),
                       [type](const Event& event) { return event.type == type; });
  };
  EXPECT_EQ(text_of(result, "run_status") == "succeeded", has("RunSucceeded")) << about;
  EXPECT_EQ(text_of(result, "run_status") == "failed", has("RunFailed")) << about;
  EXPECT_EQ(text_of(result, "station_status") == "succeeded", has("StationSucceeded")) << about;
  EXPECT_EQ(text_of(result, "station_status") == "waiting", has("StationAttemptFailed")) << about;
  const json::value* claim = result.if_contains("claim");
  EXPECT_EQ(claim != nullptr && claim->is_object(), has("StationClaimed")) << about;
  if (claim != nullptr && claim->is_object()) check_claim(*claim, events, about);
}

// The claim's token must be the position of the StationClaimed event, and the rest must match it.
void SweepOracle::check_claim(const json::value& claim, const std::vector<Event>& events,
                              const std::string& about) {
  const auto grant = std::find_if(events.begin(), events.end(), [](const Event& event) {
    return event.type == "StationClaimed";
  });
  ASSERT_NE(grant, events.end()) << about << ": a claim that isn't in the log";
  ASSERT_TRUE(claim.is_object()) << about << ": a claim in the log that wasn't told";
  EXPECT_EQ(number_of(claim.at("token")), grant->position) << about;
  EXPECT_EQ(text_of(claim.get_object(), "run_id"), grant->run_id) << about;
  EXPECT_EQ(text_of(claim.get_object(), "station"), text_of(grant->data, "station")) << about;
  EXPECT_EQ(claim.at("attempt"), grant->data.at("attempt")) << about;
}

}  // namespace signalbox::test
