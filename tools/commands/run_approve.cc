// `signalbox run approve`: shows what waits for a decision, one by one with its change, and asks.
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <unistd.h>

#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Lines of a change that are shown before the question; `d` shows all of them.
constexpr std::size_t change_lines_shown_max = 60;

struct ApproveOptions {
  std::optional<std::string> run_id;
};

struct Decisions {
  std::size_t approved = 0;
  std::size_t rejected = 0;
  std::size_t skipped = 0;
  std::size_t refused = 0;  // by the server
  bool quit = false;
};

// Returns the first lines of the text, and the number of lines that are left out.
std::string first_lines(const std::string& text, std::size_t lines_max) {
  std::size_t end = 0;
  for (std::size_t line = 0; line < lines_max && end < text.size(); ++line) {
    const std::size_t line_end = text.find('\n', end);
    end = line_end == std::string::npos ? text.size() : line_end + 1;
  }
  const auto left = std::count(text.begin() + static_cast<std::ptrdiff_t>(end), text.end(), '\n');
  if (left == 0) return text;
  return text.substr(0, end) + "… " + std::to_string(left) + " more lines\n";
}

// Returns the run's change, or why there is none to show.
std::string change_of(const Invocation& invocation, const std::string& run_id) {
  const auto change = call_server(invocation, "run.diff", {{"run_id", run_id}});
  if (!change) return "(no change is shown: " + text_at(change.error().error, "message") + ")\n";
  const json::object shown = printable_fields(*change);
  const std::string text = text_at(shown, "text");
  return text.empty() ? "(nothing is changed)\n" : text;
}

// Returns the next line that the person types; nullopt at the end of the input.
std::optional<std::string> ask(const std::string& question) {
  write_out(question);
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  return line;
}

// Decides one question. The command's id is that of the question, so that a repeated call decides
// nothing twice.
void decide_question(const Invocation& invocation, const json::object& item,
                     const std::string& decision, const std::string& reason, Decisions& made) {
  const std::string run_id = text_at(item, "run_id");
  json::object params{
      {"run_id", run_id}, {"station", text_at(item, "station")}, {"decision", decision}};
  std::string command_id = decision + "/" + run_id;
  if (item.contains("asked")) {
    params["asked"] = item.at("asked");
    command_id += "/" + text_at(item, "asked");
    params["command_id"] = command_id;
  }
  if (!reason.empty()) params["reason"] = reason;
  const auto result = call_server(invocation, "run.resume", std::move(params));
  if (!result) {
    ++made.refused;
    write_out("not taken: " + text_at(printable_fields(result.error().error), "message") + "\n");
    return;
  }
  ++(decision == "approve" ? made.approved : made.rejected);
  write_out(decision == "approve" ? "approved\n" : "rejected\n");
}

void decide_item(const Invocation& invocation, const json::object& item, Decisions& made) {
  const json::object shown = printable_fields(item);
  const std::string change = change_of(invocation, text_at(item, "run_id"));
  write_out("\n" + text_at(shown, "subject") + "\n" + text_at(shown, "text") + "\nrun " +
            text_at(shown, "run_id") + "\n\n" + first_lines(change, change_lines_shown_max) + "\n");
  for (;;) {
    const auto answer = ask("[a]pprove, [r]eject, [d]iff in full, [s]kip or [q]uit? ");
    if (!answer || *answer == "q") {
      made.quit = true;
      return;
    }
    if (*answer == "a") return decide_question(invocation, item, "approve", "", made);
    if (*answer == "s") {
      ++made.skipped;
      return;
    }
    if (*answer == "d") write_out(change);
    if (*answer != "r") continue;
    const auto reason = ask("why? ");
    if (reason) return decide_question(invocation, item, "reject", *reason, made);
  }
}

CallError not_a_terminal() {
  return usage_error("run approve asks on a terminal; elsewhere name the run and its question",
                     {"signalbox inbox --kind approval",
                      "signalbox run resume RUN --decision approve --asked POSITION",
                      "signalbox run resume RUN --decision reject --asked POSITION --reason WHY"});
}

ExitCode approve(const Invocation& invocation, const ApproveOptions& options) {
  const View view = [](const json::object&, const Terminal&) { return std::string(); };
  if (invocation.json || ::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) {
    return answer(invocation, tl::unexpected(not_a_terminal()), view);
  }
  json::object only;
  set_param(only, "run_id", options.run_id);
  if (auto whole = complete_ids(invocation, only); !whole) {
    return answer(invocation, tl::unexpected(std::move(whole.error())), view);
  }
  const auto inbox = call_server(invocation, "attention.list",
                                 {{"kinds", json::array{"approval"}}, {"limit", 500}});
  if (!inbox) return answer(invocation, inbox, view);
  Decisions made;
  std::size_t found = 0;
  for (const json::value& each : array_at(*inbox, "items")) {
    const json::object& item = each.get_object();
    if (options.run_id && text_at(item, "run_id") != text_at(only, "run_id")) continue;
    ++found;
    if (!made.quit) decide_item(invocation, item, made);
  }
  if (found == 0) {
    write_out("Nothing waits for a decision.\n");
    return ExitCode::ok;
  }
  write_out("\n" + std::to_string(made.approved) + " approved, " + std::to_string(made.rejected) +
            " rejected, " + std::to_string(found - made.approved - made.rejected) +
            " still waiting\n");
  return made.refused == 0 ? ExitCode::ok : ExitCode::refused;
}

}  // namespace

void add_run_approve_command(ToolCommand run, Invocation& invocation) {
  ToolCommand command = run.add_subcommand(
      "approve", "Decide what waits for a decision, one by one, each with its change");
  const auto options = std::make_shared<ApproveOptions>();
  command.add_option("RUN", options->run_id,
                     "Only this run, by its id, its end, or `last`; default: all that wait");
  command.footer(
      "It asks on a terminal. In a script, `run resume --decision` decides one question.\n\n"
      "Examples:\n"
      "  signalbox run approve\n"
      "  signalbox inbox --kind approval");
  command.action([options, &invocation] { return approve(invocation, *options); });
}

}  // namespace signalbox
