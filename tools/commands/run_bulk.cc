#include "tools/commands/run_bulk.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include <unistd.h>
#include <boost/json/serialize.hpp>

#include "domain/text_parts.h"
#include "domain/try.h"
#include "server/text/printable_text.h"
#include "server/text/separated_text.h"
#include "server/text/time_text.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_table.h"
#include "tools/cli/typed_command.h"
#include "tools/commands/run_batch.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::int64_t bulk_page_rows = 500;
constexpr std::size_t batch_bytes_max = 64;  // a command's id has a time and the run's beside it
constexpr std::size_t kept_goal_bytes_max = 200;

// Returns the command that lists the selected runs.
std::string list_command(const RunSelection& selection) {
  std::vector<std::string> words = run_filter_words(selection.filter);
  words.insert(words.begin(), {"signalbox", "run", "list"});
  return pasted_words(words);
}

// Adds the runs of these statuses to the batch. They are listed together, in the order of their
// starts: a run that changes between two lists of one status each would be in neither.
Called<void> add_runs_of(const Invocation& invocation, const RunSelection& selection,
                         const std::vector<std::string>& statuses, RunBatch& batch) {
  json::object params{{"status", json::array(statuses.begin(), statuses.end())},
                      {"limit", bulk_page_rows}};
  set_run_filter(params, selection.filter);
  for (;;) {
    const auto page = TRY(call_server(invocation, "run.list", params));
    for (const json::value& each : array_at(page, "runs")) {
      const json::object& run = each.as_object();
      json::object kept{
          {"run_id", text_at(run, "run_id")},
          {"status", text_at(run, "status")},
          {"goal", std::string(utf8_prefix(text_at(run, "goal"), kept_goal_bytes_max))}};
      if (run.contains("last_position")) kept["last_position"] = run.at("last_position");
      batch.runs.push_back(std::move(kept));
    }
    if (batch.runs.size() > bulk_runs_max) {
      return tl::unexpected(
          usage_error("more than " + std::to_string(bulk_runs_max) + " runs match; select fewer",
                      {list_command(selection)}));
    }
    const std::string cursor = text_at(page, "next_cursor");
    if (cursor.empty()) return {};
    params["cursor"] = cursor;
  }
}

// Returns the statuses that runs are selected by, each once.
Called<std::vector<std::string>> selected_statuses(const RunSelection& selection,
                                                   const BulkAction& action) {
  const std::vector<std::string>& asked = selection.filter.statuses;
  if (asked.empty()) return action.statuses;
  for (const std::string& status : asked) {
    if (std::ranges::find(action.statuses, status) != action.statuses.end()) continue;
    return tl::unexpected(usage_error("run " + action.verb + " doesn't apply to a run that is " +
                                          status + "; it applies to those that are " +
                                          comma_separated(action.statuses),
                                      {list_command(selection)}));
  }
  std::vector<std::string> selected;
  for (const std::string& status : action.statuses) {
    if (std::ranges::find(asked, status) != asked.end()) selected.push_back(status);
  }
  return selected;
}

// Returns what makes two commands the same, beginning with the line of the server.
Called<std::string> command_text(const Invocation& invocation, const RunSelection& selection,
                                 const BulkAction& action) {
  const auto server = TRY(invocation.server_address());
  return server.text() + "\n" + action.method + " " + json::serialize(action.params) + "\n" +
         pasted_words(run_filter_words(selection.filter));
}

// The list that the command is about was removed. Another one would have other runs.
CallError lost_batch(const Invocation& invocation, const std::string& batch) {
  return usage_error(
      "the list of " + batch + " isn't kept any more, or was made elsewhere: nothing is done",
      {typed_command(invocation, {"--dry-run"},
                     {{"--batch", true}, {"--yes", false}, {"--dry-run", false}})});
}

// A batch is asked for by its name again, by a timer for example, although nothing of it is left.
CallError finished_batch(const Invocation& invocation, const RunBatch& batch) {
  return usage_error("batch " + batch.id + " is finished: it had the " +
                         std::to_string(batch.runs.size()) + " runs that were listed at " +
                         clock_time(format_time(batch.made_at_ns), wall_clock_ns()) +
                         ", and each was tried; without a name, a new one begins",
                     {typed_command(invocation, {}, {{"--batch", true}})});
}

// Returns the frozen batch that the command goes on with, or else a new one of the runs that match
// now, which isn't stored yet. USAGE if the batch is finished.
Called<RunBatch> batch_of(const Invocation& invocation, const RunSelection& selection,
                          const BulkAction& action, const RunBatches& batches) {
  const auto statuses = TRY(selected_statuses(selection, action));
  const auto command = TRY(command_text(invocation, selection, action));
  auto frozen = TRY(batches.find(selection.batch, command, wall_clock_ns()));
  if (frozen && frozen->finished) return tl::unexpected(finished_batch(invocation, *frozen));
  if (frozen) return *std::move(frozen);
  if (selection.batch && is_new_batch_id(*selection.batch)) {
    return tl::unexpected(lost_batch(invocation, *selection.batch));
  }
  RunBatch batch;
  batch.id = selection.batch.value_or(new_batch_id(wall_clock_ns()));
  batch.command = command;
  batch.made_at_ns = wall_clock_ns();
  TRY(add_runs_of(invocation, selection, statuses, batch));
  return batch;
}

