// The expected content of the lock ledger, computed from all records at once.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "projections/lock_ledger.h"

namespace signalbox {

// Returns the holds that are held, or ended after this position; by token.
inline std::map<Token, LockHold> naive_lock_ledger(std::span<const Record> records,
                                                   Position horizon = 0) {
  std::map<Token, LockHold> holds;
  const auto end = [&](const Record& record, Token token, LockHoldStatus status) {
    holds.at(token).status = status;
    holds.at(token).ended_at_ns = record.recorded_at_ns;
    if (record.position <= horizon) holds.erase(token);
  };
  for (const Record& record : records) {
    if (const auto* acquired = event_as<LockAcquired>(record.event)) {
      LockHold& hold = holds[record.position];
      hold.key = acquired->key;
      hold.owner = acquired->owner;
      hold.token = record.position;
      hold.acquired_at_ns = record.recorded_at_ns;
    } else if (const auto* released = event_as<LockReleased>(record.event)) {
      end(record, released->token, LockHoldStatus::released);
    } else if (const auto* expired = event_as<LockExpired>(record.event)) {
      end(record, expired->token, LockHoldStatus::expired);
    }
  }
  return holds;
}

// Returns those of which the ledger says that a part was in this time; by token.
inline std::map<Token, LockHold> holds_in(const LockLedger& ledger, std::int64_t from_ns = 0,
                                          std::int64_t until_ns = 3'000'000'000'000'000'000) {
  std::map<Token, LockHold> holds;
  const auto is_whole = ledger.for_each(
      from_ns, until_ns, 1'000'000, [&holds](const LockHold& hold) { holds[hold.token] = hold; });
  return is_whole.value_or(false) ? holds : std::map<Token, LockHold>{};
}

}  // namespace signalbox
