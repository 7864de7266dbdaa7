#include "server/scheduler/redactions.h"

#include <exception>
#include <optional>
#include <utility>

#include "domain/feature_level.h"
#include "domain/try.h"
#include "server/engine/dropped_history.h"
#include "server/engine/redacted_world.h"
#include "server/scheduler/rewriting_turn.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

Rejection rewriting_goes_on() {
  return {ErrorCode::OVERLOADED,
          "a redaction or a retention is rewriting the log; repeat the command when it has ended",
          {},
          {"signalbox loop list"}};
}

// Returns the refusal of a redaction that isn't durable, or begins with what isn't.
Rejection not_written(const Engine& engine, Durability durability) {
  if (durability == Durability::storage_full) return engine.storage_full_refusal();
  return {ErrorCode::UNKNOWN_OUTCOME,
          "the log could not be written; whether the text was redacted will be known after a "
          "restart: repeat the command, which changes nothing if it was",
          {},
          {"signalbox serve"}};
}

Rejection failed_redaction(const std::string& why) {
  return {ErrorCode::INTERNAL, "nothing was redacted: " + why, {}, {"signalbox status"}};
}

}  // namespace

// A redaction under way. Used by one thread at a time.
struct Redactions::Attempt {
  Origin origin;
  RedactionRequest request;
  Done done;
  std::function<void(Stored<void>)> renewed;  // set for renew(), which has no plan
  bool is_renewal = false;                    // nothing is written: files are finished
  Position begun_at = 0;                      // of the engine's world
  int laps = 0;
  PlannedRedaction plan;
  bool suspended = false;  // there are no snapshots until its end
  StagedRedaction staged;
  std::optional<HistoryDropped> renewal;  // of the base
  std::optional<RedactedWorld> world;
  std::optional<World> former;  // the world with the text, to be destroyed on the lane
  std::optional<Rejection> refusal;
  Position redacted_at = 0;
  std::string erasure_error;
};

Redactions::Redactions(Parts parts)
    : parts_(std::move(parts)), stopped_(std::make_shared<std::atomic<bool>>(false)) {}

void Redactions::redact(const Origin& origin, RedactionRequest request, Done done) {
  if (auto refusal = parts_.obstacle(request)) return done(tl::unexpected(*std::move(refusal)));
  if (redacting_ || !parts_.turn.take()) return done(tl::unexpected(rewriting_goes_on()));
  const auto attempt = std::make_shared<Attempt>();
  attempt->origin = origin;
  attempt->request = std::move(request);
  attempt->done = std::move(done);
  begin(attempt);
}

bool Redactions::renew(std::function<void(Stored<void>)> done) {
  if (redacting_ || !parts_.turn.take()) return false;
  const auto attempt = std::make_shared<Attempt>();
  attempt->renewed = std::move(done);
  attempt->is_renewal = true;
  begin(attempt);
  return true;
}

void Redactions::begin(const std::shared_ptr<Attempt>& attempt) {
  redacting_ = true;
  attempt->begun_at = parts_.engine.world().position;
  parts_.blocking.run(
      {.name = "redaction"}, [this, attempt, stopped = stopped_]() -> std::function<void()> {
        try {
          stage(*attempt);
        } catch (const std::exception& failure) {
          attempt->refusal = failed_redaction(failure.what());
        }
        return [this, attempt, stopped] {
          if (*stopped) return;
          if (attempt->refusal) {
            return conclude(*attempt, tl::unexpected(*attempt->refusal));
          }
          if (!attempt->is_renewal && attempt->plan.erased.empty()) {
            return conclude(*attempt, RedactionOutcome{attempt->plan, 0, {}, {}, {}});
          }
          begin_lap(attempt);
        };
      });
}

// On the lane. Snapshots may have the text.
Stored<void> Redactions::stage_world(Attempt& attempt, Position through) const {
  TRY(attempt.world->follow(through, *stopped_));
  attempt.suspended = true;
  return parts_.suspend_snapshots();
}

