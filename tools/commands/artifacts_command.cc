// `signalbox artifacts …`: compares the files in a run's root with the log, and restores them.
#include <memory>

#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_table.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct ArtifactsOptions {
  std::string run_id;
};

std::string view_files(const json::object& result, const Terminal& terminal) {
  TextTable table({{"file"}, {"bytes", TextTable::Align::right}, {"found"}, {"error"}});
  for (const json::value& each : array_at(result, "files")) {
    const json::object& file = each.as_object();
    const std::string error = text_at(file, "error");
    table.add({{text_at(file, "path")},
               {text_at(file, "bytes")},
               {text_at(file, "found")},
               {error, error.empty() ? Style::plain : Style::bad}});
  }
  const bool removed = true_at(result, "files_removed");
  return text_at(result, "run_root") + (removed ? " (removed by retention)" : "") + "\n\n" +
         table.text(terminal);
}

bool all_written(const json::object& result) {
  for (const json::value& each : array_at(result, "files")) {
    if (!text_at(each.as_object(), "error").empty()) return false;
  }
  return true;
}

ExitCode call(const Invocation& invocation, const ArtifactsOptions& options, bool check) {
  const auto result = call_server(invocation, "run.rebuild_artifacts",
                                  {{"run_id", options.run_id}, {"check", check}});
  const ExitCode exit_code = answer(invocation, result, view_files);
  return result && !all_written(*result) ? ExitCode::io : exit_code;
}

void add_rebuild(ToolCommand artifacts, Invocation& invocation) {
  ToolCommand command =
      artifacts.add_subcommand("rebuild", "Restore the files in a run's root from the log");
  const auto options = std::make_shared<ArtifactsOptions>();
  command.add_option("RUN", options->run_id, "The run's id, its end, or `last`").required();
  command.footer(
      "Missing and changed files are written again, with the same bytes; nothing is\n"
      "removed. Files in a job's workspace are not included.\n\n"
      "Examples:\n"
      "  signalbox artifacts rebuild \"$run\"\n"
      "  signalbox artifacts rebuild \"$run\" --json | jq -r '.result.files[].path'");
  command.action([options, &invocation] { return call(invocation, *options, /*check=*/false); });
}

void add_artifacts_list(ToolCommand artifacts, Invocation& invocation) {
  ToolCommand command = artifacts.add_subcommand(
      "list", "The files that belong in a run's root, and whether they are present");
  const auto options = std::make_shared<ArtifactsOptions>();
  command.add_option("RUN", options->run_id, "The run's id, its end, or `last`").required();
  command.footer(
      "Examples:\n"
      "  signalbox artifacts list \"$run\"\n"
      "  signalbox artifacts list \"$run\" --json |\n"
      "    jq '.result.files[] | select(.found != \"same\")'");
  command.action([options, &invocation] { return call(invocation, *options, /*check=*/true); });
}

}  // namespace

void add_artifacts_command(ToolCommand app, Invocation& invocation) {
  ToolCommand artifacts = app.add_group("artifacts", "The files in a run's root: list, rebuild");
  artifacts.footer(
      "Examples:\n"
      "  signalbox artifacts list \"$run\"\n"
      "  signalbox artifacts rebuild \"$run\"");
  add_artifacts_list(artifacts, invocation);
  add_rebuild(artifacts, invocation);
}

}  // namespace signalbox
