// The read model of who held which lock when: a row for each time that a lock was held, from its
// grant to its end. Refreshes change nothing.
//
// Its rows are in the table of the run index and are written in the same batches, so that both are
// as of the same position. It begins with the log's horizon, and with the locks that were held
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "domain/event.h"
#include "domain/lock.h"
#include "projections/table.h"

namespace signalbox {

// How a hold of a lock ended, if it did. Stored as a number: append-only.
enum class LockHoldStatus : std::uint8_t { held = 1, released = 2, expired = 3 };
BOOST_DESCRIBE_ENUM(LockHoldStatus, held, released, expired)

struct LockHold {
  std::string key;
  std::string owner;
  Token token = 0;  // position of the grant
  LockHoldStatus status = LockHoldStatus::held;
  std::int64_t acquired_at_ns = 0;  // UTC
  // UTC; the clock may have been set back since the grant. Of one that is held: no time yet.
  std::int64_t ended_at_ns = std::numeric_limits<std::int64_t>::max();

  friend bool operator==(const LockHold&, const LockHold&) = default;
};
BOOST_DESCRIBE_STRUCT(LockHold, (), (key, owner, token, status, acquired_at_ns, ended_at_ns))

class LockLedger {
 public:
  // `table` must outlive the ledger.
  explicit LockLedger(const Table& table) : table_(table) {}

  // Adds the row of a lock that was held at the log's horizon.
  static void put_held(const Lock& lock, TableBatch& out);

  // For each batch call begin(), then apply() for each record of a lock's stream, which adds the
  // holds that ended to `out`, then put(), which adds those that began and didn't end. apply()
  // fails with `damaged` if the grant of a lock that ends is unknown. One thread at a time.
  void begin() { begun_.clear(); }
  Stored<void> apply(const Record& record, TableBatch& out);
  void put(TableBatch& out) const;

  // Calls `visit` with each hold of which a part is in from_ns … until_ns - 1, in any order.
  // Returns false if more than `entries_max` would have to be looked at. Any thread, also
  // concurrently with a batch.
  [[nodiscard]] Stored<bool> for_each(std::int64_t from_ns, std::int64_t until_ns,
                                      std::size_t entries_max,
                                      const std::function<void(const LockHold&)>& visit) const;

 private:
  Stored<void> end(const Record& record, Token token, LockHoldStatus status, TableBatch& out);

  const Table& table_;
  // Those that were granted in the current batch and are still held; by token.
  boost::unordered_flat_map<Token, LockHold> begun_;
};

}  // namespace signalbox
