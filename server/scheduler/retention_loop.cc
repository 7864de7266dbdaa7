#include "server/scheduler/retention_loop.h"

#include <algorithm>
#include <set>
#include <utility>

#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "domain/service_loops.h"
#include "domain/try.h"
#include "projections/retention_plan.h"
#include "server/scheduler/clock_advance.h"
#include "server/scheduler/rewriting_turn.h"

namespace signalbox {
namespace {

// The open runs and cards, whose records stay however old they are.
struct OpenNouns {
  std::set<RunId> runs;
  std::set<CardId> cards;

  [[nodiscard]] bool has(const Stream& stream) const {
    if (stream.kind == StreamKind::run) return runs.contains(stream.run_id);
    if (stream.kind == StreamKind::card) return cards.contains(stream.run_id);
    return false;
  }
};

OpenNouns open_nouns(const World& world) {
  OpenNouns open;
  for (const auto& [id, run] : world.runs) open.runs.insert(id);
  for (const auto& [id, card] : world.board.cards()) open.cards.insert(id);
  return open;
}

// Returns true if some record after `from` is old enough to drop: one of work, or as many of the
// service's own housekeeping as are worth an archive. Stops at the first such record, or at the
// first that is too young. The retention itself reads everything, and may find that this record has
// to stay, too; then it drops nothing.
Stored<bool> has_old_records(const EventLog& log, Position from, std::int64_t until_ns,
                             std::int64_t now_ns, const OpenNouns& open,
                             const std::atomic<bool>& stopped) {
  std::uint64_t housekeeping = 0;
  bool found = false;
  TRY(log.scan(from + 1, log.tail(), [&](Record&& record) {
    if (!has_plausible_time(record, now_ns)) return !stopped;
    if (stopped || record.recorded_at_ns > until_ns) return false;
    if (is_housekeeping(record)) {
      found = ++housekeeping >= limits::housekeeping_records_min;
    } else {
      found = !open.has(record.stream);
    }
    return !found;
  }));
  return found;
}

std::string why_not_durable(Durability durability) {
  if (durability == Durability::storage_full) return "there is no space for the log";
  return "the log could not be written; what was dropped will be known after a restart";
}

std::string dropped_but(const StoreError& error) {
  return "the records are dropped, but read models or files of the log may still have them: " +
         error.message;
}

}  // namespace

void conclude_retention(Engine& engine, Position dropped_at) {
  const Tick* tick = engine.world().find_tick(std::string(retention_loop_name));
  if (tick == nullptr) return;
  const bool dropped = dropped_at > tick->token;
  if (tick->status == TickStatus::running && dropped) {
    EndTick command;
    command.loop = tick->loop;
    command.token = tick->token;
    (void)engine.begin(by_the_service).apply(command);
    return;
  }
  const std::string evidence =
      dropped ? "the service ended before it could say that records were dropped"
              : "the service ended before records were dropped; the next due time does it";
  (void)engine.begin(by_the_service).apply(RecoverTick{tick->loop, evidence, true});
}

// A retention under way. Used by one thread at a time.
struct RetentionLoop::Attempt {
  ScheduledLoop::Ended ended;
  std::int64_t now_ns = 0;  // the ages count up to here, in every plan
  int plans = 0;
  StagedRetention staged;

