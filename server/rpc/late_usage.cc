#include "server/rpc/late_usage.h"

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "domain/try.h"
#include "projections/run_history.h"
#include "projections/run_index.h"
#include "server/engine/engine.h"
#include "server/followers/projector.h"
#include "server/rpc/read_models.h"

namespace signalbox {
namespace {

using Then = std::function<void(const Decided<LateUsageOutcome>& outcome)>;

// How often the records are read again, because usage of the same run was recorded meanwhile.
constexpr int reads_max = 16;

// What the records of the run say of the attempt.
struct FoundAttempt {
  std::optional<NoteLateUsage> note;  // nullopt: there was no such attempt
  bool is_told = false;               // its usage is known
  Position last_at = 0;               // position of the run's latest record
};

FoundAttempt find_attempt(std::span<const Record> records, const LateUsage& late) {
  FoundAttempt found;
  const Record* claim = nullptr;
  for (const Record& record : records) {
    found.last_at = record.position;
    if (event_as<StationClaimed>(record.event) != nullptr) {
      claim = &record;
    } else if (const auto* intended = event_as<StationSubmitIntended>(record.event)) {
      const bool is_it = intended->job_id == late.job_id && intended->machine == late.machine;
      if (claim == nullptr || !is_it) continue;
      const auto* claimed = event_as<StationClaimed>(claim->event);
      found.note = NoteLateUsage{late.run_id,     claimed->station, claimed->attempt,
                                 claim->position, claim->span_id,   late.usage,
                                 /*read_at=*/0};
    } else if (event_as<StationUsageReported>(record.event) != nullptr ||
               event_as<LateUsageReported>(record.event) != nullptr) {
      found.is_told = found.is_told || (found.note && record.cause == found.note->token);
    }
  }
  return found;
}

// Called on the projector's thread.
Decided<FoundAttempt> read_attempt(const EventLog& log, const RunIndex& index,
                                   const LateUsage& late) {
  const auto positions = index.run_positions(late.run_id);
  if (!positions) return unreadable(positions.error());
  const auto records = read_records(log, *positions);
  // The rows of what a retention drops stay for some moments longer than the records.
  if (!records && records.error().kind == StoreError::Kind::dropped) return FoundAttempt{};
  if (!records) return unreadable(records.error());
  FoundAttempt found = find_attempt(*records, late);
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

Decided<LateUsageOutcome> record_found(Api& api, const FoundAttempt& found) {
  if (!found.note) return LateUsageOutcome::unknown;
  if (found.is_told) return LateUsageOutcome::known;
  if (TRY(is_dropped(api, found.note->run_id, found.last_at))) return LateUsageOutcome::unknown;
  auto transaction = api.engine.begin(by_the_service);
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
              api.engine.world().late_usage.is_newer(late->run_id, found->note->read_at);
          if (is_outdated && reads_left > 0) {
            return read_and_record(api, late, then, reads_left - 1);
          }
          then(found.and_then(
              [&api](const FoundAttempt& attempt) { return record_found(api, attempt); }));
        });
      },
      [&api, then](const StoreError& why) {
        api.post([&api, then, why] { then(tl::unexpected(read_models_behind(api, why))); });
      });
}

}  // namespace

void record_late_usage(Api& api, const LateUsage& late, Then then) {
  if (late.usage == Usage{}) return then(LateUsageOutcome::known);
  read_and_record(api, std::make_shared<const LateUsage>(late), then, reads_max);
}

}  // namespace signalbox
