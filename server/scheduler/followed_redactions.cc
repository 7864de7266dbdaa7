#include "server/scheduler/followed_redactions.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/limits.h"

namespace signalbox {
namespace {

// Before what failed is tried again.
constexpr std::int64_t erasure_retry_ms = 5'000;

}  // namespace

FollowedRedactions::FollowedRedactions(Parts parts)
    : parts_(std::move(parts)), stopped_(std::make_shared<std::atomic<bool>>(false)) {}

void FollowedRedactions::look() {
  if (*stopped_) return;
  answer_if_done();
  if (under_way_) return;
  const PendingRedactions pending = parts_.log.pending_redactions();
  if (pending.due.empty()) return trouble_.clear();
  if (parts_.redactions.is_redacting() && !waiting_) return;  // it does what is due itself
  if (parts_.clock.monotonic_ns() < retry_at_ns_) return;
  if (pending.is_erasing) return renew();
  if (parts_.is_writer()) return erase(pending.due.front());
  settle_reported(pending);
}

void FollowedRedactions::renew() {
  under_way_ = true;
  const bool is_begun = parts_.redactions.renew([this](const Stored<void>& renewed) {
    note_outcome(renewed);
    if (!renewed) return;
    parts_.note(true, "erased a text from this server, which the cell has redacted");
    parts_.report_soon();
  });
  if (!is_begun) under_way_ = false;
}

void FollowedRedactions::erase(Position redacted_at) {
  run([this, redacted_at]() -> Stored<void> {
    TRY(parts_.erase_from_chain(redacted_at));
    TRY(parts_.log.sync());  // the report says only what is durable
    return parts_.log.settle_redactions(redacted_at);
  });
}

// The writer's report covers the shared log.
void FollowedRedactions::settle_reported(const PendingRedactions& pending) {
  Position through = 0;
  for (const ReplicaReport& each : parts_.servers()) {
    if (each.role == "active" && each.server.name != parts_.own) {
      through = std::max(through, each.erased_through);
    }
  }
  if (through < pending.due.front()) return;
  run([this, through] { return parts_.log.settle_redactions(through); });
}

void FollowedRedactions::run(std::function<Stored<void>()> step) {
  under_way_ = true;
  parts_.blocking.run(
      {.name = "redaction"},
      [this, step = std::move(step), stopped = stopped_]() -> std::function<void()> {
        Stored<void> made;
        try {
          made = step();
        } catch (const std::exception& failure) {
          made = store_failure(StoreError::Kind::io, failure.what());
        }
        return [this, made = std::move(made), stopped] {
          if (*stopped) return;
          note_outcome(made);
          if (made) parts_.report_soon();
          answer_if_done();
        };
      });
}

void FollowedRedactions::note_outcome(const Stored<void>& made) {
  under_way_ = false;
  if (made) return trouble_.clear();
  retry_at_ns_ = parts_.clock.monotonic_ns() + erasure_retry_ms * ns_per_ms;
  std::string why =
      "a text that the cell has redacted isn't erased everywhere yet: " + made.error().message +
      "; it is tried again in " + std::to_string(erasure_retry_ms / 1000) + " s";
  if (std::exchange(trouble_, std::move(why)) != trouble_) parts_.note(false, trouble_);
}

void FollowedRedactions::await_others(RedactionOutcome outcome,
                                      std::function<void(RedactionOutcome)> done) {
  const std::int64_t until_ns =
      parts_.clock.monotonic_ns() + limits::redaction_servers_ms_max * ns_per_ms;
  waiting_ = Waiting{std::move(outcome), std::move(done), until_ns};
  look();
}

// A server that doesn't report isn't waited for: it erases the text when it is there again. Nor is
// anything if files here may have the text: that is tried again, and has taken its time already.
// Reports from before this server's own one about it may lack one that came just then.
void FollowedRedactions::answer_if_done() {
  if (!waiting_) return;
  const Position redacted_at = waiting_->outcome.redacted_at;
  const auto due = parts_.log.pending_redactions().due;
  const bool is_due = std::ranges::find(due, redacted_at) != due.end();
  bool is_awaited = is_due;
  bool is_known = false;
  std::vector<std::string> unerased;
  for (const ReplicaReport& each : parts_.servers()) {
    const bool is_own = each.server.name == parts_.own;
    if (each.erased_through >= redacted_at) is_known = is_known || is_own;
    if (each.erased_through >= redacted_at || is_own) continue;
    unerased.push_back(each.server.name);
    is_awaited = is_awaited || each.silent_ms <= limits::cell_gone_ms_max;
  }
  is_awaited = is_awaited || !is_known;
  const bool is_over =
      !waiting_->outcome.erasure_error.empty() || parts_.clock.monotonic_ns() >= waiting_->until_ns;
  if (is_awaited && !is_over) return;
  Waiting waiting = *std::exchange(waiting_, std::nullopt);
  waiting.outcome.unerased_servers = std::move(unerased);
  if (is_due) {
    waiting.outcome.shared_log_error =
        trouble_.empty() ? "its turn hasn't come yet; this server goes on with it" : trouble_;
  } else if (!is_known) {
    waiting.outcome.shared_log_error = "which servers the cell has couldn't be read since";
  }
  waiting.done(std::move(waiting.outcome));
}

}  // namespace signalbox
