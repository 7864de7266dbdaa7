
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "domain/admission.h"
#include "domain/attempt_end.h"
#include "domain/refusals.h"
#include "domain/station_turn.h"
#include "server/board/card_run_input.h"
#include "server/board/policy_reader.h"
#include "server/engine/engine.h"
#include "server/rpc/methods/card_views.h"
#include "server/rpc/methods/run_methods.h"
#include "server/rpc/read_models.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::size_t records_of_removal_max = 256;

struct WhyCard {
  CardId card_id{};
};
BOOST_DESCRIBE_STRUCT(WhyCard, (), (card_id))

// The state that the engine's thread captures at one position.
struct CardMoment {
  CardId card_id{};
  std::shared_ptr<const Card> card;  // nullptr: merged, or there is no such card
  bool moving = false;
  std::string reason;
  std::string text;
  Position cause_position = 0;
  bool caused_by_policy = false;   // then the cause is the latest PolicyAdopted
  bool caused_by_refusal = false;  // then it is the latest PolicyRefused instead
  std::int64_t until_ns = 0;
  json::array holders;
  std::string unblocked_by;
  std::vector<std::string> next_commands;
  std::function<Decided<json::object>(const RunIndex&)> why_run;  // for the run under way
};

std::string policy_file_of(const World& world, const Card& card) {
  return world.find_project(card.project)->repository + "/" + policy_file_name;
}

void explain_policy(const World& world, const char* toggle, CardMoment& moment) {
  const Card& card = *moment.card;
  moment.reason = "policy";
  moment.caused_by_policy = true;
  if (const PolicyHold hold = policy_hold(*world.find_project(card.project));
      hold != PolicyHold::none) {
    moment.text = policy_hold_text(*world.find_project(card.project));
    moment.caused_by_refusal = hold != PolicyHold::gone;
    const char* const way_out =
        hold == PolicyHold::gone         ? ", once it is there again; an empty one will do"
        : hold == PolicyHold::unreadable ? ", once it can be read, or its directory shows none"
                                         : ", once it can be understood";
    moment.unblocked_by = policy_file_of(world, card) + way_out;
    moment.next_commands = {"signalbox project get " + shell_word(card.project)};
    return;
  }
  moment.unblocked_by = std::string("`- [x] ") + toggle + "` in " + policy_file_of(world, card);
  moment.next_commands = {"signalbox project get " + shell_word(card.project)};
}

// Returns the position of the event that took the last free agent: the latest start of a holder's
// run.
Position latest_start(const World& world, const CardWait& wait) {
  Position latest = 0;
  for (const CardId& id : wait.holders) {
    const Card* holder = world.board.find(id);
    const Run* run = holder == nullptr ? nullptr : world.find_run(holder->run_id);
    if (run != nullptr) latest = std::max(latest, run->started_at);
  }
  return latest;
}

// Explains a card that waits for the service to be resumed.
void explain_service_pause(const World& world, CardMoment& moment) {
  const ServicePause& pause = *world.server.pause;
  moment.reason = "service_paused";
  moment.text = pause_text(pause);
  moment.cause_position = pause.position;
  moment.unblocked_by = "server.resume, by an operator";
  moment.next_commands = {resume_service_command};
}

