#include "server/rpc/broadcasts.h"

#include <utility>

#include "domain/own_loops.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string_view agent_end(const std::string& code) {
  if (code == "CANCELED") return "agent.stopped";
  return code == "TIMEOUT" ? "agent.timeout" : "agent.failed";
}

}  // namespace

std::vector<Broadcast> Broadcasts::of(const Record& record) {
  told_.clear();
  if (const auto* tick = std::get_if<TickEvent>(&record.event)) {
    take(record, *tick);
  } else if (const auto* card = std::get_if<CardEvent>(&record.event)) {
    take(record, *card);
  } else if (const auto* station = std::get_if<StationEvent>(&record.event)) {
    take(record, *station);
  } else if (const auto* refused = event_as<PolicyRefused>(record.event)) {
    json::object& params = tell("heartbeat.error", record);
    params["project"] = record.stream.name;
    params["code"] = "POLICY_REFUSED";
    params["line"] = refused->line;
    params["message"] = refused->message;
  }
  return std::exchange(told_, {});
}

// The attempt that led to the event; else the heartbeat's tick, by its token.
json::object& Broadcasts::tell(std::string_view name, const Record& record) {
  json::object& params = told_.emplace_back(Broadcast{name, {}}).params;
  params["position"] = to_json(record.position);
  params["recorded_at"] = format_time(record.recorded_at_ns);
  if (!record.span_id.is_nil()) {
    params["span_id"] = to_string(record.span_id);
  } else if (heartbeat_ != 0) {
    params["span_id"] = std::to_string(heartbeat_);
  } else {
    params["span_id"] = nullptr;
  }
  return params;
}

json::object& Broadcasts::tell_card(std::string_view name, const Record& record, const CardRun& run,
                                    const RunId& run_id) {
  json::object& params = tell(name, record);
  params["card_id"] = to_string(run.card_id);
  params["run_id"] = run_id.is_nil() ? json::value(nullptr) : json::value(to_string(run_id));
  params["project"] = run.facts.project;
  params["title"] = run.facts.title;
  return params;
}

CardFacts Broadcasts::facts_of(const CardId& id) const {
  return (sources_.card ? sources_.card(id) : std::nullopt).value_or(CardFacts{});
}

bool Broadcasts::is_silent(const CardFacts& facts) const {
  return sources_.wanted && !facts.project.empty() && !sources_.wanted(facts.project);
}

void Broadcasts::take(const Record& record, const TickEvent& noun) {
  if (const auto* skipped = std::get_if<TickSkipped>(&noun)) {
    json::object& params = tell("heartbeat.skipped", record);
    params["loop"] = skipped->loop;
    params["stage"] = skipped->stage;
    params["reason"] = skipped->reason;
    params["token"] = to_json(skipped->token);
    if (record.span_id.is_nil()) params["span_id"] = std::to_string(skipped->token);
    return;
  }
  if (record.stream.name != heartbeat_loop_name) return;
  if (const auto* started = std::get_if<TickStarted>(&noun)) {
    heartbeat_ = record.position;
    heartbeat_idle_ = true;
    json::object& params = tell("heartbeat.tick", record);
    params["token"] = to_json(record.position);
    params["stage"] = started->stage;
    params["reason"] = started->reason;
  } else if (const auto* succeeded = std::get_if<TickSucceeded>(&noun)) {
    const bool idle = heartbeat_idle_ && succeeded->token == heartbeat_;
    heartbeat_ = succeeded->token;
    if (idle) tell("heartbeat.idle", record)["token"] = to_json(succeeded->token);
    heartbeat_ = 0;
  } else if (const auto* failure = std::get_if<TickFailed>(&noun)) {
    heartbeat_ = failure->token;
    json::object& params = tell("heartbeat.error", record);
    params["token"] = to_json(failure->token);
    params["code"] = failure->code;
    params["message"] = failure->error;
    heartbeat_ = 0;
  } else if (const auto* late = std::get_if<TickTimedOut>(&noun)) {
    heartbeat_ = late->token;
    json::object& params = tell("heartbeat.error", record);
    params["token"] = to_json(late->token);
    params["code"] = "TIMEOUT";
    params["message"] = "no end after " + std::to_string(late->elapsed_ms) + " ms";
    heartbeat_ = 0;
  }
}

void Broadcasts::take(const Record& record, const CardEvent& noun) {
  if (const auto* event = std::get_if<CardStarted>(&noun)) return started(record, *event);
  if (const auto* event = std::get_if<CardVerificationStarted>(&noun)) {
    return verification_started(record, *event);
  }
  if (const auto* event = std::get_if<CardVerified>(&noun)) return verified(record, *event);
  if (const auto* event = std::get_if<CardBlocked>(&noun)) {
    return failed(record, event->run_id, event->code, event->message, event->retry_at_ns);
  }
  if (const auto* event = std::get_if<CardFailed>(&noun)) {
    return failed(record, event->run_id, event->code, event->message, 0);
  }
  if (const auto* event = std::get_if<CardUnblocked>(&noun)) return retried(record, *event);
}

