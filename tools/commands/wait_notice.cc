#include "tools/commands/wait_notice.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/views/offered_commands.h"

namespace signalbox {
namespace {

// Events with which a wait may begin or end.
constexpr std::array<std::string_view, 6> waiting_events = {
    "StationHeld", "StationApprovalRequested", "StationReady", "RunPaused",
    "RunResumed",  "StationResultHeld"};
// Reasons of run.why that only a person ends.
constexpr std::array<std::string_view, 4> waits_for_person = {"approval", "budget", "paused",
                                                              "service_paused"};

std::string wait_text(const boost::json::object& why, const Terminal& terminal) {
  std::string text;
  for (const boost::json::value& each : array_at(why, "reasons")) {
    if (!each.is_object()) continue;
    const boost::json::object& reason = each.as_object();
    if (std::ranges::find(waits_for_person, text_at(reason, "reason")) == waits_for_person.end()) {
      continue;
    }
    text += "the run waits for you: " + printable(text_at(reason, "text")) + "\n";
    const std::vector<std::string> commands = offered_commands(reason, terminal);
    if (!commands.empty()) text += "  try: " + printable(commands.front()) + "\n";
  }
  return text;
}

}  // namespace

void WaitNotice::look(const boost::json::object& event) {
  const bool may_wait =
      std::ranges::find(waiting_events, text_at(event, "type")) != waiting_events.end();
  if (!std::exchange(is_first_, false) && !may_wait) return;
  constexpr std::string_view run_stream = "run/";
  const std::string stream = text_at(event, "stream");
  if (!stream.starts_with(run_stream)) return;
  const std::string run_id = stream.substr(run_stream.size());
  const auto why = call_server(invocation_, "run.why", {{"run_id", run_id}});
  if (!why) return;
  Terminal terminal = terminal_of(STDERR_FILENO);
  if (!terminal.columns) terminal.columns = 80;  // the command for a person, whoever reads it
  terminal.connection = invocation_.connection();
  std::string text = wait_text(*why, terminal);
  if (text != said_ && !text.empty()) write_message(text);
  said_ = std::move(text);
}

}  // namespace signalbox
