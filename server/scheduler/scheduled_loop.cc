#include "server/scheduler/scheduled_loop.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "domain/limits.h"
#include "domain/try.h"
#include "server/engine/engine.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

// A loop that is later than this was asleep with its machine or its process; up to it, it was late.
constexpr std::int64_t late_ns_max = 5'000'000'000;
// Missed ticks are counted up to this number.
constexpr std::size_t missed_max = 100'000;
// Due times that passed while a tick was being prepared have an event each up to this number; of
// more, all but the latest are counted by one event.
constexpr std::size_t skips_max = 64;
// If the wall clock was set back by more than this, due times count from now. If by less, due times
// that already have their event aren't due again.
constexpr std::int64_t set_back_ns_max = 60'000'000'000;

}  // namespace

ScheduledLoop::ScheduledLoop(Engine& engine, const Clock& clock, std::string name,
                             Schedule schedule, Work work)
    : engine_(engine),
      clock_(clock),
      name_(std::move(name)),
      schedule_(std::move(schedule)),
      work_(std::move(work)) {}

void ScheduledLoop::arm(const std::string& reason) {
  const std::int64_t now_ns = clock_.wall_ns();
  const auto& loops = engine_.world().loops;
  const auto known = loops.find(name_);
  // A loop that was never due counts from now.
  std::int64_t since_ns = known == loops.end() ? now_ns : known->second.due_ns;
  if (since_ns - now_ns > set_back_ns_max) since_ns = now_ns;
  set_due(schedule_.next_after(std::max(since_ns, now_ns)));
  // Due times without event are among the missed ones below, or will be due again.
  preparing_due_ns_ = skipping_until_ns_ = 0;
  // The clock that it was measured with may have been set since.
  if (without_tick_since_ns_ != 0) without_tick_since_ns_ = now_ns;
  const auto missed = schedule_.due_between(since_ns, now_ns, missed_max);
  if (missed.empty()) return;
  const NoteTicksMissed note{name_, reason, missed.size(), missed.front(), missed.back()};
  (void)engine_.begin(by_the_service).apply(note);
}

void ScheduledLoop::set_due(std::optional<std::int64_t> due_ns) {
  due_ns_ = due_ns;
  due_monotonic_ns_ =
      due_ns ? clock_.monotonic_ns() + std::max<std::int64_t>(0, *due_ns - clock_.wall_ns())
             : std::numeric_limits<std::int64_t>::max();
}

std::int64_t ScheduledLoop::overdue_ns() const {
  std::int64_t since_ns = due_ns_.value_or(std::numeric_limits<std::int64_t>::max());
  for (const std::int64_t earlier_ns : {without_tick_since_ns_, preparing_due_ns_}) {
    if (earlier_ns != 0) since_ns = std::min(since_ns, earlier_ns);
  }
  return std::max<std::int64_t>(0, clock_.wall_ns() - since_ns);
}

void ScheduledLoop::run_if_due() {
  const std::int64_t now_ns = clock_.wall_ns();
  if (!due_ns_ || clock_.monotonic_ns() < due_monotonic_ns_) return;
  if (now_ns < *due_ns_) return set_due(due_ns_);  // the wall clock runs slower
  const std::int64_t first_ns = *due_ns_;
  const auto later = schedule_.due_between(first_ns, now_ns, missed_max);
  const std::int64_t latest_ns = later.empty() ? first_ns : later.back();
  set_due(schedule_.next_after(latest_ns));
  // While a due tick is being prepared, its event comes first (begin_prepared()).
  if (!later.empty() && preparing_due_ns_ == 0) {
    const std::int64_t last_ns = later.size() == 1 ? first_ns : later[later.size() - 2];
    const char* reason = now_ns - first_ns > late_ns_max ? "asleep" : "late";
    const NoteTicksMissed note{name_, reason, later.size(), first_ns, last_ns};
    (void)engine_.begin(by_the_service).apply(note);
  }
  if (busy_) return skip_due(latest_ns);
  begin("due", latest_ns, {});
}

