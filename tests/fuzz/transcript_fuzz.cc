// The output of coding agents, which is whatever the agent wrote.
#include "server/executors/coderunner/agent_transcript.h"
#include "server/text/utf8_text.h"
#include "tests/fuzz/fuzz_target.h"

namespace signalbox {

void fuzz_transcript(std::string_view input) {
  for (const auto& transcript : {claude_transcript(), codex_transcript()}) {
    for (std::string_view rest = input; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      transcript->line(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    SIGNALBOX_CHECK(is_utf8(transcript->report().session));
  }
}

}  // namespace signalbox