void explain_backlog(const World& world, CardMoment& moment) {
  const Card& card = *moment.card;
  const Card* const next = next_to_start(world);
  const CardWait wait = why_waiting(world, card, next);
  const json::value described = card_waiting(world, card, next, /*whole=*/true);
  const json::object& waiting = described.get_object();
  moment.reason = std::string(waiting.at("reason").as_string());
  moment.text = std::string(waiting.at("text").as_string());
  if (const json::value* holders = waiting.if_contains("holders")) {
    moment.holders = holders->get_array();
  }
  switch (wait.reason) {
    case CardWaitReason::none:
      moment.reason = "next";
      moment.moving = true;
      if (goes_on_with_run(world, card)) {
        moment.text += ", or leaves it out and logs why, while nobody can tell how its run " +
                       to_string(card.run_id) + " ended, with which it may go on";
      }
      moment.unblocked_by = "the next tick of the heartbeat";
      moment.next_commands = {"signalbox loop trigger heartbeat"};
      return;
    case CardWaitReason::policy:
      return explain_policy(world, "processBacklog", moment);
    case CardWaitReason::order:
      moment.unblocked_by = "the cards ahead of it: a higher priority, or submitted earlier";
      moment.next_commands = {"signalbox card why " + to_string(wait.holders.front()),
                              "signalbox board"};
      return;
    case CardWaitReason::worktree:
      moment.moving = true;
      moment.unblocked_by = "the end of that removal";
      moment.next_commands = {"signalbox run why " + to_string(card.run_id)};
      if (const auto place = world.worktrees.find(card.run_id);
          place != world.worktrees.end() && !place->second.runner.empty()) {
        moment.unblocked_by = "the end of that removal, at " + place->second.runner +
                              "; if that is gone for good, runner.evict, without what it has";
        moment.next_commands.push_back("signalbox runner get " + place->second.runner);
      }
      return;
    case CardWaitReason::service_paused:
      return explain_service_pause(world, moment);
    case CardWaitReason::concurrency:
      break;
  }
  moment.cause_position = latest_start(world, wait);
  moment.caused_by_policy = wait.limit == 0;
  moment.unblocked_by =
      wait.scope == "key" ? "the end of that card's run"
      : wait.scope == "held"
          ? "a decision about one of these cards, or the time when one can be proposed"
          : "the end of one of these runs, or a greater limit in " + policy_file_of(world, card);
  for (const CardId& id : wait.holders) {
    if (moment.next_commands.size() == 3) break;
    const Card* holder = world.board.find(id);
    if (holder != nullptr && !holder->run_id.is_nil()) {
      moment.next_commands.push_back("signalbox run why " + to_string(holder->run_id));
    }
  }
  moment.next_commands.push_back("signalbox project get " + shell_word(card.project));
}

// Explains a run that waits for a person. The run's own reasons, which follow, have the question.
void explain_decision(const Run& run, CardMoment& moment) {
  moment.reason = "approval";
  moment.text =
      "its run " + to_string(run.id) + " waits for a decision at station " + run.definition().name;
  if (run.asked_at != 0) moment.cause_position = run.asked_at;
  moment.unblocked_by = "you: decide, by one of these commands";
  moment.next_commands = decision_commands(run);
  moment.next_commands.push_back("signalbox run why " + to_string(run.id));
}

void explain_run(const World& world, const RunId& run_id, const char* reason, CardMoment& moment) {
  const Run* run = world.find_run(run_id);
  if (run != nullptr && waits_for_decision(*run) && !run->cancel_requested) {
    return explain_decision(*run, moment);
  }
  if (run != nullptr && run->station().ready_at != 0 && !admits_work(world)) {
    return explain_service_pause(world, moment);
  }
  moment.reason = reason;
  moment.text = std::string(moment.card->is_merging() ? "run " : "its run ") + to_string(run_id) +
                (moment.card->is_merging() ? " merges it" : " is in progress");
  moment.moving = true;
  moment.unblocked_by = "the end of the run";
  moment.next_commands = {"signalbox run why " + to_string(run_id)};
}

// Explains a card whose merge was deferred so often that the next one waits.
void explain_merge_wait(const World& world, CardMoment& moment) {
  const Card& card = *moment.card;
  moment.reason = "merge_deferred";
  moment.text = std::to_string(card.merges) +
                " merges of its verified work were deferred: " + card.code + ", " + card.message;
  moment.until_ns = merge_due_ns(world, card);
  moment.unblocked_by = "the first tick of the synthesizer after " + format_time(moment.until_ns) +
                        ", or you: unblock it, and its work is merged before that";
  moment.next_commands = {unblock_command(card)};
}