void ScheduledLoop::trigger(const std::string& reason, bool again, Notify notify) {
  if (!busy_) return begin(reason, 0, notify);
  again_ = again_ || again;
  const auto skipped = skip(reason, 0);
  if (!notify) return;
  if (!skipped) return notify({false, 0, skipped.error()});
  const Tick* tick = engine_.world().find_tick(name_);
  notify({false, tick == nullptr ? 0 : tick->token});
}

BeginTick ScheduledLoop::begin_command(const std::string& reason, std::int64_t due_ns) const {
  BeginTick command;
  command.loop = name_;
  command.stage = name_;
  command.reason = reason;
  command.own_loop = true;
  command.due_ns = due_ns;
  return command;
}

Decided<void> ScheduledLoop::skip(const std::string& reason, std::int64_t due_ns) {
  TRY(engine_.begin(by_the_service).apply(NoteTickSkipped{begin_command(reason, due_ns)}));
  return {};
}

void ScheduledLoop::skip_due(std::int64_t due_ns) {
  if (without_tick_since_ns_ == 0) without_tick_since_ns_ = due_ns;
  if (preparing_due_ns_ != 0) {
    skipping_until_ns_ = due_ns;
  } else {
    (void)skip("due", due_ns);
  }
}

void ScheduledLoop::begin(const std::string& reason, std::int64_t due_ns, const Notify& notify) {
  busy_ = true;
  preparing_due_ns_ = due_ns;
  BeginTick command = begin_command(reason, due_ns);
  if (!work_.prepare) return begin_prepared(command, notify);
  work_.prepare([this, command, notify](const Digest& policy_digest) mutable {
    command.policy_digest = policy_digest;
    begin_prepared(command, notify);
  });
}

void ScheduledLoop::begin_prepared(BeginTick command, const Notify& notify) {
  command.due_ns = std::exchange(preparing_due_ns_, 0);
  const std::int64_t skipping_until_ns = std::exchange(skipping_until_ns_, 0);
  Token token = 0;
  std::optional<Rejection> refused;
  {
    auto transaction = engine_.begin(by_the_service);
    const auto begun = transaction.apply(command);
    if (begun) {
      token = transaction.records().back().position;
    } else if (begun.error().code == ErrorCode::TICK_IN_PROGRESS) {
      // The work of an earlier tick was given up, but that tick has no end yet.
      (void)transaction.apply(NoteTickSkipped{command});
    } else {
      refused = begun.error();
    }
    auto passed = schedule_.due_between(command.due_ns, skipping_until_ns, missed_max);
    if (!refused && passed.size() > skips_max) {
      const NoteTicksMissed note{name_, "asleep", passed.size() - 1, passed.front(),
                                 passed[passed.size() - 2]};
      (void)transaction.apply(note);
      passed.erase(passed.begin(), passed.end() - 1);
    }
    for (const std::int64_t due_ns : passed) {
      if (!refused) (void)transaction.apply(NoteTickSkipped{begin_command("due", due_ns)});
    }
  }
  if (token == 0) {
    busy_ = false;
    if (without_tick_since_ns_ == 0) without_tick_since_ns_ = command.due_ns;
    if (notify) notify({false, 0, refused});
    return;
  }
  without_tick_since_ns_ = 0;
  engine_.release_when_durable([this, token](Durability durability) {
    if (durability == Durability::durable) return run(token);
    busy_ = false;
  });
  if (notify) notify({true, token});
}

void ScheduledLoop::run(Token token) {
  try {
    work_.run(token, [this, token](const std::optional<std::string>& error) { end(token, error); });
  } catch (const std::exception& failure) {
    end(token, failure.what());
  }
}

void ScheduledLoop::end(Token token, const std::optional<std::string>& error) {
  EndTick command;
  command.loop = name_;
  command.token = token;
  if (error) {
    command.outcome = TickOutcome::failed;
    command.error = shortened(*error, limits::reason_bytes_max);
  }
  // Refused if the tick ended meanwhile, by its lease or by `tick.recover`; that is fine.
  (void)engine_.begin(by_the_service).apply(command);
  busy_ = false;
  if (std::exchange(again_, false)) trigger("asked for while a tick was under way");
}

}  // namespace signalbox
