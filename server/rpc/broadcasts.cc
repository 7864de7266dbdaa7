#include "server/rpc/broadcasts.h"

#include <algorithm>
#include <utility>

#include "domain/service_loops.h"
#include "server/engine/engine.h"
#include "server/followers/projector.h"
#include "server/limits.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string_view agent_end(const std::string& code) {
  if (code == "CANCELED") return "agent.stopped";
  return code == "TIMEOUT" ? "agent.timeout" : "agent.failed";
}

}  // namespace

std::vector<Broadcast> Broadcasts::of(const Record& record) {
  emitted_.clear();
  if (const auto* tick = std::get_if<TickEvent>(&record.event)) {
    apply(record, *tick);
  } else if (const auto* card = std::get_if<CardEvent>(&record.event)) {
    apply(record, *card);
  } else if (const auto* station = std::get_if<StationEvent>(&record.event)) {
    apply(record, *station);
  } else if (const auto* refused = event_as<PolicyRefused>(record.event)) {
    json::object& params = emit("heartbeat.error", record);
    params["project"] = record.stream.name;
    params["code"] = "POLICY_REFUSED";
    params["line"] = refused->line;
    params["message"] = refused->message;
  }
  return std::exchange(emitted_, {});
}

// `span_id` is that of the event, or else the token of the heartbeat's tick.
json::object& Broadcasts::emit(std::string_view name, const Record& record) {
  Broadcast& broadcast = emitted_.emplace_back(Broadcast{name, {}});
  json::object& params = broadcast.params;
  params["position"] = to_json(record.position);
  params["recorded_at"] = format_time(record.recorded_at_ns);
  if (!record.span_id.is_nil()) {
    params["span_id"] = to_string(record.span_id);
  } else if (heartbeat_ != 0) {
    params["span_id"] = std::to_string(heartbeat_);
    broadcast.span_is_token = true;
  } else {
    params["span_id"] = nullptr;
  }
  return params;
}

json::object& Broadcasts::emit_for_card(std::string_view name, const Record& record,
                                        const CardRun& run, const RunId& run_id) {
  json::object& params = emit(name, record);
  // The span is that of the run, whichever of its attempts caused the event, so that one id leads
  // from agent.spawned to the agent's end.
  if (!run_id.is_nil()) {
    params["span_id"] = to_string(run_id);
    emitted_.back().span_is_token = false;
  }
  params["card_id"] = to_string(run.card_id);
  params["run_id"] = id_or_null(run_id);
  params["project"] = run.facts.project;
  params["title"] = run.facts.title;
  return params;
}

CardFacts Broadcasts::facts_of(const CardId& id) const {
  return (sources_.card ? sources_.card(id) : std::nullopt).value_or(CardFacts{});
}

void Broadcasts::renew_facts() {
  for (auto& [run_id, run] : runs_) {
    auto facts = sources_.card ? sources_.card(run.card_id) : std::nullopt;
    if (facts) {
      run.facts = *std::move(facts);
    } else {
      run.facts.title.clear();
    }
  }
}

bool Broadcasts::is_silent(const CardFacts& facts) const {
  return sources_.wanted && !facts.project.empty() && !sources_.wanted(facts.project);
}

void Broadcasts::apply(const Record& record, const TickEvent& noun) {
  if (const auto* skipped = std::get_if<TickSkipped>(&noun)) {
    json::object& params = emit("heartbeat.skipped", record);
    params["loop"] = skipped->loop;
    params["stage"] = skipped->stage;
    params["reason"] = skipped->reason;
    params["token"] = to_json(skipped->token);
    if (record.span_id.is_nil()) {
      params["span_id"] = std::to_string(skipped->token);
      emitted_.back().span_is_token = true;
    }
    return;
  }
  if (record.stream.name != heartbeat_loop_name) return;
  if (const auto* started = std::get_if<TickStarted>(&noun)) {
    heartbeat_ = record.position;
    heartbeat_idle_ = true;
    json::object& params = emit("heartbeat.tick", record);
    params["token"] = to_json(record.position);
    params["stage"] = started->stage;
    params["reason"] = started->reason;
  } else if (const auto* succeeded = std::get_if<TickSucceeded>(&noun)) {
    const bool idle = heartbeat_idle_ && succeeded->token == heartbeat_;
    heartbeat_ = succeeded->token;
    if (idle) emit("heartbeat.idle", record)["token"] = to_json(succeeded->token);
    heartbeat_ = 0;
  } else if (const auto* failure = std::get_if<TickFailed>(&noun)) {
    heartbeat_ = failure->token;
    json::object& params = emit("heartbeat.error", record);
    params["token"] = to_json(failure->token);
    params["code"] = failure->code;
    params["message"] = failure->error;
    heartbeat_ = 0;
  } else if (const auto* late = std::get_if<TickTimedOut>(&noun)) {
    heartbeat_ = late->token;
    json::object& params = emit("heartbeat.error", record);
    params["token"] = to_json(late->token);
    params["code"] = "TIMEOUT";
    params["message"] = "no end after " + std::to_string(late->elapsed_ms) + " ms";
    heartbeat_ = 0;
  }
}

void Broadcasts::apply(const Record& record, const CardEvent& noun) {
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
  json::object& spawned = emit_for_card("heartbeat.spawned", record, run, event.run_id);
  spawned["attempt"] = event.attempt;
  if (heartbeat_ != 0) spawned["token"] = to_json(heartbeat_);
  emit_for_card("agent.spawned", record, run, event.run_id)["attempt"] = event.attempt;
}

