// The token with which the console's requests are passed on to the server. The console may be open
// for longer than a token that nobody ends should live, so another one takes its place in time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/platform/clock.h"
#include "tools/cli/call_error.h"

namespace signalbox {

// How long a token is usable, and how much of that is left when another one takes its place.
inline constexpr std::int64_t console_token_ms = 12LL * 60 * 60 * 1000;
inline constexpr std::int64_t console_token_rest_ms = 60LL * 60 * 1000;
// The pause between two attempts to issue one: each keeps all other requests waiting.
inline constexpr std::int64_t console_token_pause_ms = 60LL * 1000;

// Without an id it isn't the console's own, and stays the same.
struct IssuedToken {
  std::string id;
  std::string secret;
  std::string role;
};

class ConsoleToken {
 public:
  // `issue` issues another token of console_token_ms.
  using Issue = std::function<Called<IssuedToken>()>;

  ConsoleToken(IssuedToken first, Issue issue, const Clock& clock);

  // Returns the secret for a request that is passed on now: that of another token once the present
  // one is about to end. If none can be issued, the present one is used, and a request a minute
  // later tries again. Blocks on the server then.
  std::string secret();
  // Returns the ids of the tokens to revoke. The one before the present is among them: requests
  // that are under way have it, so it ends by itself.
  [[nodiscard]] std::vector<std::string> usable_ids() const;

 private:
  IssuedToken present_;
  std::string former_id_;  // or empty
  std::int64_t issued_ns_;
  std::optional<std::int64_t> refused_ns_;  // when none could be issued
  const Issue issue_;
  const Clock& clock_;
};

}  // namespace signalbox
