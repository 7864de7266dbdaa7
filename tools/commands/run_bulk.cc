#include "tools/commands/run_bulk.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include <unistd.h>

#include "domain/refusals.h"
#include "domain/try.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_table.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::int64_t bulk_page_rows = 500;
constexpr std::size_t batch_bytes_max = 64;  // a command's id has the run's beside it

// Adds the runs of one status to `runs`.
Called<void> add_runs_of(const Invocation& invocation, const RunSelection& selection,
                         const std::string& status, json::array& runs) {
  json::object params{{"status", status}, {"limit", bulk_page_rows}};
  set_param(params, "project", selection.project);
  set_param(params, "label", selection.label);
  set_param(params, "since", selection.since);
  set_param(params, "until", selection.until);
  for (;;) {
    const auto page = TRY(call_server(invocation, "run.list", params));
    for (const json::value& run : array_at(page, "runs")) runs.push_back(run);
    if (runs.size() > bulk_runs_max) {
      return tl::unexpected(
          usage_error("more than " + std::to_string(bulk_runs_max) + " runs match; select fewer",
                      {"signalbox run list --help"}));
    }
    const std::string cursor = text_at(page, "next_cursor");
    if (cursor.empty()) return {};
    params["cursor"] = cursor;
  }
}

// Returns the selected runs that the action applies to. The list stays as it is from now on.
Called<json::array> selected_runs(const Invocation& invocation, const RunSelection& selection,
                                  const BulkAction& action) {
  std::vector<std::string> statuses = action.statuses;
  if (selection.status) {
    if (std::find(statuses.begin(), statuses.end(), *selection.status) == statuses.end()) {
      return tl::unexpected(
          usage_error("run " + action.verb + " doesn't apply to a run that is " + *selection.status,
                      {"signalbox run list --status " + shell_word(*selection.status)}));
    }
    statuses = {*selection.status};
  }
  json::array runs;
  for (const std::string& status : statuses) {
    TRY(add_runs_of(invocation, selection, status, runs));
  }
  return runs;
}

std::string view_selected(const json::array& runs, const Terminal& terminal) {
  TextTable table({TextTable::ids("run"), {"status"}, {"goal"}});
  for (const json::value& each : runs) {
    const json::object& run = each.get_object();
    table.add({{text_at(run, "run_id"), Style::strong},
               {text_at(run, "status"), style_of_status(text_at(run, "status"))},
               {text_at(run, "goal")}});
  }
  return table.text(terminal);
}

std::string counted(std::size_t runs) {
  return std::to_string(runs) + (runs == 1 ? " run" : " runs");
}

// Returns whether the person wants it. Elsewhere than on a terminal, --yes has to say so.
Called<bool> confirmed(const Invocation& invocation, const RunSelection& selection,
                       const BulkAction& action, const json::array& runs) {
  if (selection.yes || runs.empty()) return true;
  if (invocation.json || ::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) {
    return tl::unexpected(
        usage_error("this would " + action.verb + " " + counted(runs.size()) +
                        "; --yes does it without a question, --dry-run shows them",
                    {"signalbox run " + action.verb + " --all --dry-run"}));
  }
  write_out(view_selected(runs, terminal_of(STDOUT_FILENO)) + action.verb + " " +
            counted(runs.size()) + "? [y/N] ");
  std::string line;
  return std::getline(std::cin, line) && (line == "y" || line == "yes");
}

json::object result_of(const json::array& runs, const std::string& batch) {
  json::object result;
  result["batch"] = batch;
  result["total"] = runs.size();
  result["done"] = 0;
  result["refused"] = 0;
  result["runs"].emplace_array();
  return result;
}

