#include "server/rpc/methods/report_period.h"

#include <algorithm>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "projections/report.h"
#include "server/text/separated_text.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

// Returns when the last record up to `position` was written that shows that the service lived;
// nullopt if none of those that the log has does.
Stored<std::optional<std::int64_t>> lived_until(const EventLog& log, Position position) {
  // Usually the first one does.
  for (; position > log.horizon().position; --position) {
    const auto records = TRY(log.read(position, 1));
    if (records.empty()) break;
    if (shows_that_service_lived(records.front())) return records.front().recorded_at_ns;
  }
  return std::nullopt;
}

}  // namespace

Decided<ReportSince> read_report_since(const std::string& text, std::int64_t now_ns,
                                       Position tail) {
  ReportSince since;
  if (const auto position = whole_number<Position>(text)) {
    if (*position > tail) {
      return reject(ErrorCode::POSITION_NOT_FOUND, "the log ends at " + std::to_string(tail),
                    {{"since", static_cast<std::int64_t>(*position)},
                     {"tail", static_cast<std::int64_t>(tail)}},
                    {"signalbox report --since 8h"});
    }
    since.position = *position;
    return since;
  }
  if (const auto at_ns = parse_time(text)) {
    if (*at_ns > now_ns) {
      return reject(ErrorCode::INVALID_PARAMS, text + " is later than now",
                    {{"field", std::string("since")}}, {"signalbox report --since 8h"});
    }
    since.at_ns = *at_ns;
    return since;
  }
  if (const auto age_ms = parse_duration_ms(text)) {
    // The clock's own origin for an age that reaches further back.
    since.at_ns = *age_ms < now_ns / ns_per_ms ? now_ns - *age_ms * ns_per_ms : 0;
    return since;
  }
  return reject(ErrorCode::INVALID_PARAMS,
                "since is a position, a time like 2026-11-20T03:00:00Z or an age like 8h",
                {{"field", std::string("since")}}, {"signalbox report --since 8h"});
}

Stored<ReportPeriod> report_period(const EventLog& log, Position tail, const ReportSince& since,
                                   std::uint64_t records_max) {
  ReportPeriod period;
  const Horizon horizon = log.horizon();
  period.since_ns = since.at_ns;
  Position before = 0;
  if (since.position) {
    before = *since.position;
  } else {
    before = TRY(position_at(log, since.at_ns));
  }
  before = std::min(before, tail);
  // A time before the first record that is left may be any time before it.
  const bool may_be_earlier = !since.position && before == horizon.position;
  if (horizon.position > 0 && (before < horizon.position || may_be_earlier)) {
    before = horizon.position;
    period.history_from = before + 1;
  }
  if (tail - before > records_max) {
    before = tail - records_max;
    period.is_cut = true;
  }
  period.from = before + 1;
  if (before > horizon.position) {
    if (since.position || period.is_cut) period.since_ns = TRY(recorded_at(log, before));
    period.lived_ns = TRY(lived_until(log, before));
  } else if (period.from <= tail) {
    // Nothing is known of the time before the first record.
    const std::int64_t first_ns = TRY(recorded_at(log, period.from));
    period.since_ns = std::max(period.since_ns, first_ns);
  }
  return period;
}

}  // namespace signalbox
