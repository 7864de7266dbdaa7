#include "tools/console/console_token.h"

#include <utility>

#include "domain/nanoseconds.h"

namespace signalbox {

ConsoleToken::ConsoleToken(IssuedToken first, Issue issue, const Clock& clock)
    : present_(std::move(first)),
      issued_ns_(clock.monotonic_ns()),
      issue_(std::move(issue)),
      clock_(clock) {}

std::string ConsoleToken::secret() {
  const std::int64_t now_ns = clock_.monotonic_ns();
  const std::int64_t age_ns = now_ns - issued_ns_;
  if (present_.id.empty() || age_ns < (console_token_ms - console_token_rest_ms) * ns_per_ms) {
    return present_.secret;
  }
  if (refused_ns_ && now_ns - *refused_ns_ < console_token_pause_ms * ns_per_ms) {
    return present_.secret;
  }
  auto issued = issue_();
  if (!issued) {
    refused_ns_ = now_ns;
    return present_.secret;
  }
  former_id_ = age_ns < console_token_ms * ns_per_ms ? present_.id : std::string();
  present_ = *std::move(issued);
  issued_ns_ = now_ns;
  return present_.secret;
}

std::vector<std::string> ConsoleToken::usable_ids() const {
  std::vector<std::string> ids;
  for (const std::string& id : {former_id_, present_.id}) {
    if (!id.empty()) ids.push_back(id);
  }
  return ids;
}

}  // namespace signalbox
