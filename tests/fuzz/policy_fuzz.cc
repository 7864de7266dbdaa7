// HEARTBEAT.md.
#include "server/board/policy_file.h"
#include "server/text/utf8_text.h"
#include "tests/fuzz/fuzz_target.h"

namespace signalbox {

void fuzz_policy(std::string_view input) {
  const auto policy = parse_policy_file(input);
  if (!policy) SIGNALBOX_CHECK(is_utf8(policy.error().message) && !policy.error().message.empty());
}

}  // namespace signalbox
