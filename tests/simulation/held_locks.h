// Checks what lock holders rely on: that nobody else holds their lock. A holder counts its lease
// from the time of its request, so it lets go before the service takes the lock away.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "domain/ids.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

class HeldLocks {
 public:
  explicit HeldLocks(Environment& environment) : environment_(environment) {}

  // Records that `owner` was granted the lock and relies on it until then (monotonic).
  void hold(const std::string& key, const std::string& owner, Token token, std::int64_t until_ns) {
    if (tokens_.empty() || tokens_.back() != token) tokens_.push_back(token);
    const std::int64_t now_ns = environment_.schedule.monotonic_ns();
    if (until_ns <= now_ns) return;  // the answer took longer than the lease
    for (const auto& [other, other_hold] : holds_[key]) {
      environment_.expect(other == owner || other_hold.until_ns <= now_ns,
                          owner + " and " + other + " both hold lock " + key);
    }
    holds_[key][owner] = {token, until_ns};
  }
  // Records that `owner` no longer relies on the lock.
  void stop_relying(const std::string& key, const std::string& owner) { holds_[key].erase(owner); }

  // Returns the token of one of the latest grants, for a client whose work depends on a lock. The
  // lock may be lost by now. Returns 0 if there was no grant.
  [[nodiscard]] Token any_token() {
    constexpr std::size_t lately = 3;
    if (tokens_.empty()) return 0;
    const std::size_t back = environment_.random.below(std::min(lately, tokens_.size()));
    return tokens_[tokens_.size() - 1 - back];
  }
  // Returns true if a holder relies on it at this moment.
  [[nodiscard]] bool is_relied_on(Token token) const {
    const std::int64_t now_ns = environment_.schedule.monotonic_ns();
    for (const auto& [key, holders] : holds_) {
      for (const auto& [owner, hold] : holders) {
        if (hold.token == token && hold.until_ns > now_ns) return true;
      }
    }
    return false;
  }

 private:
  struct Hold {
    Token token;
    std::int64_t until_ns;
  };

  Environment& environment_;
  std::map<std::string, std::map<std::string, Hold>> holds_;  // by key, then owner
  std::vector<Token> tokens_;
};

}  // namespace signalbox::simulation