std::string view_selected(const json::array& runs, const Terminal& terminal) {
  TextTable table({TextTable::ids("run"), {"status"}, {"goal"}});
  for (const json::value& each : runs) {
    const json::object& run = each.as_object();
    table.add({{text_at(run, "run_id"), Style::strong},
               {text_at(run, "status"), style_of_status(text_at(run, "status"))},
               {text_at(run, "goal")}});
  }
  return table.text(terminal);
}

// Returns what is done to fewer than all of the runs; or "".
std::string exceptions_of(const BulkAction& action) {
  if (!action.is_about_failure) return {};
  return "Runs of cards among these are left as they are: see `signalbox card list`.\n";
}

// Returns what a person has to know of the list beside its runs.
std::string notes_of(const RunBatch& batch) {
  std::string notes;
  if (batch.goes_on) {
    notes += "This goes on with the batch " + printable(batch.id) +
             ", with the runs that were listed at " +
             clock_time(format_time(batch.made_at_ns), wall_clock_ns()) + ".\n";
  }
  return notes;
}

// Returns whether the person wants it. Elsewhere than on a terminal, --yes has to say so.
Called<bool> confirmed(const Invocation& invocation, const RunSelection& selection,
                       const BulkAction& action, const RunBatch& batch) {
  const json::array& runs = batch.runs;
  if (selection.yes || runs.empty()) {
    if (!invocation.json) write_message(notes_of(batch));
    return true;
  }
  if (invocation.json || ::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) {
    return tl::unexpected(
        usage_error("this would " + action.verb + " " + number_of(runs.size(), "run") +
                        "; --yes does it without a question, --dry-run shows them",
                    {typed_command(invocation, {"--dry-run"})}));
  }
  const Terminal terminal = terminal_of(STDOUT_FILENO);
  write_out(view_selected(runs, terminal) +
            broken_message(exceptions_of(action) + notes_of(batch), terminal) + action.verb + " " +
            number_of(runs.size(), "run") + "? [y/N] ");
  std::string line;
  return std::getline(std::cin, line) && (line == "y" || line == "yes");
}

json::object result_of(const RunBatch& batch) {
  json::object result;
  result["batch"] = batch.id;
  result["goes_on"] = batch.goes_on;
  result["total"] = batch.runs.size();
  result["of_cards"] = 0;
  result["done"] = 0;
  result["replayed"] = 0;
  result["refused"] = 0;
  result["runs"].emplace_array();
  return result;
}

// Returns whether the failure is one of the server, of the way to it or of the caller's rights, and
// not of the run: then the next run has it, too.
bool ends_batch(const CallError& error) {
  return error.exit_code == ExitCode::unreachable || error.exit_code == ExitCode::try_again ||
         error.exit_code == ExitCode::io || error.exit_code == ExitCode::not_allowed;
}

// Returns the failure with the command that goes on with the batch.
CallError interrupted_batch(const Invocation& invocation, const RunSelection& selection,
                            CallError error, const RunBatch& batch, std::size_t tried) {
  std::vector<std::string> more;
  if (!selection.batch) more = {"--batch", batch.id};
  if (!selection.yes) more.emplace_back("--yes");
  error.error["message"] = std::to_string(tried) + " of " + number_of(batch.runs.size(), "run") +
                           " tried; the rest is left: " + message_of(error);
  json::array next{typed_command(invocation, more)};
  for (std::string& command : next_commands_of(error)) next.emplace_back(std::move(command));
  json::value& data = error.error["data"];
  if (!data.is_object()) data.emplace_object();
  data.as_object()["next_commands"] = std::move(next);
  return error;
}

// Returns whether the run was so already: by the same command or, meanwhile, by another one.
bool is_without_effect(const json::object& answered) {
  return true_at(answered, "replayed") ||
         (answered.contains("changed") && !true_at(answered, "changed"));
}

// Applies the action to each run. A run that has changed since it was listed is refused by itself.
Called<json::object> apply_to_each(const Invocation& invocation, const RunSelection& selection,
                                   const BulkAction& action, const RunBatch& batch) {
  json::object result = result_of(batch);
  std::size_t done = 0;
  std::size_t replayed = 0;  // nothing is done now
  std::size_t refused = 0;
  std::size_t of_cards = 0;  // left as they are: it is the card that is tried again
  for (const json::value& each : batch.runs) {
    const json::object& run = each.as_object();
    const std::string run_id = text_at(run, "run_id");
    json::object params = action.params;
    params["run_id"] = run_id;
    if (action.is_about_failure && run.contains("last_position")) {  // an older list has none
      params["failed_position"] = run.at("last_position");
    }
    params["command_id"] = batch.command_id(run_id);
    auto answered = call_server(invocation, action.method, std::move(params));
    json::object row{{"run_id", run_id}};
    if (answered) {
      const bool was_done = is_without_effect(*answered);
      ++(was_done ? replayed : done);
      row["replayed"] = was_done;
      row["status"] = text_at(*answered, "status");
    } else {
      if (ends_batch(answered.error())) {
        return tl::unexpected(interrupted_batch(invocation, selection, std::move(answered.error()),
                                                batch, done + replayed + refused + of_cards));
      }
      const bool is_of_card = code_of(answered.error()) == "CARD_BUSY";
      ++(is_of_card ? of_cards : refused);
      if (is_of_card) continue;
      row["error"] = answered.error().error;
    }
    result["runs"].as_array().push_back(std::move(row));
  }
  result["done"] = done;
  result["replayed"] = replayed;
  result["refused"] = refused;
  result["of_cards"] = of_cards;
  return result;
}

