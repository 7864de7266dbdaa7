// Decisions about cards: submit, block, unblock, start, merge, retry. card_run.cc decides what the
// end of a run means for its card.
#include <boost/describe/enum_to_string.hpp>

#include "domain/admission.h"
#include "domain/decide.h"
#include "domain/limits.h"
#include "domain/refusals.h"
#include "domain/run_retry.h"
#include "domain/text_parts.h"
#include "domain/try.h"

namespace signalbox {
namespace {

Decided<void> require_priority(std::int32_t priority) {
  return require_between("priority", priority, -limits::card_priority_max,
                         limits::card_priority_max);
}

Decided<void> validate(const SubmitCard& command) {
  TRY(require_line("title", command.title, limits::card_title_bytes_max));
  TRY(require_at_most("brief", command.brief.value_or(""), limits::card_brief_bytes_max));
  TRY(require_at_most("key", command.key.value_or(""), limits::name_bytes_max));
  return require_priority(command.priority.value_or(0));
}

Decided<const Card*> open_card(const World& world, const CardId& id) {
  const Card* card = world.board.find(id);
  if (card != nullptr) return card;
  return reject(ErrorCode::CARD_NOT_FOUND, "there is no card " + to_string(id) + " on the board",
                {{"card_id", to_string(id)}}, {"signalbox card list"});
}

tl::unexpected<Rejection> busy(const Card& card, const std::string& why, const RunId& run_id) {
  std::vector<std::string> next = {"signalbox card get " + to_string(card.id)};
  if (!run_id.is_nil()) next.insert(next.begin(), "signalbox run cancel " + to_string(run_id));
  return reject(ErrorCode::CARD_BUSY, "card " + to_string(card.id) + ": " + why,
                {{"card_id", to_string(card.id)},
                 {"status", std::string(name_of(card.status))},
                 {"run_id", run_id.is_nil() ? std::string() : to_string(run_id)}},
                std::move(next));
}

// Returns the block of a card whose run is refused. Only a person can change what it is refused
// for, and the other cards go on.
NewEvents blocked_by_refusal(const World& world, const Card& card, const Rejection& refusal) {
  const Project& project = *world.find_project(card.project);
  std::string remedy = "; put the project with what is accepted (signalbox project put " +
                       shell_word(project.name) + " --repository " + shell_word(project.repository);
  if (!project.base.empty()) remedy += " --base " + shell_word(project.base);
  if (!project.remote.empty()) remedy += " --remote " + shell_word(project.remote);
  remedy += " --pipeline FILE), then unblock the card";
  const std::string why(utf8_prefix(refusal.message, limits::reason_bytes_max));
  return {{Stream::card(card.id),
           {},
           card.changed_at,
           CardEvent{CardBlocked{RunId{}, boost::describe::enum_to_string(refusal.code, "INTERNAL"),
                                 why + remedy, 0}}}};
}

// Returns `first` and then the events that start the run, as one commit. `span_id` is that of the
// run that works on the card (run_span.h).
Decided<NewEvents> start(const World& world, const Card& card, const Uuid& span_id, CardEvent first,
                         const StartRun& run, const Now& now) {
  auto started = decide(world, run, now);
  if (!started) return blocked_by_refusal(world, card, started.error());
  NewEvents events{{Stream::card(card.id), span_id, card.changed_at, std::move(first)}};
  for (NewEvent& event : *started) events.push_back(std::move(event));
  return events;
}

// Returns whether the card's run is to be reopened, for its create_pr alone. A station of another
// kind that reports a failed push would do all of its work again.
bool may_go_on(const World& world, const Card& card, const FailedRun& failed) {
  if (failed.run == nullptr || failed.run->id != card.run_id) return false;
  const EndedRun* const ended = world.ended_runs.find(card.run_id);
  return goes_on_with_run(world, card) &&
         (ended == nullptr || ended->ended_at == failed.failed_at) &&
         builtin_of(failed.run->definition()) == BuiltinStation::create_pr;
}

// Returns the events with which the card goes on with its latest run, as one commit.
NewEvents go_on(const World& world, const Card& card, const FailedRun& failed) {
  const Run& run = *failed.run;
  NewEvents events{{Stream::card(card.id), run.id, card.changed_at,
                    CardEvent{CardStarted{run.id, card.runs + 1}}}};
  const Strategy strategy = run.definition().retry.strategies.front();
  for (NewEvent& event :
       reopen(world, run, failed.failed_at, {"its card is tried again", strategy, {}})) {
    events.push_back(std::move(event));
  }
  return events;
}

// OUTDATED if the card was stopped, or its merge deferred, after what the sender has seen.
Decided<void> require_seen(const Card& card, const UnblockCard& command) {
  if (!command.seen || *command.seen >= card.changed_at) return {};
  const std::string id = to_string(card.id);
  return reject(ErrorCode::OUTDATED,
                "card " + id + " was stopped since position " + std::to_string(*command.seen) +
                    ", for another reason maybe: " + card.code + ": " + card.message,
                {{"card_id", id},
                 {"status", std::string(name_of(card.status))},
                 {"code", card.code},
                 {"seen", static_cast<std::int64_t>(*command.seen)},
                 {"stopped_position", static_cast<std::int64_t>(card.changed_at)}},
                {"signalbox card why " + id, unblock_command(card)});
}

}  // namespace

Decided<NewEvents> decide(const World& world, const SubmitCard& command, const Now&) {
  TRY(validate(command));
  if (world.find_project(command.project) == nullptr) {
    return reject(ErrorCode::PROJECT_NOT_FOUND, "there is no project " + command.project,
                  {{"project", command.project}},
                  {"signalbox project list",
                   "signalbox project put " + shell_word(command.project) + " --repository PATH"});
  }
  if (world.board.cards().size() >= limits::open_cards_max) {
    return reject(ErrorCode::LIMIT_EXCEEDED, "there are too many cards on the board",
                  {{"open_cards_max", static_cast<std::int64_t>(limits::open_cards_max)}},
                  {"signalbox card list"});
  }
  CardSubmitted submitted{command.project, command.title, command.brief.value_or(""),
                          command.key.value_or(""), command.priority.value_or(0)};
  return NewEvents{{Stream::card(command.card_id), {}, 0, CardEvent{std::move(submitted)}}};
}

Decided<NewEvents> decide(const World& world, const BlockCard& command, const Now&) {
  TRY(require_name("reason", command.reason, limits::reason_bytes_max));
  const auto found = TRY(open_card(world, command.card_id));
  const Card& card = *found;
  if (card.is_merging()) return busy(card, "it is being merged", card.merge_run_id);
  if (card.has_agent()) return busy(card, "its run is in progress", card.run_id);
  // The block of work that couldn't be proposed has a meaning: another run takes over.
  if (card.status == CardStatus::failed && !failed_proposal(card)) return NewEvents{};
  CardBlocked blocked = block_by_person(card, command.reason);
  const bool is_blocked = card.status == CardStatus::blocked && card.retry_at_ns == 0 &&
                          card.code == blocked.code && card.message == blocked.message;
  if (is_blocked) return NewEvents{};
  return NewEvents{{Stream::card(card.id), {}, card.changed_at, CardEvent{std::move(blocked)}}};
}

Decided<NewEvents> decide(const World& world, const UnblockCard& command, const Now&) {
  const std::string reason = command.reason.value_or("");
  TRY(require_at_most("reason", reason, limits::reason_bytes_max));
  const auto found = TRY(open_card(world, command.card_id));
  const Card& card = *found;
  const bool is_stopped = card.status == CardStatus::blocked || card.status == CardStatus::failed;
  if (!is_stopped && !card.waits_for_merge()) return NewEvents{};
  TRY(require_seen(card, command));
  return NewEvents{{Stream::card(card.id),
                    {},
                    card.changed_at,
                    CardEvent{CardUnblocked{reason, /*by_itself=*/false}}}};
}

Decided<NewEvents> decide(const World& world, const SetCardPriority& command, const Now&) {
  const std::string reason = command.reason.value_or("");
  TRY(require_priority(command.priority));
  TRY(require_at_most("reason", reason, limits::reason_bytes_max));
  const auto found = TRY(open_card(world, command.card_id));
  const Card& card = *found;
  if (card.priority == command.priority) return NewEvents{};
  return NewEvents{{Stream::card(card.id),
                    {},
                    card.changed_at,
                    CardEvent{CardPrioritySet{command.priority, reason}}}};
}

Decided<NewEvents> decide(const World& world, const StartCard& command, const Now& now) {
  const auto found = TRY(open_card(world, command.card_id));
  const Card& card = *found;
  if (next_to_start(world, command.left_out) != &card)
    return busy(card, "another one is next, or none", {});
  if (may_go_on(world, card, command.failed)) {
    TRY(require_latest_usage(world, card.run_id, command.failed.read_at));
    return go_on(world, card, command.failed);
  }
  return start(world, card, command.run.run_id, CardStarted{command.run.run_id, card.runs + 1},
               command.run, now);
}

Decided<NewEvents> decide(const World& world, const MergeCard& command, const Now& now) {
  const auto found = TRY(open_card(world, command.card_id));
  const Card& card = *found;
  if (next_to_merge(world, card.project, now.wall_ns) != &card) {
    return busy(card, "another one is merged next, or none", {});
  }
  return start(world, card, card.run_id, CardMergeStarted{command.run.run_id}, command.run, now);
}

Decided<NewEvents> decide(const World& world, const RetryBlockedCards&, const Now& now) {
  NewEvents events;
  // In the order of their retries as they were when the cards were blocked.
  for (const auto& [retry_at_ns, id] : world.board.retries()) {
    if (events.size() >= limits::retried_cards_max) break;
    const Card& card = *world.board.find(id);
    if (!is_due(retry_due_ns(world, card), card, now.wall_ns)) continue;
    if (!world.find_project(card.project)->policy.retry_blocked) continue;
    events.push_back({Stream::card(id),
                      {},
                      card.changed_at,
                      CardEvent{CardUnblocked{"its time to be retried has come", true}}});
  }
  return events;
}

}  // namespace signalbox
