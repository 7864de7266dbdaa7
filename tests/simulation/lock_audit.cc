#include "tests/simulation/lock_audit.h"

#include <algorithm>
#include <utility>

namespace signalbox::simulation {

void LockAudit::read(const Record& record) {
  Token& holder = holders_[record.stream.name];
  const auto word_of = [&](Token token) {
    if (token == 0 || token != holder) {
      wrong(record, "the word of token " + std::to_string(token) + ", while " +
                        std::to_string(holder) + " holds the lock");
    }
  };
  if (event_as<LockAcquired>(record.event) != nullptr) {
    if (holder != 0) wrong(record, "token " + std::to_string(holder) + " holds it");
    holder = record.position;
  } else if (const auto* refreshed = event_as<LockRefreshed>(record.event)) {
    word_of(refreshed->token);
  } else if (const auto* released = event_as<LockReleased>(record.event)) {
    word_of(released->token);
    lost_.insert(std::exchange(holder, 0));
  } else if (const auto* expired = event_as<LockExpired>(record.event)) {
    word_of(expired->token);
    lost_.insert(std::exchange(holder, 0));
  }
}

Token LockAudit::needed_by(const Record& record) {
  const SentCommand* sent = book_.find(record.command_id);
  const auto* token = sent == nullptr ? nullptr : sent->params.if_contains("lock_token");
  if (token == nullptr) return 0;
  const auto lock = token->to_number<Token>();
  const bool held = std::any_of(holders_.begin(), holders_.end(),
                                [lock](const auto& entry) { return entry.second == lock; });
  if (!held) wrong(record, "the lock " + std::to_string(lock) + " that it needs isn't held");
  return lock;
}

// L8
void LockAudit::check_failure(const Record& record, const std::string& code, Token lock) {
  const bool lost = lock != 0 && lost_.contains(lock);
  if (lost != (code == "LOCK_LOST")) {
    wrong(record, "it ended with " + code + "; its lock " + std::to_string(lock) +
                      (lost ? " was lost" : " wasn't"));
  }
}

}  // namespace signalbox::simulation