std::string view_applied(const json::object& result, const Terminal&) {
  std::string text;
  for (const json::value& each : array_at(result, "runs")) {
    const json::object& run = each.as_object();
    if (!run.contains("error")) continue;
    text += text_at(run, "run_id") + "  " + text_at(object_at(run, "error"), "message") + "\n";
  }
  if (number_at(result, "of_cards") > 0) {
    text += number_of(number_at(result, "of_cards"), "run") +
            " of cards left out: it is the card that is tried again, by `signalbox card unblock`\n";
  }
  text +=
      text_at(result, "done") + " of " + number_of(number_at(result, "total"), "run") + " done, ";
  if (number_at(result, "replayed") > 0) text += text_at(result, "replayed") + " done before, ";
  return text + text_at(result, "refused") + " refused; batch " + text_at(result, "batch") + "\n";
}

// Freezes the list, applies the action to each of its runs, and notes that all were tried.
Called<json::object> apply_batch(const Invocation& invocation, const RunSelection& selection,
                                 const BulkAction& action, const RunBatches& batches,
                                 RunBatch batch) {
  if (batch.runs.empty()) return result_of(batch);
  if (!batch.goes_on || batch.shown_only) {
    batch.shown_only = false;
    TRY(batches.write(batch));
  }
  auto result = TRY(apply_to_each(invocation, selection, action, batch));
  batch.finished = true;
  TRY(batches.write(batch));
  return result;
}

// Freezes the list that is shown, so that what is applied by its name later is what was seen.
Called<json::object> freeze_shown(const Invocation& invocation, const RunSelection& selection,
                                  const RunBatches& batches, RunBatch batch) {
  json::object result{{"dry_run", true},
                      {"batch", nullptr},
                      {"total", batch.runs.size()},
                      {"runs", batch.runs},
                      {"next_commands", json::array()}};
  if (batch.runs.empty()) return result;
  if (!batch.goes_on) {
    batch.shown_only = true;
    TRY(batches.write(batch));
  }
  std::vector<std::string> more;
  if (!selection.batch) more = {"--batch", batch.id};
  if (!selection.yes) more.emplace_back("--yes");
  result["batch"] = batch.id;
  result["next_commands"] = json::array{typed_command(invocation, more, {{"--dry-run", false}})};
  return result;
}

// Says at the end which command applies the list.
std::string view_dry_run(const BulkAction& action, const RunBatch& batch,
                         const json::object& result, const Terminal& terminal) {
  std::string text = view_selected(batch.runs, terminal) +
                     broken_message(exceptions_of(action) + notes_of(batch), terminal) +
                     number_of(batch.runs.size(), "run") + "\n";
  for (const json::value& command : array_at(result, "next_commands")) {
    text += "This does it to exactly these, within a day:\n  " + scalar_text(command) + "\n";
  }
  return text;
}

}  // namespace

void add_run_selection(ToolCommand command, RunSelection& selection) {
  command.add_flag("--all", selection.all, "All runs that the options below select");
  add_run_filter_options(command, selection.filter, "With --all: only runs");
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
  const auto batches = RunBatches::open();
  if (!batches) return answer(invocation, tl::unexpected(batches.error()), view_applied);
  const auto batch = batch_of(invocation, selection, action, *batches);
  if (!batch) return answer(invocation, tl::unexpected(batch.error()), view_applied);
  if (selection.dry_run) {
    return answer(invocation, freeze_shown(invocation, selection, *batches, *batch),
                  [&batch, &action](const json::object& result, const Terminal& terminal) {
                    return view_dry_run(action, *batch, result, terminal);
                  });
  }
  const auto wanted = confirmed(invocation, selection, action, *batch);
  if (!wanted) return answer(invocation, tl::unexpected(wanted.error()), view_applied);
  if (!*wanted) {
    write_out("nothing was changed\n");
    return ExitCode::refused;
  }
  const auto result = apply_batch(invocation, selection, action, *batches, *batch);
  const ExitCode shown = answer(invocation, result, view_applied);
  if (!result || shown != ExitCode::ok) return shown;
  return number_at(*result, "refused") == 0 ? ExitCode::ok : ExitCode::refused;
}

}  // namespace signalbox
