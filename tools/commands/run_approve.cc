// `signalbox run approve`: shows what waits for a decision, one by one with its change, and asks.
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/commands/waiting_items.h"
#include "tools/commands/whole_change.h"

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
  std::size_t refused = 0;  // by the server: decided meanwhile, for example
  bool quit = false;
};

// The beginning of a change, as it is shown before the question.
struct ShownChange {
  std::string summary;   // empty if there is nothing to count
  std::string text;      // or why none is shown
  std::string left_out;  // what the person doesn't see; empty if there is no more to show
  std::string sha256;    // of the whole change; empty if none is shown
};

// Returns the first lines of the text; the number of those that follow them is in `left`.
std::string first_lines(const std::string& text, std::size_t lines_max, std::size_t& left) {
  std::size_t end = 0;
  for (std::size_t line = 0; line < lines_max && end < text.size(); ++line) {
    const std::size_t line_end = text.find('\n', end);
    end = line_end == std::string::npos ? text.size() : line_end + 1;
  }
  left = static_cast<std::size_t>(
      std::count(text.begin() + static_cast<std::ptrdiff_t>(end), text.end(), '\n'));
  if (end < text.size() && text.back() != '\n') ++left;
  return text.substr(0, end);
}

// Says how much of the change isn't shown. Of one that is cut, the lines aren't known.
std::string left_out_of(const json::object& change, std::size_t lines_left) {
  if (true_at(change, "is_cut")) {
    return "THIS IS NOT THE WHOLE CHANGE: it has " + text_at(change, "end") +
           " bytes, and only its first lines are shown.\n";
  }
  if (lines_left == 0) return {};
  return "THIS IS NOT THE WHOLE CHANGE: " + number_of(lines_left, "more line") + "\n";
}

// Returns the beginning of the run's change, or why there is none to show.
ShownChange change_of(const Invocation& invocation, const std::string& run_id) {
  const auto change = call_server(invocation, "run.diff", {{"run_id", run_id}});
  if (!change) {
    const std::string why = text_at(printable_fields(change.error().error), "message");
    return {{}, "NO CHANGE IS SHOWN: " + why + "\n", {}, {}};
  }
  const json::object printed = printable_fields(*change);
  std::size_t left = 0;
  ShownChange shown;
  shown.sha256 = text_at(printed, "sha256");
  shown.text = first_lines(text_at(printed, "text"), change_lines_shown_max, left);
  shown.left_out = left_out_of(printed, left);
  if (shown.text.empty()) shown.text = "(nothing is changed)\n";
  if (!text_at(printed, "files").empty()) {
    shown.summary = number_of(number_at(printed, "files"), "file") + " changed, " +
                    number_of(number_at(printed, "added"), "line") + " added, " +
                    number_of(number_at(printed, "removed"), "line") + " removed\n";
  }
  return shown;
}

void show_beginning(const Invocation& invocation, const ShownChange& change,
                    const std::string& run_id) {
  write_out(change.summary + "\n" + change.text + "\n" + change.left_out);
  if (change.left_out.empty()) return;
  write_out("`d` shows all of it here, and this page by page:\n  " +
            with_connection("signalbox run diff " + run_id, invocation.connection()) + " | less\n");
}

// Shows all of the change, which is then the one that is decided.
void show_whole_change(const Invocation& invocation, const std::string& run_id,
                       ShownChange& change) {
  const auto whole = read_whole_change(invocation, {{"run_id", run_id}});
  if (!whole) {
    write_out("NO CHANGE IS SHOWN: " + text_at(printable_fields(whole.error().error), "message") +
              "\n");
    return;
  }
  write_out(text_at(printable_fields(*whole), "text"));
  change.sha256 = text_at(*whole, "sha256");
}

