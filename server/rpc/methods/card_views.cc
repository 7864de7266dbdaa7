#include "server/rpc/methods/card_views.h"

#include <algorithm>

#include "domain/admission.h"
#include "domain/refusals.h"
#include "domain/station_turn.h"
#include "domain/try.h"
#include "projections/run_history.h"
#include "server/board/policy_reader.h"
#include "server/engine/engine.h"
#include "server/executors/check_files.h"
#include "server/executors/proposal_metadata.h"
#include "server/rpc/read_models.h"
#include "server/rpc/record_json.h"
#include "server/text/described_json.h"
#include "server/text/json_text.h"
#include "server/text/time_text.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// The number of a card's latest events that its view shows.
constexpr std::size_t card_history_events_max = 200;

// Adds the run that the record starts. One that the card went on with is listed once.
void add_run(const Record& record, json::array& runs) {
  json::object run;
  if (const auto* started = event_as<CardStarted>(record.event)) {
    run["run_id"] = to_json(started->run_id);
    run["kind"] = "work";
    run["attempt"] = started->attempt;
  } else if (const auto* merging = event_as<CardMergeStarted>(record.event)) {
    run["run_id"] = to_json(merging->run_id);
    run["kind"] = "merge";
  } else {
    return;
  }
  const bool is_listed = std::any_of(runs.begin(), runs.end(), [&run](const json::value& each) {
    return each.at("run_id") == run.at("run_id");
  });
  if (is_listed) return;
  run["started_at"] = format_time(record.recorded_at_ns);
  run["position"] = to_json(record.position);
  runs.push_back(std::move(run));
}

json::object history_entry(const Record& record) {
  json::object entry;
  json::object whole = record_to_json(record);
  for (const char* field :
       {"position", "type", "recorded_at", "actor", "command_id", "cause", "span_id", "data"}) {
    if (json::value* value = whole.if_contains(field)) entry[field] = std::move(*value);
  }
  return entry;
}

// Returns the result that the record gives an attempt at the station; nullptr if it gives none.
const AttemptResult* result_at(const Record& record, const std::string& station) {
  const auto of = [&station](const auto* event) {
    return event != nullptr && event->station == station ? &event->result : nullptr;
  };
  if (const auto* found = of(event_as<StationSucceeded>(record.event))) return found;
  if (const auto* found = of(event_as<StationResultHeld>(record.event))) return found;
  return of(event_as<StationFailed>(record.event));
}

// Returns the metadata of the latest result of the stations that `is_asked` returns true for; empty
// if there is none.
template <class IsAsked>
json::object latest_metadata(const RunHistory& run, const IsAsked& is_asked) {
  const AttemptResult* latest = nullptr;
  for (const Record& record : run.records) {
    for (const StationDefinition& station : run.pipeline.stations) {
      if (!is_asked(station)) continue;
      if (const AttemptResult* result = result_at(record, station.name)) latest = result;
    }
  }
  if (latest == nullptr || latest->metadata.empty()) return {};
  const auto metadata = parse_json(latest->metadata);
  return metadata && metadata->is_object() ? metadata->get_object() : json::object();
}

void add_list(const json::object& metadata, const char* name, json::object& shown) {
  const json::value* const list = metadata.if_contains(name);
  if (list != nullptr && list->is_array() && !list->get_array().empty()) shown[name] = *list;
}

// Adds what is known of the card's latest run; nothing if its records were dropped.
Stored<void> add_findings_of_run(const Api& api, const RunIndex& index, const CardRow& row,
                                 json::object& card) {
  if (row.run_id.is_nil()) return {};
  const auto history = TRY(read_history(api.log, index, row.run_id));
  if (history) add_findings(*history, card);
  return {};
}

// Returns whether the CardUnblocked is of a card whose merge was deferred, and which stays
// verified.
bool was_deferred_before(const Api& api, const Record& unblocked) {
  // The event before isn't in the log yet if it is as new as this one.
  const Card* card = api.engine.world().board.find(unblocked.stream.run_id);
  if (card != nullptr && card->changed_at == unblocked.position) {
    return card->status == CardStatus::verified;
  }
  const auto before = api.log.read(std::max<Position>(unblocked.cause, 1), 1);
  return before && !before->empty() &&
         event_as<CardMergeDeferred>(before->front().event) != nullptr;
}

// Returns the id of the first card in the records, with its new status.
json::object card_result(std::span<const Record> records, const char* status) {
  json::object result;
  for (const Record& record : records) {
    if (record.stream.kind != StreamKind::card) continue;
    result["card_id"] = to_json(record.stream.run_id);
    result["status"] = status;
    break;
  }
  return result;
}

}  // namespace

