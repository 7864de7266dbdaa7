// `signalbox run diff`: what a run has changed in its repository.
#include <memory>
#include <optional>
#include <string>

#include <unistd.h>

#include "domain/ids.h"
#include "domain/refusals.h"
#include "store/sha256.h"
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
  bool readable = false;
};

// Returns the command that gives the change as its bytes; empty for a worktree, where git would
// take its settings from what the run's agent wrote.
std::string exact_command(const Invocation& invocation, const json::object& change,
                          const DiffOptions& options) {
  const std::string run_id = text_at(change, "run_id");
  if (text_at(change, "source") == "artifact") {
    return "signalbox run artifact " + run_id + " change.patch";
  }
  const std::string head = text_at(change, "head");
  if (head.empty()) return {};
  const auto found = call_unchanged(invocation, "run.get", {{"run_id", run_id}});
  const std::string repository = found ? text_at(object_at(*found, "run"), "repository") : "";
  if (repository.empty()) return {};
  const std::string command = "git -C " + shell_word(repository) +
                              " diff --binary --no-ext-diff --no-textconv " +
                              text_at(change, "base") + " " + head;
  return options.path ? command + " -- " + shell_word(":(literal)" + *options.path) : command;
}

// A program such as `git apply` would write other bytes than the run did, and notice nothing.
CallError not_exact(const Invocation& invocation, const json::object& change,
                    const DiffOptions& options) {
  const std::string exact = exact_command(invocation, change, options);
  CallError error = io_error(
      std::string("the change has bytes that aren't UTF-8, so its text isn't the exact patch") +
      (exact.empty() ? "; once the work is committed, this says how to get it" : ""));
  json::array next;
  if (!exact.empty()) next.emplace_back(exact);
  next.emplace_back("signalbox run diff " + text_at(change, "run_id") +
                    (options.path ? " --path " + shell_word(*options.path) : "") +
                    " --readable | less");
  error.error["data"].as_object()["next_commands"] = std::move(next);
  return error;
}

std::string view_change(const json::object& shown, const Terminal&) {
  const std::string text = text_at(shown, "text");
  return text.empty() ? std::string("Nothing is changed.\n") : text;
}

ExitCode diff(const Invocation& invocation, const DiffOptions& options) {
  json::object params{{"run_id", options.run_id}};
  set_param(params, "path", options.path);
  const auto change = read_whole_change(invocation, std::move(params));
  // Unchanged for a program, as `git apply` needs it.
  if (change && !invocation.json && !terminal_of(STDOUT_FILENO).columns) {
    const std::string text = text_at(*change, "text");
    // The digest is that of the bytes, some of which the text may have replaced.
    if (!options.readable && to_hex(sha256(text)) != text_at(*change, "sha256")) {
      const CallError error = not_exact(invocation, *change, options);
      return answer(invocation, tl::unexpected(error), view_change);
    }
    write_out(text);
    return ExitCode::ok;
  }
  return answer(invocation, change, view_change);
}

}  // namespace

void add_run_diff_command(ToolCommand run, Invocation& invocation) {
  ToolCommand command =
      run.add_subcommand("diff", "What a run has changed: in its worktree, or later in its branch");
  const auto options = std::make_shared<DiffOptions>();
  command.add_option("RUN", options->run_id, "The run's id, its end, or `last`").required();
  command.add_option("--path", options->path, "Only this file or directory");
  command.add_flag("--readable", options->readable,
                   "Print it for a reader even if it has bytes that aren't UTF-8");
  command.footer(
      "The change is shown whole, however long it is; files that .gitattributes calls\n"
      "binary are shown as text. A program gets the exact patch, or nothing: text in\n"
      "another encoding than UTF-8 is refused, with the command that gives its bytes.\n\n"
      "Examples:\n"
      "  signalbox run diff \"$run\" | less\n"
      "  signalbox run diff \"$run\" | git apply --check\n"
      "  signalbox run diff \"$run\" --json | jq '.result | {source, files, added}'");
  command.action([options, &invocation] { return diff(invocation, *options); });
}

}  // namespace signalbox