void explain_verified(const World& world, std::int64_t now_ns, CardMoment& moment) {
  const Card& card = *moment.card;
  if (card.is_merging()) return explain_run(world, card.merge_run_id, "merging", moment);
  if (!admits_work(world)) return explain_service_pause(world, moment);
  const Project& project = *world.find_project(card.project);
  if (!project.policy.merge_verified || policy_hold(project) != PolicyHold::none) {
    moment.text = "the policy of " + card.project + " doesn't merge verified work";
    return explain_policy(world, "mergeVerified", moment);
  }
  const Card* merging = world.board.merging(card.project);
  const Card* first = merging != nullptr ? merging : next_to_merge(world, card.project, now_ns);
  if (card.waits_for_merge() && first != &card) return explain_merge_wait(world, moment);
  if (first != nullptr && first != &card) {
    moment.reason = "merge_order";
    moment.text = "\"" + first->title + "\" " +
                  (merging != nullptr ? "is being merged" : "is merged before it");
    moment.holders.push_back(card_holder(*first));
    moment.unblocked_by = "the end of that merge";
    moment.next_commands = {"signalbox card why " + to_string(first->id)};
    return;
  }
  moment.reason = "merge_next";
  moment.text = "its work is verified, and the next tick of the synthesizer merges it";
  if (!card.code.empty()) moment.text += "; the merge before: " + card.code + ", " + card.message;
  moment.moving = true;
  moment.unblocked_by = "the next tick of the synthesizer";
  moment.next_commands = {"signalbox loop trigger synthesizer"};
}

void explain_stop(const World& world, CardMoment& moment) {
  const Card& card = *moment.card;
  const bool is_blocked = card.status == CardStatus::blocked;
  moment.reason = is_blocked ? "blocked" : "failed";
  moment.text = card.code + ": " + card.message;
  moment.until_ns = retry_due_ns(world, card);
  // The next run heeds a refusal or what is kept of a worktree, and a push may do next time.
  const bool is_mended_first = card.code != rejected_code && card.code != checks_changed_code &&
                               !failed_proposal(card) && !needs_look_at_worktree(card.code);
  moment.unblocked_by = is_mended_first ? "you: fix the cause, then unblock it" : "you: unblock it";
  if (has_only_to_propose(world, card)) {
    moment.unblocked_by =
        "you: fix the cause, then unblock it: its run pushes what is there, and no agent works, if "
        "it was its create_pr that failed; or, if the work itself is refused, block it with a "
        "reason, then unblock it: another run begins, whose input has both reasons";
  } else if (input_of_card_run(world, card)) {
    moment.unblocked_by += ": another run begins, whose input has this reason";
  }
  moment.text += place_of_done_work(world, card);
  if (is_blocked && card.retry_at_ns != 0) {
    const bool retries = world.find_project(card.project)->policy.retry_blocked;
    moment.unblocked_by = retries ? "its next try at " + format_time(moment.until_ns) +
                                        ", or you: unblock it before that"
                                  : "you: fix the cause, then unblock it; the policy of " +
                                        card.project + " doesn't retry blocked cards";
    if (!retries) moment.until_ns = 0;
  }
  moment.next_commands = {unblock_command(card)};
  if (has_only_to_propose(world, card)) {
    moment.next_commands.push_back(command_for_another_run(card.id));
  }
  if (!card.run_id.is_nil()) {
    moment.next_commands.push_back("signalbox run why " + to_string(card.run_id));
  }
}

CardMoment moment_of(Api& api, const CardId& id) {
  const World& world = api.engine.world();
  CardMoment moment;
  moment.card_id = id;
  const Card* card = world.board.find(id);
  if (card == nullptr) return moment;
  // The explanations compare the card's address with those of the world's cards, so the card is
  // copied only after them.
  moment.card = std::shared_ptr<const Card>(std::shared_ptr<const Card>(), card);
  moment.cause_position = card->changed_at;
  switch (card->status) {
    case CardStatus::backlog:
      explain_backlog(world, moment);
      break;
    case CardStatus::running:
    case CardStatus::verifying:
      explain_run(world, card->run_id, name_of(card->status), moment);
      moment.why_run = why_of_run(api, card->run_id);
      break;
    case CardStatus::verified:
      explain_verified(world, api.clock.wall_ns(), moment);
      if (card->is_merging()) moment.why_run = why_of_run(api, card->merge_run_id);
      break;
    case CardStatus::blocked:
    case CardStatus::failed:
      explain_stop(world, moment);
      break;
    case CardStatus::merged:  // a merged card isn't on the board
      break;
  }
  moment.card = std::make_shared<const Card>(*card);
  return moment;
}