void add_findings(const RunHistory& run, json::object& shown) {
  const auto proposes = [](const StationDefinition& station) {
    return builtin_of(station) == BuiltinStation::create_pr;
  };
  // The service makes the metadata of these stations; other jobs can write what they like.
  const auto judges = [&proposes](const StationDefinition& station) {
    return station.executor == ExecutorKind::checks || proposes(station);
  };
  add_list(latest_metadata(run, judges), checks_changed_field, shown);
  add_list(latest_metadata(run, proposes), left_out_field, shown);
}

json::object card_row_to_json(const CardRow& row) {
  json::object object;
  object["card_id"] = to_json(row.card_id);
  object["status"] = to_json(row.status);
  object["project"] = row.project;
  object["title"] = row.title;
  object["key"] = row.key;
  object["priority"] = row.priority;
  object["attempts"] = row.runs;
  object["merging"] = row.is_merging();
  object["run_id"] = id_or_null(row.run_id);
  object["merge_run_id"] = id_or_null(row.merge_run_id);
  object["code"] = row.code;
  object["message"] = row.message;
  object["retry_at"] = time_or_null(row.retry_at_ns);
  object["token"] = to_json(row.token);
  object["commit"] = row.commit;
  object["submitted_at"] = format_time(row.submitted_at_ns);
  object["changed_at"] = format_time(row.changed_at_ns);
  object["submitted_position"] = to_json(row.submitted_position);
  object["changed_position"] = to_json(row.last_position);
  return object;
}

Decided<json::object> card_view(const Api& api, const RunIndex& index, const CardId& id) {
  const auto row = index.cards().find(id);
  if (!row) return unreadable(row.error());
  if (!*row) return card_not_found(id);
  auto positions = index.cards().positions(id);
  if (!positions) return unreadable(positions.error());
  const std::size_t total = positions->size();
  if (total > card_history_events_max) {  // the first event has the brief
    positions->erase(positions->begin() + 1,
                     positions->end() - static_cast<std::ptrdiff_t>(card_history_events_max - 1));
  }
  const auto records = read_records(api.log, *positions);
  if (!records) return unreadable(records.error());
  json::object card = card_row_to_json(**row);
  if (auto added = add_findings_of_run(api, index, **row, card); !added) {
    return unreadable(added.error());
  }
  json::array runs, history;
  for (const Record& record : *records) {
    if (const auto* submitted = event_as<CardSubmitted>(record.event)) {
      card["brief"] = submitted->brief;
      card["submitted_by"] = record.actor;
    }
    add_run(record, runs);
    history.push_back(history_entry(record));
  }
  card["runs"] = std::move(runs);
  card["history"] = std::move(history);
  card["history_total"] = total;
  return json::object{{"card", std::move(card)}};
}

tl::unexpected<Rejection> card_not_found(const CardId& id) {
  return reject(ErrorCode::CARD_NOT_FOUND, "there is no card " + to_string(id),
                {{"card_id", to_string(id)}}, {"signalbox card list"});
}

json::object submit_card_result(const Api&, std::span<const Record> records) {
  json::object result = card_result(records, "backlog");
  for (const Record& record : records) {
    if (const auto* submitted = event_as<CardSubmitted>(record.event)) {
      result["project"] = submitted->project;
      result["title"] = submitted->title;
    }
  }
  return result;
}

json::object block_card_result(const Api&, std::span<const Record> records) {
  json::object result = card_result(records, "blocked");
  result["changed"] = true;
  return result;
}

json::object set_priority_result(const Api&, std::span<const Record> records) {
  json::object result;
  for (const Record& record : records) {
    const auto* set = event_as<CardPrioritySet>(record.event);
    if (set == nullptr) continue;
    result["card_id"] = to_json(record.stream.run_id);
    result["priority"] = set->priority;
  }
  result["changed"] = true;
  return result;
}

json::object unblock_card_result(const Api& api, std::span<const Record> records) {
  json::object result = card_result(records, "backlog");
  for (const Record& record : records) {
    if (event_as<CardUnblocked>(record.event) == nullptr) continue;
    if (was_deferred_before(api, record)) result["status"] = name_of(CardStatus::verified);
  }
  result["changed"] = true;
  return result;
}