void Broadcasts::started(const Record& record, const CardStarted& event) {
  heartbeat_idle_ = false;
  const CardId& id = record.stream.run_id;
  CardRun& run = runs_[event.run_id];
  run = {id, facts_of(id), Phase::working, {}};
  if (is_silent(run.facts)) return;
  tell_card("heartbeat.spawned", record, run, event.run_id)["attempt"] = event.attempt;
  tell_card("agent.spawned", record, run, event.run_id)["attempt"] = event.attempt;
}

void Broadcasts::retried(const Record& record, const CardUnblocked& event) {
  if (!event.by_itself) return;
  heartbeat_idle_ = false;
  const CardId& id = record.stream.run_id;
  const CardRun run{id, facts_of(id), Phase::working, {}};
  if (is_silent(run.facts)) return;
  tell_card("heartbeat.retry", record, run, {})["reason"] = event.reason;
}

// A run whose start wasn't seen, because the subscription is younger, is looked up.
Broadcasts::CardRun& Broadcasts::run_of(const Record& record, const RunId& run_id) {
  const auto [place, inserted] = runs_.try_emplace(run_id);
  CardRun& run = place->second;
  if (!inserted) return run;
  run.card_id = record.stream.run_id;
  run.facts = facts_of(run.card_id);
  const auto before =
      sources_.run_event ? sources_.run_event(run.card_id, run_id, record.position) : std::nullopt;
  if (!before) return run;
  if (event_as<CardMergeStarted>(before->event) != nullptr) run.phase = Phase::merging;
  if (const auto* verifies = event_as<CardVerificationStarted>(before->event)) {
    run.phase = Phase::verifying;
    run.station = verifies->station;
  }
  return run;
}

void Broadcasts::verification_started(const Record& record, const CardVerificationStarted& event) {
  CardRun& run = run_of(record, event.run_id);
  run.phase = Phase::verifying;
  run.station = event.station;
  if (is_silent(run.facts)) return;
  tell_card("agent.completed", record, run, event.run_id);
  tell_card("verification.started", record, run, event.run_id)["station"] = event.station;
}

// The checks of a card's run have passed. What comes after them, as the push, may still fail.
void Broadcasts::take(const Record& record, const StationEvent& noun) {
  const auto* succeeded = std::get_if<StationSucceeded>(&noun);
  if (succeeded == nullptr) return;
  const auto place = runs_.find(record.stream.run_id);
  if (place == runs_.end() || place->second.phase != Phase::verifying) return;
  CardRun& run = place->second;
  if (succeeded->station != run.station) return;
  run.phase = Phase::checked;
  if (is_silent(run.facts)) return;
  json::object& params = tell_card("verification.finished", record, run, place->first);
  params["station"] = run.station;
  params["ok"] = true;
}

void Broadcasts::verified(const Record& record, const CardVerified& event) {
  const CardRun run = run_of(record, event.run_id);
  runs_.erase(event.run_id);
  if (is_silent(run.facts)) return;
  if (run.phase == Phase::working) {
    tell_card("agent.completed", record, run, event.run_id);
  } else if (run.phase == Phase::verifying) {
    json::object& params = tell_card("verification.finished", record, run, event.run_id);
    params["station"] = run.station;
    params["ok"] = true;
  }
}

void Broadcasts::failed(const Record& record, const RunId& run_id, const std::string& code,
                        const std::string& message, std::int64_t retry_at_ns) {
  if (run_id.is_nil()) return;  // somebody blocked it
  const CardRun run = run_of(record, run_id);
  runs_.erase(run_id);
  if (run.phase == Phase::merging || is_silent(run.facts)) return;
  const auto tell_why = [&](json::object& params) {
    params["code"] = code;
    params["message"] = message;
    params["retry_at"] =
        retry_at_ns == 0 ? json::value(nullptr) : json::value(format_time(retry_at_ns));
  };
  const bool stopped = code == "CANCELED";
  if (run.phase == Phase::verifying) {
    json::object& params = tell_card("verification.finished", record, run, run_id);
    params["station"] = run.station;
    params["ok"] = false;
    tell_why(params);
    if (!stopped) return;
  }
  tell_why(tell_card(agent_end(code), record, run, run_id));
}

const std::vector<std::string>& broadcast_names() {
  static const std::vector<std::string> names = {
      "heartbeat.tick",       "heartbeat.idle",       "heartbeat.skipped", "heartbeat.spawned",
      "heartbeat.retry",      "heartbeat.error",      "agent.spawned",     "agent.log",
      "agent.completed",      "agent.failed",         "agent.timeout",     "agent.stopped",
      "verification.started", "verification.finished"};
  return names;
}

}  // namespace signalbox
