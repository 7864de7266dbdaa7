#include "tools/commands/held_station.h"

#include "tools/cli/remote_call.h"

namespace signalbox {

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

boost::json::object held_station_params(const HeldStation& held) {
  boost::json::object params{
      {"run_id", held.run_id}, {"station", held.station}, {"token", held.token}};
  set_param(params, "command_id", held.command_id);
  return params;
}

}  // namespace signalbox
