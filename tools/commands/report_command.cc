// `signalbox report`: what happened since a moment, and what waits for a person, in one screen.
#include <memory>
#include <string>

#include "tools/cli/commands.h"
#include "tools/cli/remote_call.h"
#include "tools/views/report_view.h"

namespace signalbox {

void add_report_command(ToolCommand app, Invocation& invocation) {
  ToolCommand command = app.add_subcommand("report", "Last night in one screen");
  const auto since = std::make_shared<std::string>("8h");
  command
      .add_option("--since", *since,
                  "A position, a time (RFC 3339) or an age such as 8h, which is the default")
      .type_name("MOMENT");
  command.footer(
      "Shows how runs and attempts ended, why they failed, what they cost, what\n"
      "crashes of the service cost, and what waits for you. With --at, as it was then.\n\n"
      "Examples:\n"
      "  signalbox report\n"
      "  signalbox report --since 24h --json | jq .result.failures\n"
      "  signalbox report --since 2026-11-20T18:00:00Z");
  command.action([since, &invocation] {
    return call_and_answer(invocation, "report.get", {{"since", *since}}, view_report);
  });
}

}  // namespace signalbox
