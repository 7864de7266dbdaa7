#include "server/scheduler/retention_loop.h"

#include <algorithm>
#include <set>
#include <utility>

#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "domain/service_loops.h"
#include "domain/try.h"
#include "projections/retention_plan.h"
#include "server/text/utf8_text.h"

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
                             const OpenNouns& open, const std::atomic<bool>& stopped) {
  std::uint64_t housekeeping = 0;
  bool found = false;
  TRY(log.scan(from + 1, log.tail(), [&](Record&& record) {
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

}  // namespace

void conclude_retention(Engine& engine, const EventLog& log,
                        const std::optional<RetentionOutcome>& outcome) {
  const Tick* tick = engine.world().find_tick(std::string(retention_loop_name));
  if (tick == nullptr) return;
  const bool dropped = log.horizon().dropped_at > tick->token;
  if (tick->status == TickStatus::running && (outcome || dropped)) {
    EndTick command;
    command.loop = tick->loop;
    command.token = tick->token;
    if (outcome && outcome->failed()) {
      command.outcome = TickOutcome::failed;
      command.error = shortened(outcome->error, limits::reason_bytes_max);
    }
    (void)engine.begin(by_the_service).apply(command);
    return;
  }
  const std::string evidence =
      dropped ? "the service ended before it could say that records were dropped"
              : "the service ended before records were dropped; the next due time does it";
  (void)engine.begin(by_the_service).apply(RecoverTick{tick->loop, evidence, true});
}

RetentionLoop::RetentionLoop(Parts parts, const RetentionSettings& settings,
                             std::optional<RetentionOutcome> latest)
    : parts_(std::move(parts)),
      settings_(settings),
      latest_(std::move(latest)),
      stopped_(std::make_shared<std::atomic<bool>>(false)),
      loop_(parts_.engine, parts_.clock, std::string(retention_loop_name), settings_.schedule,
            {{}, [this](Token, const ScheduledLoop::Ended& ended) { tick(ended); }}) {
  // Its records stay for as long as nothing else becomes old.
  if (latest_ && !latest_->failed() && latest_->dropped_at == 0) examined_ = latest_->horizon;
  // A retention that dropped nothing isn't shown as the latest.
  if (!latest_ || (!latest_->failed() && latest_->dropped_at == 0)) {
    latest_ = latest_retention(parts_.log);
  }
}

RetentionLoop::~RetentionLoop() = default;

// Ends the tick without a pause of the service, which couldn't help.
void RetentionLoop::refuse(const NoteVerifier& key, std::string why,
                           const ScheduledLoop::Ended& ended) {
  RetentionOutcome outcome;
  outcome.at_ns = parts_.clock.wall_ns();
  outcome.error = std::move(why);
  outcome.next_commands = {"signalbox audit adopt '" + key.text() + "'",
                           "signalbox loop trigger retention"};
  latest_ = std::move(outcome);
  ended(latest_->error);
}

void RetentionLoop::tick(const ScheduledLoop::Ended& ended) {
  // An age that reaches back before 1970 is older than any record.
  const std::int64_t now_ns = parts_.clock.wall_ns();
  const bool ever = settings_.older_than_ms >= now_ns / ns_per_ms;
  const std::int64_t until_ns = ever ? 0 : now_ns - settings_.older_than_ms * ns_per_ms;
  const Position from = std::max(parts_.log.horizon().position, examined_);
  parts_.blocking.run([this, ended, from, until_ns, open = open_nouns(parts_.engine.world()),
                       stopped = stopped_]() -> std::function<void()> {
    auto found = has_old_records(parts_.log, from, until_ns, open, *stopped);
    auto key = verifier_in(settings_.key);
    return [this, ended, stopped, found = std::move(found), key = std::move(key)] {
      if (*stopped) return;  // the next start concludes it
      if (!found) return ended("the log can't be read: " + found.error().message);
      if (!*found) return ended(std::nullopt);
      if (key) {
        auto why = unadopted_key_text(*key, parts_.engine.world().access.audit_key);
        if (!why.empty()) return refuse(*key, std::move(why), ended);
      }
      parts_.enter_maintenance();  // the tick ends when the service is back
    };
  });
}

}  // namespace signalbox
