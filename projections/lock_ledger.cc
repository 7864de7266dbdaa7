#include "projections/lock_ledger.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "domain/try.h"
#include "projections/log_calendar.h"
#include "projections/row_codec.h"
#include "projections/run_index_keys.h"

namespace signalbox {
namespace {

namespace keys = run_index_keys;

constexpr std::string_view held_list = "H";

// The holds that have ended are listed by the position of their end, in lists for these durations
// (ns) at most: a hold that has a part in a span of time ended at most its duration after it. So no
// hold is missed, and few are read in vain, as a lock can't be held for long by many at a time.
constexpr std::int64_t minute_ns = 60 * LogCalendar::second_ns;
constexpr std::int64_t any_ns = std::numeric_limits<std::int64_t>::max();
constexpr std::array<std::int64_t, 4> durations_ns = {minute_ns, 60 * minute_ns,
                                                      24 * 60 * minute_ns, any_ns};
// The calendar's intervals that are read to find the positions of a time, about.
constexpr std::int64_t intervals_of_time = 32;

std::string held_key(Token token) { return keys::numbered(std::string(held_list), token); }

std::string ended_list(std::size_t duration) {
  return {'E', static_cast<char>('0' + static_cast<int>(duration))};
}
std::string list_of(const LockHold& hold) {
  const std::int64_t lasted_ns = hold.ended_at_ns - hold.acquired_at_ns;
  std::size_t duration = 0;
  while (lasted_ns > durations_ns.at(duration)) ++duration;
  return ended_list(duration);
}

// Reads the rows of some lists, up to a number of them, and keeps those of a span of time.
class HoldSearch {
 public:
  HoldSearch(const Table& table, std::int64_t from_ns, std::int64_t until_ns,
             std::size_t entries_max)
      : table_(table), from_ns_(from_ns), until_ns_(until_ns), entries_left_(entries_max) {}

  // Goes through the list's entries at these positions, latest first: in an earlier version of the
  // rows (versioned_table.h) the table's position is the last one that has any.
  Stored<void> read(std::string_view list, const PositionRange& range) {
    const Position last = std::min(range.last, table_.applied());
    if (last < range.first) return {};
    std::optional<StoreError> failure;
    TRY(table_.scan(list, keys::numbered(std::string(list), last), ScanOrder::descending,
                    [&](std::string_view key, std::string_view value) {
                      if (keys::trailing_number(key) < range.first) return false;
                      if (entries_left_ == 0) return is_whole_ = false;
                      --entries_left_;
                      auto hold = decode_row<LockHold>(value);
                      if (!hold) {
                        failure = std::move(hold.error());
                        return false;
                      }
                      keep(*std::move(hold));
                      return true;
                    }));
    if (failure) return tl::unexpected(std::move(*failure));
    return {};
  }

  [[nodiscard]] bool is_whole() const { return is_whole_; }
  [[nodiscard]] const std::map<Token, LockHold>& holds() const { return holds_; }

 private:
  void keep(LockHold hold) {
    if (hold.acquired_at_ns >= until_ns_ || hold.ended_at_ns < from_ns_) return;
    holds_.insert_or_assign(hold.token, std::move(hold));
  }

  const Table& table_;
  const std::int64_t from_ns_;
  const std::int64_t until_ns_;
  std::size_t entries_left_;
  bool is_whole_ = true;
  std::map<Token, LockHold> holds_;
};

}  // namespace

void LockLedger::put_held(const Lock& lock, TableBatch& out) {
  LockHold hold;
  hold.key = lock.key;
  hold.owner = lock.owner;
  hold.token = lock.token;
  hold.acquired_at_ns = lock.acquired_at_ns;
  out.put(held_key(hold.token), encode_row(hold));
}

Stored<void> LockLedger::apply(const Record& record, TableBatch& out) {
  if (const auto* acquired = event_as<LockAcquired>(record.event)) {
    LockHold& hold = begun_[record.position];
    hold.key = acquired->key;
    hold.owner = acquired->owner;
    hold.token = record.position;
    hold.acquired_at_ns = record.recorded_at_ns;
  } else if (const auto* released = event_as<LockReleased>(record.event)) {
    return end(record, released->token, LockHoldStatus::released, out);
  } else if (const auto* expired = event_as<LockExpired>(record.event)) {
    return end(record, expired->token, LockHoldStatus::expired, out);
  }
  return {};
}

Stored<void> LockLedger::end(const Record& record, Token token, LockHoldStatus status,
                             TableBatch& out) {
  LockHold hold;
  if (const auto begun = begun_.find(token); begun != begun_.end()) {
    hold = std::move(begun->second);
    begun_.erase(begun);
  } else {
    auto row = TRY(read_row<LockHold>(table_, held_key(token)));
    if (!row) {
      StoreError error;
      error.kind = StoreError::Kind::damaged;
      error.message = "the lock ledger doesn't know the grant of a lock that ends";
      error.position = record.position;
      return tl::unexpected(std::move(error));
    }
    hold = *std::move(row);
    out.erase(held_key(token));
  }
  hold.status = status;
  hold.ended_at_ns = record.recorded_at_ns;
  out.put(keys::numbered(list_of(hold), record.position), encode_row(hold));
  return {};
}

void LockLedger::put(TableBatch& out) const {
  for (const auto& [token, hold] : begun_) out.put(held_key(token), encode_row(hold));
}

Stored<bool> LockLedger::for_each(std::int64_t from_ns, std::int64_t until_ns,
                                  std::size_t entries_max,
                                  const std::function<void(const LockHold&)>& visit) const {
  HoldSearch search(table_, from_ns, until_ns, entries_max);
  // First those that are held: a batch may end some of them meanwhile, and then they are found
  // again.
  TRY(search.read(held_list, {0, std::numeric_limits<Position>::max()}));
  const LogCalendar calendar(table_);
  for (std::size_t each = 0; each < durations_ns.size(); ++each) {
    const bool is_last = durations_ns.at(each) == any_ns;
    const std::int64_t ended_until_ns = is_last ? any_ns : until_ns + durations_ns.at(each);
    const std::int64_t width_ns =
        is_last ? LogCalendar::widths_ns.back()
                : LogCalendar::width_for((ended_until_ns - from_ns) / intervals_of_time);
    const auto range = TRY(calendar.positions(width_ns, from_ns, ended_until_ns));
    if (range) TRY(search.read(ended_list(each), *range));
  }
  for (const auto& [token, hold] : search.holds()) visit(hold);
  return search.is_whole();
}

}  // namespace signalbox
