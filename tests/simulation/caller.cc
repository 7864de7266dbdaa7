#include "tests/simulation/caller.h"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

}  // namespace

bool is_of_any_request(const std::string& code) {
  constexpr std::array codes{"UNKNOWN_OUTCOME", "STORAGE_FULL", "SHUTTING_DOWN",
                             "OVERLOADED",      "NOT_ACTIVE",   "STORAGE_AWAY"};
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

bool is_about_dropped(const DroppedHistory& dropped, const std::string& code,
                      const json::object& params) {
  const auto is_in = [&params](const std::set<std::string>& ids, const char* name) {
    const json::value* id = params.if_contains(name);
    return id != nullptr && id->is_string() && ids.contains(std::string(id->get_string()));
  };
  return code == "HISTORY_DROPPED" || (code == "RUN_NOT_FOUND" && is_in(dropped.runs, "run_id")) ||
         (code == "CARD_NOT_FOUND" && is_in(dropped.cards, "card_id"));
}

void Caller::ask(const std::string& method, const json::object& params, std::int64_t patience_ms,
                 Answer answer) {
  method_ = method;
  id_ = name_ + "-" + std::to_string(++questions_);
  json::object identified = params;
  // A heartbeat with an id is recorded, whatever it says. Seeds that end otherwise keep the
  // histories for which they are in found_seeds.txt and mutants.txt.
  const bool is_beat = method == "station.heartbeat" || method == "step.heartbeat";
  const bool is_anonymous = is_beat && environment_.seed % 10 == 7;
  // What a runner says is no command; what is decided about it is one.
  const bool is_decision = method == "runner.drain" || method == "runner.evict";
  const bool is_of_runner = method.starts_with("runner.") && !is_decision;
  const bool has_id = !is_of_runner && (!is_anonymous || environment_.random.one_in(4));
  if (has_id) identified["command_id"] = id_;
  book_.sent(id_, method, params, has_id);
  line_ = json::serialize(
      json::object{{"jsonrpc", "2.0"}, {"id", id_}, {"method", method}, {"params", identified}});
  patience_ns_ = patience_ms * ns_per_ms;
  answer_ = std::move(answer);
  send();
}

void Caller::repeat_last() {
  if (answer_ == nullptr && !line_.empty()) network_.send(name_, *this, line_);
}

void Caller::send() {
  network_.send(name_, *this, line_);
  environment_.schedule.after(patience_ns_, outside, [this, now = ++tries_] {
    if (answer_ == nullptr || now != tries_) return;
    if (!environment_.faults.stopped() && environment_.random.one_in(8)) {
      return finish({"GAVE_UP", {}, {}});
    }
    network_.turn(name_, {});
    send();
  });
}

void Caller::send_later(std::int64_t delay_ns) {
  environment_.schedule.after(delay_ns, outside, [this, now = ++tries_] {
    if (answer_ != nullptr && now == tries_) send();
  });
}

void Caller::finish(const Reply& reply) {
  const Answer answer = std::exchange(answer_, nullptr);
  answer(reply);
}

void Caller::receive(const std::string& line) {
  const json::object answer = json::parse(line).as_object();
  if (answer_ == nullptr || answer.at("id").as_string() != id_)
    return;  // an answer to an earlier request, or a duplicate
  if (const json::value* result = answer.if_contains("result")) {
    // Who asks wants to know how it is now, not how it was.
    const bool is_past =
        result->as_object().contains("as_of") && !reports_events(method_, result->as_object());
    if (!is_past) return finish({{}, result->as_object(), {}});
    network_.turn(name_, {});
    return send_later(environment_.random.between(100, 1000) * ns_per_ms);
  }
  const json::object& data = answer.at("error").at("data").as_object();
  const std::string code(data.at("code").as_string());
  const json::value* details = data.if_contains("details");
  if (code == "NOT_ACTIVE") {
    network_.turn(name_, std::string(details->at("server").as_string()));
  }
  // A server that takes no commands may not have what the request is about, yet.
  const bool is_past = details != nullptr && details->as_object().contains("as_of");
  if (is_past) network_.turn(name_, {});
  if (is_of_any_request(code) || is_past)
    return send_later(environment_.random.between(100, 1000) * ns_per_ms);
  if (is_about_dropped(environment_.dropped, code, book_.find(id_)->params)) {
    return finish({"GAVE_UP", {}, {}});
  }
  finish({code, {}, details == nullptr ? json::object() : details->as_object()});
}

}  // namespace signalbox::simulation
