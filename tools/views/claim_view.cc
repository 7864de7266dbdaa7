#include "tools/views/claim_view.h"

#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/text_table.h"

namespace signalbox {

namespace json = boost::json;

std::string view_claim(const json::object& result, const Terminal& terminal) {
  const json::object& claim = object_at(result, "claim");
  if (claim.empty()) return "nothing is ready\n";
  const std::int64_t now_ns = wall_clock_ns();
  return named_values(
      {
          {"run", {text_at(claim, "run_id")}},
          {"station", {text_at(claim, "station"), Style::strong}},
          {"token", {text_at(claim, "token"), Style::strong}},
          {"attempt", {text_at(claim, "attempt")}},
          {"strategy", {text_at(claim, "strategy")}},
          {"lease until", {clock_time(text_at(claim, "expires_at"), now_ns)}},
          {"goal", {text_at(claim, "goal")}},
          {"run root", {text_at(claim, "run_root")}},
          {"previous", {text_at(claim, "previous")}},
      },
      terminal);
}

}  // namespace signalbox
