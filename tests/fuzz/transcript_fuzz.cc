// The output of coding agents, which is whatever the agent wrote, and the lines of a thread's file,
// where an agent can write as well.
#include "server/executors/coderunner/agent_transcript.h"
#include "server/executors/coderunner/codex_usage.h"
#include "server/text/utf8_text.h"
#include "tests/fuzz/fuzz_target.h"

namespace signalbox {

void fuzz_transcript(std::string_view input) {
  for (const auto& transcript : {claude_transcript(), codex_transcript()}) {
    for (std::string_view rest = input; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = rest.substr(0, end);
      transcript->line(line);
      if (const auto total = total_in_rollout_line(line, transcript->report().session)) {
        SIGNALBOX_CHECK(total->has_at_least({}) && total->tokens() > 0);
        SIGNALBOX_CHECK(total->tokens() <= 4 * limits::usage_max);
      }
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    SIGNALBOX_CHECK(is_utf8(transcript->report().session));
  }
}

}  // namespace signalbox
