#include "tools/views/pause_view.h"

#include "server/text/printable_text.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/views/offered_commands.h"

namespace signalbox {

std::string paused_line(const boost::json::object& paused, std::int64_t now_ns) {
  if (paused.empty()) return {};
  const std::string reason = text_at(paused, "reason");
  return printable("paused since " + moment_text(text_at(paused, "since"), now_ns) + " by " +
                   text_at(paused, "by") + (reason.empty() ? "" : ": " + reason));
}

std::string paused_claim_text(const boost::json::object& result, const Terminal& terminal,
                              std::int64_t now_ns) {
  const boost::json::object& paused = object_at(result, "paused");
  if (paused.empty()) return {};
  const std::vector<std::string> next = offered_commands(result, terminal);
  return "the service is " + paused_line(paused, now_ns) + "\n" +
         (next.empty() ? "" : "no station begins until: " + printable(next.front()) + "\n");
}

}  // namespace signalbox
