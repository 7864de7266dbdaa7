#include "server/engine/engine.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "domain/check.h"
#include "domain/evolve.h"
#include "domain/invariants.h"
#include "domain/nanoseconds.h"
#include "domain/refusals.h"
#include "domain/try.h"
#include "server/platform/space_watch.h"

namespace signalbox {
namespace {

// The size of a usual commit: a completion, the end of the run and the next claim.
constexpr std::size_t commit_records_usual = 3;

}  // namespace

Engine::Engine(World world, const Clock& clock, Hooks hooks)
    : world_(std::move(world)),
      clock_(clock),
      hooks_(std::move(hooks)),
      durable_(world_.position) {}

Decided<void> Engine::accepts_events() const {
  if (failed_) {
    return reject(ErrorCode::UNKNOWN_OUTCOME, "the log can't be written; the service is stopping",
                  {}, {"signalbox serve"});
  }
  if (storage_full_) return tl::unexpected(storage_full_refusal());
  if (closed_) return tl::unexpected(*closed_);
  if (held_) return tl::unexpected(*held_);
  return {};
}

Decided<void> Engine::accepts_event(const Event& event) const {
  const EventTag tag = tag_of(event);
  if (feature_level_of(tag) <= feature_level_) return {};
  return tl::unexpected(feature_level_refusal(tag, feature_level_));
}

Decided<void> Engine::accepts_origin(const Origin& origin) const {
  if (origin.access_token.is_nil()) return {};
  const AccessToken* const token = world_.access.find(origin.access_token);
  if (token != nullptr && token->status != AccessTokenStatus::revoked) return {};
  return reject(ErrorCode::UNAUTHENTICATED,
                "the access token of " + origin.actor + " was revoked before this was done",
                {{"reason", std::string("revoked")}},
                {"signalbox access issue " + shell_word(token != nullptr ? token->name : "NAME")});
}

Decided<NewEvents> Engine::decide_now(const Command& command, const Origin& origin,
                                      std::int64_t now_ns) const {
  TRY(accepts_events());
  TRY(accepts_origin(origin));
  auto decided = decide(world_, command, Now{now_ns, origin.sender()});
  if (!decided || feature_level_ >= feature_level_newest) return decided;
  for (const NewEvent& event : *decided) TRY(accepts_event(event.event));
  return decided;
}

void Engine::add_record(NewEvent&& event, const Origin& origin, std::int64_t recorded_at_ns,
                        Commit& records) {
  Record& record = records.emplace_back();
  record.position = world_.position + 1;
  record.stream = std::move(event.stream);
  record.recorded_at_ns = recorded_at_ns;
  record.actor = origin.actor;
  record.command_id = origin.command_id;
  record.request_digest = origin.request_digest;
  record.cause = event.cause;
  record.span_id = event.span_id;
  record.event = std::move(event.event);
  evolve(world_, record);
}

Decided<std::size_t> Engine::Transaction::apply(const Command& command) {
  const std::int64_t now_ns = engine_.now_ns();
  auto decided = TRY(engine_.decide_now(command, origin_, now_ns));
  // Records are large and growth would move them, so reserve the size of nearly all commits.
  if (records_.empty()) records_.reserve(std::max(decided.size(), commit_records_usual));
  for (NewEvent& event : decided) {
    engine_.add_record(std::move(event), origin_, now_ns, records_);
  }
#ifndef NDEBUG
  check_invariants(engine_.world_);
#endif
  return decided.size();
}

bool Engine::takes(const Origin& origin, const Command& command) const {
  return decide_now(command, origin, now_ns()).has_value();
}

Decided<void> Engine::write_event(const Origin& origin, const Stream& stream, Event event,
                                  LogWrite write, Position cause, NewEvents preceding) {
  TRY(accepts_events());
  TRY(accepts_origin(origin));
  for (const NewEvent& each : preceding) TRY(accepts_event(each.event));
  TRY(accepts_event(event));
  SIGNALBOX_CHECK(!special_.has_value());
  Commit records;
  for (NewEvent& each : preceding) {
    add_record(std::move(each), origin.without_command(), now_ns(), records);
  }
  add_record({stream, {}, cause, std::move(event)}, origin, now_ns(), records);
  special_ = SpecialWrite{gathered_.size(), std::move(write)};
  gather(std::move(records));
  return {};
}

std::int64_t Engine::now_ns() const { return std::max(clock_.wall_ns(), recorded_min_ns_); }

void Engine::follow(CommitOutcome outcome) {
  SIGNALBOX_CHECK(closed_.has_value() && idle());
  for (const Commit& commit : outcome.batch) {
    for (const Record& record : commit) evolve(world_, record);
    if (hooks_.applied) hooks_.applied(commit);
  }
  durable_ = outcome.result.tail;
  if (hooks_.durable) hooks_.durable(outcome);
  release(durable_, Durability::durable);
}

void Engine::lead(std::int64_t recorded_min_ns) {
  recorded_min_ns_ = recorded_min_ns;
  closed_.reset();
  show_present();
}

World Engine::exchange_world(World world) {
  SIGNALBOX_CHECK(world.position == world_.position);
  world.late_usage = world_.late_usage;
  return std::exchange(world_, std::move(world));
}

Rejection Engine::storage_full_refusal() const {
  return {ErrorCode::STORAGE_FULL,
          "no space left for the log; commands are refused until " +
              std::to_string(SpaceWatch::mebibytes_needed) + " MiB are free, reads continue",
          {{"durable_position", static_cast<std::int64_t>(durable_)},
           {"log_error", storage_full_because_}},
          {"df -h", "signalbox status"}};
}

Engine::Transaction::~Transaction() {
  if (!records_.empty()) engine_.gather(std::move(records_));
}

void Engine::gather(Commit records) {
  if (hooks_.applied) hooks_.applied(records);
  gathered_.push_back(std::move(records));
}

void Engine::release_when_durable(Released action, Patience patience) {
  if (waiting_.empty() && world_.position <= durable_) {
    action(Durability::durable);
    return;
  }
  waiting_.push_back({world_.position, std::move(action), patience});
}

void Engine::release_when_present(Released action, Patience patience) {
  if (!proof_) return release_when_durable(std::move(action), patience);
  const std::int64_t proof_min_ns = clock_.monotonic_ns() - proof_->holds_ms * ns_per_ms;
  release_when_durable(
      [this, proof_min_ns, action = std::move(action)](Durability durability) mutable {
        if (durability != Durability::durable) return action(durability);
        unproved_.push_back({proof_min_ns, std::move(action)});
        release_proved();
        if (!unproved_.empty()) proof_->ask();
      },
      patience);
}

void Engine::release_queries() { release_impatient(Patience::query); }

void Engine::note_overdue(std::int64_t acknowledged_at_ns) {
  if (!committing_ || overdue_since_ns_) return;
  overdue_since_ns_ = acknowledged_at_ns;
  release_impatient(Patience::service_query);
}

void Engine::release_impatient(Patience least) {
  const auto impatient =
      std::stable_partition(waiting_.begin(), waiting_.end(),
                            [least](const Waiting& each) { return each.patience < least; });
  const std::vector<Waiting> released(std::make_move_iterator(impatient),
                                      std::make_move_iterator(waiting_.end()));
  // Removed before the calls, as in release().
  waiting_.erase(impatient, waiting_.end());
  for (const Waiting& each : released) each.action(Durability::unproved);
}

void Engine::release_proved() {
  while (!unproved_.empty()) {
    const bool is_proved = proof_->proved_at_ns() >= unproved_.front().proof_min_ns;
    if (!is_proved && !as_of_ns()) return;
    // Removed before the call, as in release().
    const Released action = std::move(unproved_.front().action);
    unproved_.pop_front();
    action(is_proved ? Durability::durable : Durability::unproved);
  }
}

Rejection Engine::unproved_refusal() const {
  if (closed_) return *closed_;
  if (held_) return *held_;
  return {ErrorCode::STORAGE_AWAY,
          "whether another server has taken the log can't be known at the moment; try again",
          {{"durable_position", static_cast<std::int64_t>(durable_)},
           {"retry_after_ms", std::int64_t{1000}}},
          {"signalbox cell status"}};
}

void Engine::flush() {
  if (committing_ || failed_ || gathered_.empty()) return;
  SIGNALBOX_CHECK(committer_ != nullptr);
  committing_ = true;
  if (!special_) {
    committer_->start(durable_, std::exchange(gathered_, {}));
    return;
  }
  // Only what is gathered before the special commit, or that one alone.
  const auto end =
      gathered_.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(special_->at, 1));
  std::vector<Commit> batch(std::make_move_iterator(gathered_.begin()),
                            std::make_move_iterator(end));
  gathered_.erase(gathered_.begin(), end);
  if (std::exchange(special_->at, 0) > 0) {
    committer_->start(durable_, std::move(batch));
  } else {
    LogWrite write = std::move(special_->write);
    special_.reset();
    committer_->start_write(durable_, std::move(batch.front()), std::move(write));
  }
}

