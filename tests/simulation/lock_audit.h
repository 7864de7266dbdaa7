// Audits who holds which lock, and what ends because a lock was lost. A part of RegisterAudit.
#pragma once

#include <map>
#include <set>
#include <string>

#include "tests/simulation/audited_run.h"
#include "tests/simulation/command_book.h"

namespace signalbox::simulation {

class LockAudit {
 public:
  LockAudit(Environment& environment, const CommandBook& book)
      : environment_(environment), book_(book) {}

  // Forgets which locks the commit before this one lost.
  void begin_commit() { lost_.clear(); }
  // Audits an event of a lock.
  void read(const Record& record);
  // Checks that an attempt or a tick which needs `lock` (0: none) fails with LOCK_LOST if and only
  // if the present commit lost that lock.
  void check_failure(const Record& record, const std::string& code, Token lock);

  // Returns the lock that the client said it needs in the request behind this record, or 0. Checks
  // that somebody holds the lock.
  [[nodiscard]] Token needed_by(const Record& record);
  // Returns the tokens of the locks that the present commit lost.
  [[nodiscard]] const std::set<Token>& lost() const { return lost_; }
  // Returns the token that holds each lock, by key; 0: nobody does.
  [[nodiscard]] const std::map<std::string, Token>& holders() const { return holders_; }

 private:
  void wrong(const Record& record, const std::string& what) {
    report_contradiction(environment_, record, what);
  }

  Environment& environment_;
  const CommandBook& book_;
  std::map<std::string, Token> holders_;  // by key
  std::set<Token> lost_;                  // in the commit that is being read
};

}  // namespace signalbox::simulation