  void fail(std::string why) {
    staged.event.reset();
    staged.outcome.error = std::move(why);
  }
};

RetentionLoop::RetentionLoop(Parts parts, const RetentionSettings& settings)
    : parts_(std::move(parts)),
      settings_(settings),
      latest_(latest_retention(parts_.log)),
      stopped_(std::make_shared<std::atomic<bool>>(false)),
      loop_(parts_.engine, parts_.clock, std::string(retention_loop_name), settings_.schedule,
            {{}, [this](Token, const ScheduledLoop::Ended& ended) { tick(ended); }}) {}

RetentionLoop::~RetentionLoop() = default;

void RetentionLoop::refuse(RetentionObstacle obstacle, const ScheduledLoop::Ended& ended) {
  RetentionOutcome outcome;
  outcome.at_ns = parts_.clock.wall_ns();
  outcome.error = std::move(obstacle.why);
  outcome.next_commands = std::move(obstacle.next_commands);
  if (!obstacle.passes) outcome.next_commands.emplace_back("signalbox loop trigger retention");
  latest_ = std::move(outcome);
  ended(latest_->error);
}

void RetentionLoop::tick(const ScheduledLoop::Ended& ended) {
  if (unfinished_) return repeat_files(ended);
  // An age that reaches back before 1970 is older than any record.
  const std::int64_t now_ns = parts_.clock.wall_ns();
  const bool ever = settings_.older_than_ms >= now_ns / ns_per_ms;
  const std::int64_t until_ns = ever ? 0 : now_ns - settings_.older_than_ms * ns_per_ms;
  const Position from = std::max(parts_.log.horizon().position, examined_);
  parts_.blocking.run([this, ended, from, until_ns, now_ns,
                       open = open_nouns(parts_.engine.world()),
                       stopped = stopped_]() -> std::function<void()> {
    auto found = has_old_records(parts_.log, from, until_ns, now_ns, open, *stopped);
    auto key = verifier_in(settings_.key);
    auto advance = describe_clock_advance(parts_.log, now_ns);
    if (found && *found) parts_.await_facts(*stopped);
    return [this, ended, stopped, now_ns, found = std::move(found), key = std::move(key),
            advance = std::move(advance)] {
      if (*stopped) return;  // the next start concludes it
      if (!found) return ended("the log can't be read: " + found.error().message);
      if (!*found) return ended(std::nullopt);
      if (!advance) return ended("the log can't be read: " + advance.error().message);
      if (*advance) return refuse({**advance, {"timedatectl"}, /*passes=*/true}, ended);
      if (key) {
        auto why = unadopted_key_text(*key, parts_.engine.world().access.audit_key);
        if (!why.empty()) {
          return refuse({std::move(why), {"signalbox audit adopt '" + key->text() + "'"}}, ended);
        }
      }
      if (auto obstacle = parts_.obstacle()) return refuse(*std::move(obstacle), ended);
      // A redaction is under way: the next due time does it.
      if (!parts_.turn.take()) return ended(std::nullopt);
      const auto attempt = std::make_shared<Attempt>();
      attempt->ended = ended;
      attempt->now_ns = now_ns;  // of the clock that was looked at
      plan(attempt);
    };
  });
}

void RetentionLoop::note_applied(std::span<const Record> records) {
  if (!noting_) return;
  for (const Record& record : records) {
    if (record.stream.kind == StreamKind::run || record.stream.kind == StreamKind::card) {
      noted_.insert(record.stream.run_id);
    }
  }
}

// The plan is made over the durable records. So it begins once all that was applied before is
// durable, and what is applied from now on is noted.
void RetentionLoop::plan(const std::shared_ptr<Attempt>& attempt) {
  ++attempt->plans;
  noting_ = true;
  noted_.clear();
  parts_.engine.release_when_durable([this, attempt](Durability durability) {
    if (*stopped_) return;
    if (durability != Durability::durable) {
      attempt->fail(why_not_durable(durability));
      return conclude(*attempt);
    }
    parts_.blocking.run({.name = "retention"},
                        [this, attempt, stopped = stopped_]() -> std::function<void()> {
                          stage(*attempt);
                          return [this, attempt, stopped] {
                            if (!*stopped) drop(attempt);
                          };
                        });
  });
}

// On the lane.
void RetentionLoop::stage(Attempt& attempt) const {
  try {
    attempt.staged = parts_.stage(parts_.log, parts_.data, settings_, attempt.now_ns, *stopped_);
  } catch (const std::exception& failure) {
    attempt.staged = {};
    attempt.fail(failure.what());
  }
  if (!attempt.staged.event) return;
  // The read models get what will be dropped before it is.
  if (!parts_.follow_to(attempt.staged.event->horizon)) {
    return attempt.fail("the read models are behind what would be dropped");
  }
  if (const auto stored = store_base(attempt); !stored) {
    attempt.fail("the base of the log can't be written: " + stored.error().message);
  }
}

Stored<void> RetentionLoop::store_base(Attempt& attempt) const {
  for (bool more = true; more;) {
    more = TRY(run_commit_step<bool>(parts_.on_commit_thread, *stopped_, [this, &attempt] {
      return parts_.log.store_base_part(attempt.staged.drop);
    }));
  }
  return {};
}

// Returns whether something that the drop would take got records since the plan was begun: a run
// that was retried, say. Its earlier records have to stay then.
bool RetentionLoop::is_outdated(const Attempt& attempt) const {
  const std::set<Uuid>& dropped = attempt.staged.dropped_nouns;
  return std::ranges::any_of(noted_, [&](const Uuid& id) { return dropped.contains(id); }) ||
         attempt.staged.audit_key != parts_.engine.world().access.audit_key;
}

void RetentionLoop::drop(const std::shared_ptr<Attempt>& attempt) {
  if (!attempt->staged.event) return conclude(*attempt);
  if (is_outdated(*attempt)) {
    if (attempt->plans < limits::retention_plans_max) return plan(attempt);
    attempt->fail("what would be dropped is still being worked on");
    return conclude(*attempt);
  }
  // Much may have happened since the plan was begun: a server of another version came, say.
  if (auto obstacle = parts_.obstacle()) {
    attempt->staged.outcome.next_commands = std::move(obstacle->next_commands);
    attempt->fail(std::move(obstacle->why));
    return conclude(*attempt);
  }
  noting_ = false;
  const auto write = [&log = parts_.log, attempt](Position expected_tail, const Commit& commit) {
    auto dropped = log.commit_drop(expected_tail, commit, attempt->staged.drop);
    if (dropped) return *std::move(dropped);
    return AppendResult{AppendStatus::unknown, expected_tail, dropped.error().message};
  };
  const auto applied = parts_.engine.write_event(by_the_service, Stream::server(),
                                                 Event(ServerEvent(*attempt->staged.event)), write);
  if (!applied) {
    attempt->fail(applied.error().message);
    return conclude(*attempt);
  }
  attempt->staged.outcome.dropped_at = parts_.engine.world().position;
  dropped_ = std::move(attempt->staged.dropped_nouns);
  parts_.engine.release_when_durable([this, attempt](Durability durability) {
    if (*stopped_) return;
    if (durability == Durability::durable) return finish_files(attempt);
    attempt->staged.outcome.dropped_at = 0;
    dropped_.clear();
    attempt->fail(why_not_durable(durability));
    conclude(*attempt);
  });
}

void RetentionLoop::repeat_files(const ScheduledLoop::Ended& ended) {
  if (!parts_.turn.take()) return ended(std::nullopt);  // the next due time does it
  const auto attempt = std::make_shared<Attempt>();
  attempt->ended = ended;
  attempt->staged.outcome = *unfinished_;
  finish_files(attempt);
}

// A step that fails here is repeated by the next tick, also if nothing is old then, or by the next
// start: it computes the read models from the base, and rewrites the files.
void RetentionLoop::finish_files(const std::shared_ptr<Attempt>& attempt) {
  parts_.blocking.run(
      {.name = "retention"}, [this, attempt, stopped = stopped_]() -> std::function<void()> {
        const Stored<void> renewed = parts_.renew_rows(*stopped);
        Stored<void> purged;
        if (!*stopped) purged = parts_.log.purge_dropped(stopped.get());
        if (!*stopped && purged) {
          purged = run_commit_step<void>(parts_.on_commit_thread, *stopped,
                                         [this] { return parts_.log.note_purged(); });
        }
        return [this, attempt, stopped, finished = renewed ? purged : renewed] {
          if (*stopped) return;
          unfinished_.reset();
          if (!finished) {
            unfinished_ = attempt->staged.outcome;  // as if it had succeeded
            attempt->fail(dropped_but(finished.error()));
          }
          conclude(*attempt);
        };
      });
}

void RetentionLoop::conclude(Attempt& attempt) {
  noting_ = false;
  noted_.clear();
  RetentionOutcome& outcome = attempt.staged.outcome;
  outcome.at_ns = parts_.clock.wall_ns();
  if (outcome.failed()) outcome.next_commands.emplace_back("signalbox loop trigger retention");
  parts_.report(outcome);
  // All records up to there stay for as long as nothing else becomes old.
  if (!outcome.failed() && outcome.dropped_at == 0) examined_ = outcome.horizon;
  // A retention that dropped nothing isn't shown as the latest, but ends a failure.
  const bool is_shown = outcome.failed() || outcome.dropped_at > 0;
  latest_ = is_shown ? std::optional(outcome) : latest_retention(parts_.log);
  parts_.turn.give_back();
  attempt.ended(outcome.failed() ? std::optional(outcome.error) : std::nullopt);
}

}  // namespace signalbox
