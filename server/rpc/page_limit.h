// The largest page of each list, in rows. `server.limits` reports these numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "domain/refusals.h"
#include "domain/try.h"

namespace signalbox {

inline constexpr std::uint32_t run_list_rows_max = 500;
// Runs that are looked at for a list in another order, for totals, and for a timeline.
inline constexpr std::uint32_t run_list_looked_at_max = 100'000;
inline constexpr std::uint32_t lock_list_rows_max = 1000;
inline constexpr std::uint32_t plan_list_rows_max = 500;
inline constexpr std::uint32_t tick_list_rows_max = 500;
inline constexpr std::uint32_t strategy_list_rows_max = 500;
inline constexpr std::uint32_t project_list_rows_max = 500;
inline constexpr std::uint32_t card_list_rows_max = 500;
inline constexpr std::uint32_t attention_list_rows_max = 500;
// Approvals of a page about whose work something is said: that reads all records of the run.
inline constexpr std::uint32_t attention_proposals_max = 32;
inline constexpr std::uint32_t in_flight_rows_max = 500;
inline constexpr std::uint32_t board_get_cards_max = 100;  // of each column
inline constexpr std::uint32_t events_read_rows_max = 1000;
inline constexpr std::uint32_t log_marks_rows_max = 1000;
inline constexpr std::uint32_t histogram_buckets_max = 4000;
inline constexpr std::uint32_t report_spans_max = 1000;
inline constexpr std::uint32_t timeline_rows_max = 1000;
// Time before a timeline's beginning in which runs began that are shown although they have ended.
inline constexpr std::int64_t timeline_run_ms_max = 7LL * 24 * 60 * 60 * 1000;
// Holds of locks that are looked at for a timeline.
inline constexpr std::uint32_t timeline_holds_max = 100'000;
// Steps of a timeline's resolution in its time.
inline constexpr std::int64_t timeline_columns_max = 4000;
inline constexpr std::uint32_t run_log_bytes_max = 256 * 1024;

// An id may be given by its last hexadecimal digits, at least so many; it is looked for among so
// many of the newest.
inline constexpr std::uint32_t id_tail_digits_min = 4;
inline constexpr std::uint32_t id_tail_rows_max = 100'000;

// Returns `limit`, or `otherwise` if none was given. INVALID_PARAMS with the bounds if it isn't
// within 1 and `rows_max`: a page with fewer rows than requested would look like the last one.
inline Decided<std::uint32_t> page_limit(std::optional<std::uint32_t> limit,
                                         std::uint32_t otherwise, std::uint32_t rows_max) {
  const std::uint32_t rows = limit.value_or(otherwise);
  TRY(require_between("limit", rows, 1, rows_max));
  return rows;
}

}  // namespace signalbox
