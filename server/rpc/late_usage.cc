#include "server/rpc/late_usage.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <boost/describe/enum_to_string.hpp>

#include "domain/run_retry.h"
#include "domain/try.h"
#include "projections/run_history.h"
#include "projections/run_index.h"
#include "server/engine/engine.h"
#include "server/followers/projector.h"
#include "server/rpc/read_models.h"

namespace signalbox {
namespace {

using Then = std::function<void(const Decided<LateUsageOutcome>& outcome)>;

constexpr std::ptrdiff_t records_at_once = 256;
// How often the records are read again, because usage of the same run was recorded meanwhile.
constexpr int reads_max = 16;

// What the records of the run say of the attempt.
struct FoundAttempt {
  std::optional<NoteLateUsage> note;  // nullopt: there was no such attempt
  bool is_told = false;               // its usage is known
  Position last_at = 0;               // position of the run's latest record
};

// Returns whether who tells it has claimed the attempt of `claim`, or may speak for who has.
bool is_claim_of(const ClaimedAttempt& meant, const Origin& by, const Record& claim) {
  if (claim.position != meant.token) return false;
  if (event_as<StationClaimed>(claim.event)->station != meant.station) return false;
  return by.acts_for_all || claim.actor == by.actor ||
         (!by.former_actor.empty() && claim.actor == by.former_actor);
}

NoteLateUsage note_of(const LateUsage& late, const Record& claim) {
  const auto* claimed = event_as<StationClaimed>(claim.event);
  return {late.run_id,   claimed->station, claimed->attempt, claim.position,
          claim.span_id, late.usage,       /*read_at=*/0};
}

// Looks for the attempt in the records of its run, in their order.
class AttemptSearch {
 public:
  explicit AttemptSearch(const LateUsage& late)
      : late_(late),
        of_job_(std::get_if<AttemptOfJob>(&late.attempt)),
        of_worker_(std::get_if<ClaimedAttempt>(&late.attempt)) {}

  void look_at(const Record& record) {
    if (event_as<StationClaimed>(record.event) != nullptr) {
      claim_ = record;
      if (of_worker_ != nullptr && is_claim_of(*of_worker_, late_.origin, record)) {
        found_.note = note_of(late_, record);
      }
    } else if (const auto* intended = event_as<StationSubmitIntended>(record.event)) {
      if (!claim_) return;
      const bool is_it = of_job_ != nullptr && intended->job_id == of_job_->job_id &&
                         intended->machine == of_job_->machine;
      if (is_it) found_.note = note_of(late_, *claim_);
      // What a job has used up is told by who executes it, and nobody else.
      const bool is_found = found_.note && found_.note->token == claim_->position;
      if (of_worker_ != nullptr && is_found) found_.note.reset();
    } else if (event_as<StationUsageReported>(record.event) != nullptr ||
               event_as<LateUsageReported>(record.event) != nullptr) {
      found_.is_told = found_.is_told || (found_.note && record.cause == found_.note->token);
    }
  }

  // Returns whether no later record changes what was found.
  [[nodiscard]] bool is_over() const {
    const bool is_none = of_worker_ != nullptr && claim_ && !found_.note;
    return found_.is_told || is_none;
  }
  [[nodiscard]] const FoundAttempt& found() const { return found_; }