void Broadcasts::retried(const Record& record, const CardUnblocked& event) {
  if (!event.by_itself) return;
  heartbeat_idle_ = false;
  const CardId& id = record.stream.run_id;
  const CardRun run{id, facts_of(id), Phase::working, {}};
  if (is_silent(run.facts)) return;
  emit_for_card("heartbeat.retry", record, run, {})["reason"] = event.reason;
}

// Looks the run up if it was started before the subscription.
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
  emit_for_card("agent.completed", record, run, event.run_id);
  emit_for_card("verification.started", record, run, event.run_id)["station"] = event.station;
}

// Reports that the checks of a card's run have passed: at once, or with the approval of their
// result if that was held. A later step, such as the push, may still fail.
void Broadcasts::apply(const Record& record, const StationEvent& noun) {
  const auto* succeeded = std::get_if<StationSucceeded>(&noun);
  const auto* approved = std::get_if<StationApproved>(&noun);
  if (succeeded == nullptr && approved == nullptr) return;
  const std::string& station = succeeded != nullptr ? succeeded->station : approved->station;
  const auto place = runs_.find(record.stream.run_id);
  if (place == runs_.end() || place->second.phase != Phase::verifying) return;
  CardRun& run = place->second;
  if (station != run.station) return;
  run.phase = Phase::checked;
  if (is_silent(run.facts)) return;
  json::object& params = emit_for_card("verification.finished", record, run, place->first);
  params["station"] = run.station;
  params["ok"] = true;
}

void Broadcasts::verified(const Record& record, const CardVerified& event) {
  const CardRun run = run_of(record, event.run_id);
  runs_.erase(event.run_id);
  if (is_silent(run.facts)) return;
  if (run.phase == Phase::working) {
    emit_for_card("agent.completed", record, run, event.run_id);
  } else if (run.phase == Phase::verifying) {
    json::object& params = emit_for_card("verification.finished", record, run, event.run_id);
    params["station"] = run.station;
    params["ok"] = true;
  }
}

void Broadcasts::failed(const Record& record, const RunId& run_id, const std::string& code,
                        const std::string& message, std::int64_t retry_at_ns) {
  if (run_id.is_nil()) return;  // the card was blocked by a command, and not by a run
  const CardRun run = run_of(record, run_id);
  runs_.erase(run_id);
  if (run.phase == Phase::merging || is_silent(run.facts)) return;
  const auto add_reason = [&](json::object& params) {
    params["code"] = code;
    params["message"] = message;
    params["retry_at"] = time_or_null(retry_at_ns);
  };
  const bool stopped = code == "CANCELED";
  if (run.phase == Phase::verifying) {
    json::object& params = emit_for_card("verification.finished", record, run, run_id);
    params["station"] = run.station;
    params["ok"] = false;
    add_reason(params);
    if (!stopped) return;
  }
  add_reason(emit_for_card(agent_end(code), record, run, run_id));
}

const std::vector<std::string>& broadcast_names() {
  static const std::vector<std::string> names = {
      "heartbeat.tick",       "heartbeat.idle",        "heartbeat.skipped", "heartbeat.spawned",
      "heartbeat.retry",      "heartbeat.error",       "agent.spawned",     "agent.log",
      "agent.completed",      "agent.failed",          "agent.timeout",     "agent.stopped",
      "verification.started", "verification.finished", "attention.changed"};
  return names;
}

namespace {

std::optional<CardFacts> facts_of(const Api& api, const CardId& id) {
  if (const Card* card = api.engine.world().board.find(id)) {
    return CardFacts{card->project, card->title};
  }
  const auto row = api.projector.index().cards().find(id);
  if (!row || !*row) return std::nullopt;
  return CardFacts{(*row)->project, (*row)->title};
}

bool is_about(const Record& record, const RunId& run_id) {
  if (const auto* started = event_as<CardStarted>(record.event)) return started->run_id == run_id;
  if (const auto* checks = event_as<CardVerificationStarted>(record.event)) {
    return checks->run_id == run_id;
  }
  const auto* merging = event_as<CardMergeStarted>(record.event);
  return merging != nullptr && merging->run_id == run_id;
}

std::optional<Record> run_event(const Api& api, const CardId& id, const RunId& run_id,
                                Position position) {
  const auto positions = api.projector.index().cards().positions(id);
  if (!positions) return std::nullopt;
  for (auto each = positions->rbegin(); each != positions->rend(); ++each) {
    if (*each >= position) continue;
    const auto records = api.log.read(*each, 1);
    if (!records || records->empty()) return std::nullopt;
    if (is_about(records->front(), run_id)) return records->front();
    // Between the start and the end of a run its card has no other events than those of its checks.
    if (event_as<CardStarted>(records->front().event) != nullptr) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

BroadcastSources broadcast_sources(const Api& api) {
  BroadcastSources sources;
  sources.card = [&api](const CardId& id) { return facts_of(api, id); };
  sources.wanted = [&api](const std::string& name) {
    const Project* project = api.engine.world().find_project(name);
    return project == nullptr || project->policy.websocket_events;
  };
  sources.run_event = [&api](const CardId& id, const RunId& run_id, Position position) {
    return run_event(api, id, run_id, position);
  };
  return sources;
}

Position Broadcasts::history_from(Position from, const Horizon& horizon) {
  constexpr Position events_max = limits::broadcast_history_events_max;
  const Position first = from > events_max ? from - events_max : 1;
  return std::min(std::max(first, horizon.position + 1), from);
}

bool Broadcasts::concerns(const Record& record) {
  return std::holds_alternative<TickEvent>(record.event) ||
         std::holds_alternative<CardEvent>(record.event) ||
         event_as<StationSucceeded>(record.event) != nullptr ||
         event_as<StationApproved>(record.event) != nullptr ||
         event_as<PolicyRefused>(record.event) != nullptr;
}

}  // namespace signalbox