// On the lane. Given up, it is removed as a drop is that was given up.
Stored<void> Redactions::stage_base(Attempt& attempt) const {
  if (attempt.plan.base.empty()) return {};
  const auto drop = latest_drop(parts_.log);
  if (!drop) {
    return store_failure(StoreError::Kind::damaged, "the log's latest HistoryDropped is missing");
  }
  attempt.renewal = *event_as<HistoryDropped>(drop->event);
  attempt.renewal->base = sha256(attempt.plan.base);
  const Horizon horizon = parts_.log.horizon();
  StagedDrop base = TRY(parts_.log.stage_drop(
      {horizon.position, horizon.kept, std::exchange(attempt.plan.base, {})}, stopped_.get()));
  for (bool more = true; more;) {
    more = TRY(run_commit_step<bool>(parts_.on_commit_thread, *stopped_,
                                     [this, &base] { return parts_.log.store_base_part(base); }));
  }
  attempt.staged.base = std::move(base);
  return {};
}

// On the lane.
void Redactions::stage_renewal(Attempt& attempt) const {
  attempt.world.emplace(parts_.log, 0, Event());
  const auto staged = stage_world(attempt, attempt.begun_at);
  if (!staged) attempt.refusal = failed_redaction(staged.error().message);
}

// On the lane.
void Redactions::stage(Attempt& attempt) const {
  if (attempt.is_renewal) return stage_renewal(attempt);
  auto planned = parts_.plan(attempt.request, *stopped_);
  if (!planned) {
    attempt.refusal = std::move(planned.error());
    return;
  }
  attempt.plan = *std::move(planned);
  if (attempt.plan.erased.empty()) {
    // What an earlier redaction replaced may be in files yet: its files couldn't be finished.
    const auto erasure = parts_.log.plan_erasure();
    attempt.is_renewal = !erasure || !erasure->keys.empty();
    if (attempt.is_renewal) stage_renewal(attempt);
    return;
  }
  const auto prepare = [&]() -> Stored<void> {
    Salt salt;
    parts_.random(salt);
    const Position position = attempt.request.position;
    attempt.staged = TRY(parts_.log.stage_redaction(position, attempt.plan.replacement, salt));
    attempt.plan.event.payload_digest = attempt.staged.redacted.payload_digest;
    attempt.plan.event.replacement_digest = attempt.staged.redacted.replacement_digest;
    attempt.world.emplace(parts_.log, position, attempt.plan.replacement, attempt.plan.base);
    TRY(stage_base(attempt));
    return stage_world(attempt, parts_.log.tail());
  };
  if (auto prepared = prepare(); !prepared) {
    attempt.refusal = failed_redaction(prepared.error().message);
  }
}

// Records that were applied up to now are folded beside the engine once they are durable; later
// ones are noted. Usually these are few enough after the first lap.
void Redactions::begin_lap(const std::shared_ptr<Attempt>& attempt) {
  if (++attempt->laps > limits::redaction_laps_max) {
    return conclude(*attempt, tl::unexpected(rewriting_goes_on()));
  }
  noting_ = true;
  rolled_back_ = false;
  noted_.clear();
  const Position through = parts_.engine.world().position;
  parts_.engine.release_when_durable([this, attempt, through](Durability durability) {
    if (*stopped_) return;
    if (durability != Durability::durable) {
      return conclude(*attempt, tl::unexpected(not_written(parts_.engine, durability)));
    }
    parts_.blocking.run(
        {.name = "redaction"},
        [this, attempt, through, stopped = stopped_]() -> std::function<void()> {
          auto followed = attempt->world->follow(through, *stopped);
          return [this, attempt, stopped, followed = std::move(followed)] {
            if (*stopped) return;
            if (!followed) {
              return conclude(*attempt, tl::unexpected(failed_redaction(followed.error().message)));
            }
            if (rolled_back_) {
              return conclude(*attempt, tl::unexpected(parts_.engine.storage_full_refusal()));
            }
            if (noted_.size() > limits::redaction_lap_records_max) return begin_lap(attempt);
            publish(attempt);
          };
        });
  });
}