namespace {

namespace json = boost::json;

constexpr std::size_t holders_shown_max = 32;

// Returns a text such as "all 3 agents of web are busy"; `scope` is empty or " of web".
std::string all_busy(std::int64_t count, const std::string& scope) {
  return count == 1 ? "the only agent" + scope + " is busy"
                    : "all " + std::to_string(count) + " agents" + scope + " are busy";
}

std::string text_of(const World& world, const CardWait& wait, const Card& card) {
  switch (wait.reason) {
    case CardWaitReason::none:
      return "it is next: the next tick of the heartbeat starts it";
    case CardWaitReason::policy:
      if (std::string held = policy_hold_text(*world.find_project(card.project)); !held.empty()) {
        return held;
      }
      return "the policy of " + card.project + " doesn't process the backlog";
    case CardWaitReason::order: {
      const Card* first = world.board.find(wait.holders.front());
      return "\"" + first->title + "\" is ahead of it";
    }
    case CardWaitReason::worktree:
      return "the worktree of its run before is being removed, and what is in it kept";
    case CardWaitReason::service_paused:
      return pause_text(*world.server.pause);
    case CardWaitReason::concurrency:
      break;
  }
  if (wait.scope == "key") return "a card of the same key, " + card.key + ", is being worked on";
  if (wait.scope == "held") {
    return std::to_string(wait.holders.size()) +
           " cards whose work is done wait for a decision, or to be proposed";
  }
  if (wait.limit == 0) return "its project's policy allows no agents";
  return all_busy(wait.limit, wait.scope == "project" ? " of " + card.project : "");
}

// Returns the wait for a person's decision about the card's run or its merge; null if there is
// none.
json::value decision_waiting(const World& world, const Card& card) {
  const Run* run = world.find_run(card.is_merging() ? card.merge_run_id : card.run_id);
  const bool is_under_way = card.has_agent() || card.is_merging();
  if (!is_under_way || run == nullptr || !waits_for_decision(*run)) return nullptr;
  json::object waiting;
  waiting["reason"] = "approval";
  waiting["text"] = "a person has to decide: signalbox run why " + to_string(run->id);
  return waiting;
}

// Returns the wait of verified work: for the service to be resumed, or of a card whose merge was
// deferred often; null if it doesn't wait.
json::value merge_waiting(const World& world, const Card& card) {
  json::object waiting;
  if (!admits_work(world)) {
    waiting["reason"] = to_json(CardWaitReason::service_paused);
    waiting["text"] = pause_text(*world.server.pause);
    return waiting;
  }
  if (!card.waits_for_merge()) return nullptr;
  waiting["reason"] = "merge_deferred";
  waiting["text"] = "its merge is tried again at " + format_time(merge_due_ns(world, card)) +
                    ", or now: " + unblock_command(card);
  return waiting;
}

}  // namespace

std::string policy_hold_text(const Project& project) {
  const std::string file =
      "nothing is started or merged: " + std::string(policy_file_name) + " of " + project.name;
  switch (policy_hold(project)) {
    case PolicyHold::none:
      return {};
    case PolicyHold::never_understood:
      return file + " was never understood";
    case PolicyHold::gone:
      return file + " is gone";
    case PolicyHold::unreadable:
      return file + " couldn't be read";
  }
  return {};
}

json::object card_holder(const Card& card) {
  json::object holder;
  holder["card_id"] = to_string(card.id);
  holder["title"] = card.title;
  holder["project"] = card.project;
  holder["status"] = to_json(card.status);
  holder["run_id"] = id_or_null(card.run_id);
  return holder;
}

json::value card_waiting(const World& world, const Card& card, const Card* next, bool whole) {
  if (card.status == CardStatus::verified && !card.is_merging()) return merge_waiting(world, card);
  if (card.status != CardStatus::backlog) return decision_waiting(world, card);
  const CardWait wait = why_waiting(world, card, next);
  json::object waiting;
  waiting["reason"] = to_json(wait.reason);
  waiting["text"] = text_of(world, wait, card);
  if (wait.reason == CardWaitReason::concurrency) {
    waiting["scope"] = wait.scope;
    waiting["limit"] = wait.limit;
  }
  if (!whole || wait.holders.empty()) return waiting;
  json::array& holders = waiting["holders"].emplace_array();
  for (const CardId& id : wait.holders) {
    if (holders.size() == holders_shown_max) break;
    if (const Card* holder = world.board.find(id)) holders.push_back(card_holder(*holder));
  }
  waiting["holders_total"] = wait.holders.size();
  return waiting;
}

PresentCards present_cards(const World& world, std::span<const CardId> ids, bool whole) {
  PresentCards present;
  std::optional<const Card*> next;  // known once: its cost grows with the projects
  for (const CardId& id : ids) {
    const Card* open = world.board.find(id);
    if (open == nullptr) continue;
    if (!next && open->status == CardStatus::backlog) next = next_to_start(world);
    present[id] = {card_waiting(world, *open, next.value_or(nullptr), whole),
                   time_or_null(retry_due_ns(world, *open))};
  }
  return present;
}

void add_present_state(const PresentCards& present, json::object& card) {
  card["waiting"] = nullptr;
  const auto id = parse_uuid(std::string_view(card.at("card_id").as_string()));
  const auto found = present.find(*id);
  if (found == present.end()) return;
  card["waiting"] = found->second.waiting;
  card["retry_at"] = found->second.retry_at;
}

}  // namespace signalbox
