// `signalbox run diff`: what a run has changed in its repository.
#include <memory>
#include <optional>
#include <string>

#include <unistd.h>

#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/commands/whole_change.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct DiffOptions {
  std::string run_id;
  std::optional<std::string> path;
};

ExitCode diff(const Invocation& invocation, const DiffOptions& options) {
  json::object params{{"run_id", options.run_id}};
  set_param(params, "path", options.path);
  const auto change = read_whole_change(invocation, std::move(params));
  // Unchanged for a program, as `git apply` needs it.
  if (change && !invocation.json && !terminal_of(STDOUT_FILENO).columns) {
    write_out(text_at(*change, "text"));
    return ExitCode::ok;
  }
  return answer(invocation, change, [](const json::object& shown, const Terminal&) {
    const std::string text = text_at(shown, "text");
    return text.empty() ? std::string("Nothing is changed.\n") : text;
  });
}

}  // namespace

void add_run_diff_command(ToolCommand run, Invocation& invocation) {
  ToolCommand command =
      run.add_subcommand("diff", "What a run has changed: in its worktree, or later in its branch");
  const auto options = std::make_shared<DiffOptions>();
  command.add_option("RUN", options->run_id, "The run's id, its end, or `last`").required();
  command.add_option("--path", options->path, "Only this file or directory");
  command.footer(
      "It is shown whole, however long it is, and files that .gitattributes calls binary\n"
      "are shown as text.\n\n"
      "Examples:\n"
      "  signalbox run diff \"$run\" | less\n"
      "  signalbox run diff \"$run\" | git apply --check\n"
      "  signalbox run diff \"$run\" --json | jq '.result | {source, files, added}'");
  command.action([options, &invocation] { return diff(invocation, *options); });
}

}  // namespace signalbox