 private:
  const LateUsage& late_;
  const AttemptOfJob* const of_job_;
  const ClaimedAttempt* const of_worker_;
  FoundAttempt found_;
  std::optional<Record> claim_;
};

// Called on the projector's thread.
Decided<FoundAttempt> read_attempt(const EventLog& log, const RunIndex& index,
                                   const LateUsage& late) {
  const auto positions = index.run_positions(late.run_id);
  if (!positions) return unreadable(positions.error());
  // A token that never was one of the run needs no reading, and one that was none but what follows:
  // whoever repeats such a call holds up others for as long as that takes.
  const auto* const claimed = std::get_if<ClaimedAttempt>(&late.attempt);
  auto next = positions->cbegin();
  if (claimed != nullptr) {
    next = std::lower_bound(positions->cbegin(), positions->cend(), claimed->token);
    if (next == positions->cend() || *next != claimed->token) return FoundAttempt{};
  }
  AttemptSearch search(late);
  while (next != positions->cend() && !search.is_over()) {
    const auto count = std::min<std::ptrdiff_t>(records_at_once, positions->cend() - next);
    const auto records = read_records(log, std::span(next, next + count));
    // The rows of what a retention drops stay for some moments longer than the records.
    if (!records && records.error().kind == StoreError::Kind::dropped) return FoundAttempt{};
    if (!records) return unreadable(records.error());
    for (const Record& record : *records) search.look_at(record);
    next += count;
  }
  FoundAttempt found = search.found();
  if (!positions->empty()) found.last_at = positions->back();
  if (found.note) found.note->read_at = index.applied();
  return found;
}

// A run whose records a retention has dropped, or is about to, gets no others.
Decided<bool> is_dropped(const Api& api, const RunId& run_id, Position last_at) {
  if (api.is_dropped && api.is_dropped(run_id)) return true;
  if (!api.holds_retry || api.engine.world().find_run(run_id) != nullptr) return false;
  if (auto held = api.holds_retry(last_at)) return tl::unexpected(*std::move(held));
  return false;
}

Decided<LateUsageOutcome> record_found(Api& api, const FoundAttempt& found, const Origin& origin) {
  if (!found.note) return LateUsageOutcome::unknown;
  if (found.is_told) return LateUsageOutcome::known;
  if (TRY(is_dropped(api, found.note->run_id, found.last_at))) return LateUsageOutcome::unknown;
  auto transaction = api.engine.begin(origin);
  const std::size_t events = TRY(transaction.apply(*found.note));
  return events == 0 ? LateUsageOutcome::known : LateUsageOutcome::recorded;
}

void read_and_record(Api& api, const std::shared_ptr<const LateUsage>& late, const Then& then,
                     int reads_left) {
  const Position position = api.engine.world().position;
  api.projector.query(
      position,
      [&api, late, then, reads_left, position](const RunIndex& index) {
        // The log was away, or the world was rolled back (Projector::roll_back()).
        if (index.applied() < position) {
          return api.post(
              [&api, late, then, reads_left] { read_and_record(api, late, then, reads_left); });
        }
        auto found = read_attempt(api.log, index, *late);
        api.post([&api, late, then, reads_left, found = std::move(found)] {
          const bool is_outdated =
              found && found->note &&
              may_lack_usage(api.engine.world(), late->run_id, found->note->read_at);
          if (is_outdated && reads_left > 0) {
            return read_and_record(api, late, then, reads_left - 1);
          }
          then(found.and_then([&api, &late](const FoundAttempt& attempt) {
            return record_found(api, attempt, late->origin);
          }));
        });
      },
      [&api, then](const StoreError& why) {
        api.post([&api, then, why] { then(tl::unexpected(read_models_behind(api, why))); });
      });
}

// Returns whether a completion that is refused so may be of an attempt that has ended.
bool may_be_late(ErrorCode code) {
  switch (code) {
    case ErrorCode::STALE_TOKEN:
    case ErrorCode::RUN_TERMINAL:
    case ErrorCode::RUN_NOT_FOUND:
    case ErrorCode::STATION_ALREADY_SUCCEEDED:
    case ErrorCode::STATION_ORDER:
    case ErrorCode::STATION_NOT_CLAIMED:
      return true;
    default:
      return false;
  }
}

// Returns `why` with what became of the usage.
Rejection with_outcome(Rejection why, const Decided<LateUsageOutcome>& outcome) {
  const char* name = "not_recorded";
  if (!outcome) {
    const char* const code = boost::describe::enum_to_string(outcome.error().code, "?");
    why.message += std::string("; what the attempt has used up couldn't be counted: ") + code +
                   ", " + outcome.error().message + ": repeat the call";
  } else {
    name = boost::describe::enum_to_string(*outcome, "?");
    switch (*outcome) {
      case LateUsageOutcome::recorded:
        why.message += "; what the attempt has used up was counted, and nothing else was taken";
        break;
      case LateUsageOutcome::known:
        why.message += "; what the attempt has used up was counted before";
        break;
      case LateUsageOutcome::unknown:
        why.message +=
            "; the usage isn't counted: the log has no attempt of this token that you have claimed";
        break;
    }
  }
  why.details.push_back({"usage", std::string(name)});
  return why;
}

}  // namespace

void record_late_usage(Api& api, const LateUsage& late, Then then) {
  if (late.usage == Usage{}) return then(LateUsageOutcome::known);
  read_and_record(api, std::make_shared<const LateUsage>(late), then, reads_max);
}

void reject_with_usage(Api& api, const Responder& responder, Rejection why, const LateUsage& late) {
  if (late.usage == Usage{} || !may_be_late(why.code)) return responder.reject(why);
  record_late_usage(api, late,
                    [&api, responder, why = std::move(why),
                     rollbacks = api.engine.rollbacks()](const Decided<LateUsageOutcome>& outcome) {
                      // The end of the attempt may be gone, and the refusal wrong.
                      if (api.engine.rollbacks() != rollbacks) {
                        return responder.reject(api.engine.storage_full_refusal());
                      }
                      responder.reject(with_outcome(why, outcome));
                    });
}

}  // namespace signalbox
