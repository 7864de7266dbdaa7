#include "tools/views/offered_commands.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

// Returns the command that shows the question which this one decides; the command itself if it
// decides none.
std::string asking_command(std::string command) {
  constexpr std::string_view resume = "signalbox run resume ";
  const bool decides =
      command.starts_with(resume) && command.find(" --decision ") != std::string::npos;
  if (!decides) return command;
  const std::size_t end = command.find(' ', resume.size());
  return "signalbox run approve " + command.substr(resume.size(), end - resume.size());
}

// Returns the command without the station whose output it prints: that is the latest job's anyway.
std::string short_log_command(std::string command) {
  const bool is_log = command.starts_with("signalbox run logs ");
  return is_log ? command.substr(0, command.find(" --station ")) : command;
}

}  // namespace

std::vector<std::string> offered_commands(const boost::json::object& shown,
                                          const Terminal& terminal) {
  std::vector<std::string> commands;
  for (const boost::json::value& each : array_at(shown, "next_commands")) {
    std::string command = scalar_text(each);
    if (terminal.columns) command = short_log_command(asking_command(std::move(command)));
    command = with_connection(std::move(command), terminal.connection);
    if (std::find(commands.begin(), commands.end(), command) != commands.end()) continue;
    commands.push_back(std::move(command));
  }
  return commands;
}

}  // namespace signalbox
