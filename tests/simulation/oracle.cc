#include "tests/simulation/oracle.h"

#include <boost/json/parse.hpp>

#include "domain/nanoseconds.h"

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

// JSON may hold a position as any kind of number.
Position position_in(const json::object& result) {
  const json::value* position = result.if_contains("position");
  return position == nullptr ? 0 : position->to_number<Position>();
}

std::string code_in(const json::object& error) {
  const json::value* data = error.if_contains("data");
  return data == nullptr ? "" : std::string(data->at("code").as_string());
}

// What shows an earlier state says so.
bool is_past(const json::object& answer) {
  if (const json::value* result = answer.if_contains("result")) {
    return result->as_object().contains("as_of");
  }
  const json::value* data = answer.at("error").as_object().if_contains("data");
  const json::value* details = data == nullptr ? nullptr : data->as_object().if_contains("details");
  return details != nullptr && details->as_object().contains("as_of");
}

// Covers the longest timeouts and retries, and a clock that was set back.
constexpr std::int64_t usual_rest_ns_max = 20 * 60 * ns_per_s;

}  // namespace

void Oracle::applied(const World& world, std::span<const Record> records) {
  for (const Record& record : records) {
    environment_.note("#" + std::to_string(record.position) + " " +
                      std::string(tag_of(record.event).name) + " " + to_string(record.stream) +
                      " " + record.command_id);
    leases_.applied(world, record);
    lateness_.applied(record);
    waits_.applied(record);
    access_.applied(record);
    clock_.applied(record);
    accepted_.push_back(record);
  }
}

void Oracle::durable(const EventLog& log) {
  while (audit_.tail() < log.tail()) {
    const auto commit = log.read_commit(audit_.tail() + 1);
    if (!commit) return environment_.violate("the log can't be read");
    for (const Record& record : *commit) {
      if (accepted_.empty() || accepted_.front() != record) {
        environment_.violate("the log has at " + std::to_string(record.position) +
                             " what the service never accepted there");
      } else {
        accepted_.pop_front();
      }
      leases_.durable(record);
      lateness_.durable(record);
      waits_.durable(record);
      access_.durable(record);
      card_runs_.read(record);
      due_.read(record);
      answers_.read(record);
      events_.count(record.event);
    }
    board_.read(*commit);
    audit_.read(*commit);
  }
}

void Oracle::rolled_back() {
  accepted_.clear();
  leases_.begin_anew();
  lateness_.begin_anew();
  waits_.begin_anew();
  access_.rolled_back();
}

void Oracle::has_space() {
  lateness_.excuse(environment_.schedule.monotonic_ns());
  waits_.begin_anew();
  due_.disturbed(environment_.schedule.monotonic_ns());
}

void Oracle::stalled_until(std::int64_t until_ns) {
  stalled_until_ns_ = until_ns;
  lateness_.excuse(until_ns);
}

void Oracle::examine_lateness() {
  lateness_.examine();
  waits_.examine(stalled_until_ns_);
  due_.examine();
}

void Oracle::recovered(const EventLog& log) {
  durable(log);  // a batch of unknown outcome may be there, in whole or in part
  accepted_.clear();
  leases_.begin_anew();
  lateness_.begin_anew();
  if (environment_.is_cell && log.tail() > 0) {
    waits_.take_for_now_at_least(recorded_at(log, log.tail()).value());
  }
  waits_.begin_anew();
  access_.begin_anew();
  // In a cell, the server before may be there, and may yet answer what it was asked.
  if (!environment_.is_cell) answers_.server_gone();
  check_jobs();
}

void Oracle::check_jobs() {
  for (const auto& [id, token] : machine_.started()) {
    const auto intent = audit_.intents().find(id);
    environment_.expect(intent != audit_.intents().end() && intent->second == token,
                        "job " + id + " was submitted, and the log has no such intent of token " +
                            std::to_string(token));
  }
  for (const std::string& id : audit_.succeeded_jobs()) {
    environment_.expect(machine_.has_succeeded(id),
                        "job " + id + " is recorded as succeeded, and it wasn't");
  }
  for (const auto& [id, usage] : audit_.job_usages()) {
    environment_.expect(usage == machine_.usage_of(id),
                        "what job " + id + " used up isn't what the log says");
  }
  for (const std::string& id : audit_.blamed_jobs()) {
    environment_.expect(!machine_.knows_reset_of(id),
                        "job " + id + " met a usage limit, and this counted as its failure");
  }
}

std::string Oracle::answered(const std::string& line, bool is_present) {
  const json::object answer = json::parse(line).as_object();
  std::string id(answer.at("id").as_string());
  const json::value* result = answer.if_contains("result");
  access_.answered(id, result != nullptr ? "" : code_in(answer.at("error").as_object()));
  if (!is_past(answer)) answers_.answered(id, answer);
  if (result == nullptr) {
    check_refused_usage(id, answer);
    return id;
  }
  const Position position = position_in(result->as_object());
  environment_.expect(position <= audit_.tail(), "the answer to " + id + " tells of position " +
                                                     std::to_string(position) +
                                                     ", which isn't durable");
  if (const SentCommand* sent = book_.find(id); sent != nullptr && sent->method == "loop.trigger") {
    due_.answered(std::string(sent->params.at("loop").as_string()), result->as_object());
  }
  if (book_.answered(id, result->as_object())) {
    environment_.expect(audit_.has_command(id),
                        "command " + id + " was acknowledged, and the log doesn't have it");
  }
  if (is_present) check_files(*book_.find(id), id, result->as_object());
  return id;
}

// A5: usage of which a refusal says that it counts is in the log.
void Oracle::check_refused_usage(const std::string& id, const json::object& answer) {
  const SentCommand* const sent = book_.find(id);
  if (sent == nullptr || sent->method != "station.complete") return;
  boost::system::error_code absent;
  const json::value* const said = answer.at("error").find_pointer("/data/details/usage", absent);
  if (said == nullptr || (*said != "recorded" && *said != "known")) return;
  environment_.expect(
      audit_.knows_usage_of(sent->token),
      "the usage that " + id + " told is said to count, and the log doesn't have it");
}

// T2 L4 W3: the files that an answer refers to are there.
void Oracle::check_files(const SentCommand& sent, const std::string& id,
                         const json::object& result) {
  if (sent.method == "lock.acquire" || sent.method == "tick.begin") {
    if (!result.contains("token")) {
      return environment_.violate(sent.method + " " + id + " is answered without a token");
    }
    const auto token = result.at("token").to_number<Token>();
    environment_.expect(files_->written() >= token,
                        "the files that follow from " + id + " aren't there");
  } else if (sent.method == "watchdog.check" && result.at("timed_out").as_bool()) {
    for (const char* name : {"checkpoint_path", "checkpoint_json_path"}) {
      const std::string path(result.at(name).as_string());
      environment_.expect(files_->has(path), id + " tells of " + path + ", which isn't there");
    }
  }
}

void Oracle::delivered(const std::string& line) {
  const json::object event = json::parse(line).at("params").as_object();
  environment_.expect(position_in(event) <= audit_.tail(),
                      "a subscriber is told what isn't durable: " + line);
}

std::int64_t Oracle::rest_ns_max() const { return usual_rest_ns_max + board_.rest_ns_max(); }

void Oracle::finished() {
  check_jobs();
  environment_.expect(audit_.open_runs() == 0,
                      std::to_string(audit_.open_runs()) + " runs never came to an end");
  environment_.expect(machine_.running() == 0, "a job outlived all runs");
  board_.finished();
  due_.finished();
}

}  // namespace signalbox::simulation