json::object merged_view(const CardRow& row) {
  json::object entry;
  entry["reason"] = "merged";
  entry["text"] = row.commit.empty() ? "it is merged" : "it is merged: commit " + row.commit;
  entry["cause_position"] = to_json(row.last_position);
  entry["cause_event"] = std::string(CardMerged::tag.name);
  entry["since"] = format_time(row.changed_at_ns);
  entry["unblocked_by"] = "";
  entry["next_commands"] = json::array{"signalbox run get " + to_string(row.merge_run_id)};
  json::object result;
  result["card_id"] = to_json(row.card_id);
  result["title"] = row.title;
  result["project"] = row.project;
  result["status"] = to_json(row.status);
  result["moving"] = false;
  result["reasons"] = json::array{std::move(entry)};
  return result;
}

// Returns what the log says of a worktree of the card's latest run that couldn't be removed, or
// whose work couldn't be kept. That is recorded soon after the end of the run, or after somebody
// has decided about the card.
std::string left_worktree_text(const Api& api, const RunIndex& index, const Card& card) {
  const auto of_run = index.run_positions(card.run_id);
  if (!of_run || of_run->empty()) return {};
  for (const Position from : {of_run->back(), card.changed_at}) {
    const auto records = api.log.read(from, records_of_removal_max);
    if (!records) continue;
    for (const Record& record : *records) {
      const auto* left = event_as<WorktreeLeft>(record.event);
      if (left == nullptr || left->run_id != card.run_id) continue;
      return ". The worktree of its run was left at " + left->path + ": " + left->reason;
    }
  }
  return {};
}

// Returns the result of `card.why`. Called on the projector's thread.
Decided<json::object> card_why_view(const Api& api, const RunIndex& index,
                                    const CardMoment& moment) {
  if (moment.card == nullptr) {
    const auto row = index.cards().find(moment.card_id);
    if (!row) return unreadable(row.error());
    if (!*row) return card_not_found(moment.card_id);
    return merged_view(**row);
  }
  Position cause = moment.cause_position;
  if (moment.caused_by_policy) {
    const std::string& project = moment.card->project;
    const auto read = moment.caused_by_refusal ? index.cards().policy_refused(project)
                                               : index.cards().policy_adopted(project);
    if (!read) return unreadable(read.error());
    cause = *read;
  }
  json::object entry;
  entry["reason"] = moment.reason;
  entry["text"] = moment.text + left_worktree_text(api, index, *moment.card);
  entry["cause_position"] = to_json(cause);
  const auto records = api.log.read(std::max<Position>(cause, 1), cause == 0 ? 0 : 1);
  if (!records) return unreadable(records.error());
  if (!records->empty()) {
    entry["cause_event"] = std::string(tag_of(records->front().event).name);
    entry["since"] = format_time(records->front().recorded_at_ns);
  }
  if (moment.until_ns != 0) entry["until"] = format_time(moment.until_ns);
  if (!moment.holders.empty()) entry["holders"] = moment.holders;
  entry["unblocked_by"] = moment.unblocked_by;
  entry["next_commands"] = json::array(moment.next_commands.begin(), moment.next_commands.end());
  json::object result;
  result["card_id"] = to_json(moment.card_id);
  result["title"] = moment.card->title;
  result["project"] = moment.card->project;
  result["status"] = to_json(moment.card->status);
  result["moving"] = moment.moving;
  result["reasons"] = json::array{std::move(entry)};
  if (moment.why_run) {
    auto run = moment.why_run(index);
    if (!run) return run;
    result["moving"] = run->at("moving");
    result["run"] = std::move(*run);
  }
  return result;
}

}  // namespace

void why_card(Api& api, Call& call) {
  const auto params = from_json<WhyCard>(call.params);
  if (!params) return call.responder.reject(params.error());
  answer_from_moment(api, call.responder, [&api, id = params->card_id]() -> RowsView {
    return [&api, moment = moment_of(api, id)](const RunIndex& index) {
      return card_why_view(api, index, moment);
    };
  });
}

}  // namespace signalbox
