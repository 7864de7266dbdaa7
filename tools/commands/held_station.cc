#include "tools/commands/held_station.h"

#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_table.h"
#include "tools/views/pause_view.h"

namespace signalbox {

namespace json = boost::json;

void add_held_station(ToolCommand command, HeldStation& held) {
  command.add_option("--run", held.run_id, "The run").required().environment("SIGNALBOX_RUN_ID");
  command.add_option("--station", held.station, "The station")
      .required()
      .environment("SIGNALBOX_STATION");
  command.add_option("--token", held.token, "The token of the claim")
      .required()
      .environment("SIGNALBOX_TOKEN");
  add_command_id(command, held.command_id);
}

json::object held_station_params(const HeldStation& held) {
  json::object params{{"run_id", held.run_id}, {"station", held.station}, {"token", held.token}};
  set_param(params, "command_id", held.command_id);
  return params;
}

std::string view_claim(const json::object& result, const Terminal& terminal) {
  const json::object& claim = object_at(result, "claim");
  if (claim.empty()) {
    const std::string paused = paused_claim_text(result, terminal, wall_clock_ns());
    return paused.empty() ? "nothing is ready\n" : paused;
  }
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

std::string view_completed(const json::object& result, const Terminal& terminal) {
  std::string text = "station " + text_at(result, "station_status") + ", run " +
                     text_at(result, "run_status") + "\n";
  if (result.contains("claim")) text += "\n" + view_claim(result, terminal);
  return text;
}

}  // namespace signalbox