void Redactions::publish(const std::shared_ptr<Attempt>& attempt) {
  attempt->world->apply(noted_);
  noting_ = false;
  noted_.clear();
  if (attempt->is_renewal) {
    attempt->former = parts_.engine.exchange_world(attempt->world->take());
    parts_.world_exchanged();
    return finish_files(attempt);
  }
  // A server of an earlier version couldn't read it.
  const EventTag tag = tag_of(attempt->plan.replacement);
  if (feature_level_of(tag) > parts_.engine.feature_level()) {
    return conclude(*attempt,
                    tl::unexpected(feature_level_refusal(tag, parts_.engine.feature_level())));
  }
  const auto write = [&log = parts_.log, attempt](Position expected_tail, const Commit& commit) {
    auto redacted = log.commit_redaction(expected_tail, commit, attempt->staged);
    if (redacted) return *std::move(redacted);
    return AppendResult{AppendStatus::unknown, expected_tail, redacted.error().message};
  };
  attempt->former = parts_.engine.exchange_world(attempt->world->take());
  parts_.world_exchanged();
  const Position cause = attempt->request.position;
  NewEvents preceding;
  if (attempt->renewal) {
    preceding.push_back(
        {Stream::server(), {}, cause, Event(ServerEvent(*std::move(attempt->renewal)))});
  }
  const auto applied = parts_.engine.write_event(attempt->origin, Stream::access(),
                                                 Event(AccessEvent(attempt->plan.event)), write,
                                                 cause, std::move(preceding));
  if (!applied) {
    static_cast<void>(parts_.engine.exchange_world(*std::exchange(attempt->former, std::nullopt)));
    parts_.world_exchanged();
    return conclude(*attempt, tl::unexpected(applied.error()));
  }
  attempt->redacted_at = parts_.engine.world().position;
  parts_.engine.release_when_durable([this, attempt](Durability durability) {
    if (*stopped_) return;
    if (durability == Durability::durable) return finish_files(attempt);
    // After a full disk the engine has folded the log again, which has the text.
    conclude(*attempt, tl::unexpected(not_written(parts_.engine, durability)));
  });
}

// A step that fails here is repeated by the next start, or the next redaction, also one of which
// nothing is left in the log.
void Redactions::finish_files(const std::shared_ptr<Attempt>& attempt) {
  parts_.blocking.run(
      {.name = "redaction"}, [this, attempt, stopped = stopped_]() -> std::function<void()> {
        attempt->former.reset();
        Stored<void> finished = parts_.renew_derived(*stopped);
        if (finished) finished = erase();
        if (!finished) attempt->erasure_error = finished.error().message;
        return [this, attempt, stopped] {
          if (*stopped) return;
          note_files(*attempt);
          conclude(*attempt,
                   RedactionOutcome{
                       attempt->plan, attempt->redacted_at, attempt->erasure_error, {}, {}});
        };
      });
}

void Redactions::note_files(const Attempt& attempt) {
  if (attempt.erasure_error.empty()) return unfinished_.reset();
  if (!unfinished_) unfinished_.emplace();
  if (!attempt.renewed) unfinished_->position = attempt.request.position;
  unfinished_->error = attempt.erasure_error;
}

// On the lane.
Stored<void> Redactions::erase() const {
  const auto on_commit_thread = [this](std::function<Stored<void>()> step) {
    return run_commit_step<void>(parts_.on_commit_thread, *stopped_, std::move(step));
  };
  const auto erasure = TRY(parts_.log.plan_erasure());
  TRY(on_commit_thread([this] { return parts_.log.begin_erasure(); }));
  TRY(parts_.log.purge_replaced(erasure, stopped_.get()));
  return on_commit_thread([this, &erasure] { return parts_.log.note_erased(erasure); });
}

void Redactions::note_applied(std::span<const Record> records) {
  if (noting_) noted_.insert(noted_.end(), records.begin(), records.end());
}

void Redactions::note_rolled_back() {
  rolled_back_ = true;
  noted_.clear();
}

void Redactions::conclude(Attempt& attempt, Decided<RedactionOutcome> outcome) {
  noting_ = false;
  noted_.clear();
  if (attempt.suspended) parts_.resume_snapshots();
  parts_.turn.give_back();
  if (attempt.renewed) {
    redacting_ = false;
    Stored<void> renewed;
    if (!outcome) renewed = store_failure(StoreError::Kind::io, outcome.error().message);
    if (!attempt.erasure_error.empty()) {
      renewed = store_failure(StoreError::Kind::io, attempt.erasure_error);
    }
    return attempt.renewed(std::move(renewed));
  }
  if (!attempt.erasure_error.empty()) parts_.erasure_failed(attempt.erasure_error);
  if (outcome && outcome->redacted_at != 0 && parts_.finish_in_cell) {
    return parts_.finish_in_cell(*std::move(outcome),
                                 [this, done = attempt.done](RedactionOutcome finished) {
                                   redacting_ = false;
                                   done(std::move(finished));
                                 });
  }
  redacting_ = false;
  attempt.done(std::move(outcome));
}

}  // namespace signalbox