void Engine::release(Position through, Durability durability) {
  while (!waiting_.empty() && waiting_.front().position <= through) {
    // Removed before the call, because the action may call release_when_durable().
    const Released action = std::move(waiting_.front().action);
    waiting_.pop_front();
    action(durability);
  }
}

void Engine::roll_back(const std::string& why) {
  RecentLateUsage late_usage = std::move(world_.late_usage);
  world_ = hooks_.roll_back(why);
  SIGNALBOX_CHECK(world_.position == durable_);
  late_usage.roll_back(durable_);
  world_.late_usage = std::move(late_usage);
}

void Engine::on_committed(CommitOutcome outcome) {
  committing_ = false;
  overdue_since_ns_.reset();
  switch (outcome.result.status) {
    case AppendStatus::ok:
      durable_ = outcome.result.tail;
      if (hooks_.durable) hooks_.durable(outcome);
      // What was gathered meanwhile is written while these answers are made.
      flush();
      release(durable_, Durability::durable);
      release_proved();
      return;
    case AppendStatus::full:
      // Everything applied after the durable tail is dropped: the batch that wasn't written, and
      // the commits gathered since, because they were decided on the state that it left.
      storage_full_ = true;
      ++rollbacks_;
      storage_full_because_ = outcome.result.message;
      gathered_.clear();
      special_.reset();
      roll_back(outcome.result.message);
      // Removed before the calls: what an action registers anew depends on the rolled-back world.
      for (const Waiting& each : std::exchange(waiting_, {})) {
        each.action(Durability::storage_full);
      }
      return;
    case AppendStatus::conflict:
    case AppendStatus::unknown:
      failed_ = true;
      gathered_.clear();
      special_.reset();
      release(std::numeric_limits<Position>::max(), Durability::unknown);
      if (outcome.result.status == AppendStatus::conflict && hooks_.deposed) {
        hooks_.deposed(outcome.result.message);
      } else {
        hooks_.fatal(outcome.result.message);
      }
      return;
  }
}

}  // namespace signalbox