// Returns whether the change still is the one that was shown; else shows it anew.
bool is_as_shown(const Invocation& invocation, const std::string& run_id, ShownChange& change) {
  ShownChange now = change_of(invocation, run_id);
  if (now.sha256 == change.sha256) return true;
  change = std::move(now);
  write_out("\nNothing is decided: the change isn't the one any more that was shown.\n");
  show_beginning(invocation, change, run_id);
  return false;
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
  const std::string run_id = text_at(item, "run_id");
  ShownChange change = change_of(invocation, run_id);
  write_out("\n" + text_at(shown, "subject") + "\n" + text_at(shown, "text") + "\nrun " +
            text_at(shown, "run_id") + "\n");
  for (const std::string& finding : findings_of(shown)) write_out(finding + "\n");
  show_beginning(invocation, change, run_id);
  for (;;) {
    const auto answer = ask("[a]pprove, [r]eject, [d]iff in full, [s]kip or [q]uit? ");
    if (!answer || *answer == "q") {
      made.quit = true;
      return;
    }
    if (*answer == "a") {
      if (!is_as_shown(invocation, run_id, change)) continue;
      return decide_question(invocation, item, "approve", "", made);
    }
    if (*answer == "s") return;
    if (*answer == "d") show_whole_change(invocation, run_id, change);
    if (*answer != "r") continue;
    const auto reason = ask("why? ");
    if (reason) return decide_question(invocation, item, "reject", *reason, made);
  }
}

// Returns the questions that are asked: of one run, or all of them.
std::vector<json::object> questions_in(const json::object& inbox,
                                       const std::optional<std::string>& run_id) {
  std::vector<json::object> questions;
  for (const json::value& each : array_at(inbox, "items")) {
    const json::object& item = each.as_object();
    if (!run_id || text_at(item, "run_id") == *run_id) questions.push_back(item);
  }
  return questions;
}

// Names the commands that decide the first question, as they can be pasted.
CallError not_a_terminal(const std::vector<json::object>& questions) {
  std::vector<std::string> commands{"signalbox inbox --kind approval"};
  if (!questions.empty()) {
    for (const json::value& each : array_at(questions.front(), "next_commands")) {
      commands.push_back(scalar_text(each));
    }
  }
  return usage_error("run approve asks on a terminal; elsewhere decide each question by itself",
                     std::move(commands));
}

ExitCode approve(const Invocation& invocation, const ApproveOptions& options) {
  const View view = [](const json::object&, const Terminal&) { return std::string(); };
  json::object only;
  set_param(only, "run_id", options.run_id);
  if (auto whole = complete_ids(invocation, only); !whole) {
    return answer(invocation, tl::unexpected(std::move(whole.error())), view);
  }
  const AskPage ask_page = [&invocation](json::object params) {
    return call_server(invocation, "attention.list", std::move(params));
  };
  // Nobody decides about work that the answer says nothing of.
  const auto inbox = read_waiting_items({"approval"}, ask_page, attention_proposals_max);
  if (!inbox) return answer(invocation, inbox, view);
  std::optional<std::string> run_id;
  if (options.run_id) run_id = text_at(only, "run_id");
  const std::vector<json::object> questions = questions_in(*inbox, run_id);
  if (invocation.json || ::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) {
    return answer(invocation, tl::unexpected(not_a_terminal(questions)), view);
  }
  Decisions made;
  for (const json::object& question : questions) {
    if (!made.quit) decide_item(invocation, question, made);
  }
  if (questions.empty()) {
    write_out(run_id ? "The run doesn't wait for a decision.\n"
                     : "Nothing waits for a decision.\n");
    return run_id ? ExitCode::refused : ExitCode::ok;
  }
  std::string summary =
      std::to_string(made.approved) + " approved, " + std::to_string(made.rejected) + " rejected, ";
  if (made.refused > 0) summary += std::to_string(made.refused) + " not taken, ";
  write_out("\n" + summary +
            std::to_string(questions.size() - made.approved - made.rejected - made.refused) +
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
      "It asks on a terminal. In a script, `run resume --decision` decides one\n"
      "question.\n\n"
      "Examples:\n"
      "  signalbox run approve\n"
      "  signalbox inbox --kind approval");
  command.action([options, &invocation] { return approve(invocation, *options); });
}

}  // namespace signalbox