// Applies the action to each run. A run that has changed since it was listed is refused by itself.
Called<json::object> apply_to_each(const Invocation& invocation, const BulkAction& action,
                                   const json::array& runs, const std::string& batch) {
  json::object result = result_of(runs, batch);
  std::size_t done = 0;
  std::size_t refused = 0;
  for (const json::value& each : runs) {
    const std::string run_id = text_at(each.get_object(), "run_id");
    json::object params = action.params;
    params["run_id"] = run_id;
    params["command_id"] = batch + "/" + run_id;
    auto answered = call_server(invocation, action.method, std::move(params));
    json::object row{{"run_id", run_id}};
    if (answered) {
      ++done;
      row["status"] = text_at(*answered, "status");
    } else {
      // Without a server the rest is left: the same batch goes on later.
      if (answered.error().exit_code == ExitCode::unreachable) {
        return tl::unexpected(answered.error());
      }
      ++refused;
      row["error"] = answered.error().error;
    }
    result["runs"].as_array().push_back(std::move(row));
  }
  result["done"] = done;
  result["refused"] = refused;
  return result;
}

std::string view_applied(const json::object& result, const Terminal&) {
  std::string text;
  for (const json::value& each : array_at(result, "runs")) {
    const json::object& run = each.get_object();
    if (!run.contains("error")) continue;
    text += text_at(run, "run_id") + "  " + text_at(object_at(run, "error"), "message") + "\n";
  }
  return text + text_at(result, "done") + " of " + text_at(result, "total") + " runs done, " +
         text_at(result, "refused") + " refused; batch " + text_at(result, "batch") + "\n";
}

std::string new_batch() {
  return "batch-" + std::to_string(wall_clock_ns()) + "-" + std::to_string(::getpid());
}

}  // namespace

void add_run_selection(ToolCommand command, RunSelection& selection) {
  command.add_flag("--all", selection.all, "All runs that the options below select");
  command.add_option("--status", selection.status, "With --all: only runs of this status");
  command.add_option("--project", selection.project, "With --all: only runs of this project");
  command.add_option("--label", selection.label, "With --all: only runs with this label")
      .type_name("NAME=VALUE");
  command.add_option("--since", selection.since, "With --all: only those started since then")
      .type_name("RFC3339");
  command.add_option("--until", selection.until, "With --all: only those started before then")
      .type_name("RFC3339");
  command.add_flag("--dry-run", selection.dry_run, "With --all: show the runs, change nothing");
  command.add_flag("--yes", selection.yes, "With --all: don't ask");
  command.add_option("--batch", selection.batch,
                     "With --all: the batch to go on with, as it was printed");
  for (const char* option : {"--status", "--project", "--label", "--since", "--until", "--dry-run",
                             "--yes", "--batch"}) {
    command.needs(option, "--all");
  }
}

Called<void> require_run_or_all(const RunSelection& selection, const std::string& run_id,
                                const std::string& verb) {
  if (selection.all != !run_id.empty()) return {};
  return tl::unexpected(usage_error(
      selection.all ? "name a run or give --all, not both" : "name a run, or give --all",
      {"signalbox run " + verb + " --help"}));
}

ExitCode apply_to_all(const Invocation& invocation, const RunSelection& selection,
                      const BulkAction& action) {
  if (selection.batch && selection.batch->size() > batch_bytes_max) {
    return answer(invocation, tl::unexpected(usage_error("--batch is too long")), view_applied);
  }
  const auto runs = selected_runs(invocation, selection, action);
  if (!runs) return answer(invocation, tl::unexpected(runs.error()), view_applied);
  if (selection.dry_run) {
    json::object shown{{"dry_run", true}, {"total", runs->size()}, {"runs", *runs}};
    return answer(invocation, Called<json::object>(std::move(shown)),
                  [&runs](const json::object&, const Terminal& terminal) {
                    return view_selected(*runs, terminal) + counted(runs->size()) + "\n";
                  });
  }
  const auto wanted = confirmed(invocation, selection, action, *runs);
  if (!wanted) return answer(invocation, tl::unexpected(wanted.error()), view_applied);
  if (!*wanted) {
    write_out("nothing was changed\n");
    return ExitCode::refused;
  }
  const auto result =
      apply_to_each(invocation, action, *runs, selection.batch.value_or(new_batch()));
  const ExitCode shown = answer(invocation, result, view_applied);
  if (!result || shown != ExitCode::ok) return shown;
  return number_at(*result, "refused") == 0 ? ExitCode::ok : ExitCode::refused;
}

}  // namespace signalbox
