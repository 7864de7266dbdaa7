// `signalbox inbox`: what waits for a person, once or after each change, and a command of the
// user's for each new item.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>
#include <boost/json/serialize.hpp>

#include "server/platform/child_process.h"
#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/event_stream.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Time for the command of one item; then it is ended.
constexpr std::int64_t inbox_command_ms_max = 60'000;
constexpr std::int64_t inbox_command_grace_ms_max = 2000;
// Where nothing is cut, because the output isn't a terminal.
constexpr std::size_t uncut_columns = 1'000'000;

struct InboxOptions {
  std::vector<std::string> kinds;
  std::uint32_t limit = 100;
  bool follow = false;
  std::optional<std::string> command;
};

Called<json::object> read_inbox(const Invocation& invocation, const InboxOptions& options) {
  json::object params{{"limit", options.limit}};
  if (!options.kinds.empty()) {
    params["kinds"] = json::array(options.kinds.begin(), options.kinds.end());
  }
  return call_server(invocation, "attention.list", std::move(params));
}

// Returns what an item is about, for a person.
std::string subject_of(const json::object& item) {
  for (const char* field : {"subject", "loop", "project", "run_id"}) {
    if (const std::string text = text_at(item, field); !text.empty()) return text;
  }
  return {};
}

std::string view_item(const json::object& item, const Terminal& terminal, std::int64_t now_ns) {
  const std::size_t columns = terminal.columns.value_or(uncut_columns);
  std::string kind = text_at(item, "kind");
  std::replace(kind.begin(), kind.end(), '_', ' ');
  std::string title = subject_of(item);
  if (item.contains("patch_bytes")) {
    title += " (a patch of " + std::to_string(number_at(item, "patch_bytes")) + " bytes)";
  }
  const std::string age = short_age(text_at(item, "since"), now_ns);
  std::string text = styled(terminal, Style::strong, kind);
  std::size_t used = kind.size();
  if (!age.empty()) {
    text += "  " + styled(terminal, Style::faint, age);
    used += 2 + age.size();
  }
  if (!title.empty() && used + 2 < columns) text += "  " + cut(title, columns - used - 2);
  text += "\n  " + cut(text_at(item, "text"), columns - 2) + "\n";
  for (const json::value& command : array_at(item, "next_commands")) {
    text += "  $ " + scalar_text(command) + "\n";
  }
  return text;
}

std::string view_inbox(const json::object& inbox, const Terminal& terminal) {
  const json::array& items = array_at(inbox, "items");
  const std::uint64_t total = number_at(inbox, "total");
  if (total == 0) return "Nothing waits for you.\n";
  const std::int64_t now_ns = wall_clock_ns();
  std::string text;
  for (const json::value& item : items) text += view_item(item.get_object(), terminal, now_ns);
  if (total > items.size()) {
    text += std::to_string(total - items.size()) + " more: signalbox inbox --limit 500\n";
  }
  return text;
}

// Runs the user's command for items that it wasn't run for yet.
class InboxCommand {
 public:
  explicit InboxCommand(std::optional<std::string> command) : command_(std::move(command)) {}

  void run_for_new(const json::object& inbox) {
    if (!command_) return;
    std::set<std::string> present;
    for (const json::value& each : array_at(inbox, "items")) {
      const std::string name = identity_of(each.get_object());
      present.insert(name);
      if (!done_.contains(name)) run_for(each.get_object());
    }
    // An item that comes again later is a new one.
    done_ = std::move(present);
  }

 private:
  static std::string identity_of(const json::object& item) {
    std::string identity;
    for (const char* field : {"kind", "since", "run_id", "card_id", "loop", "project", "asked"}) {
      identity += text_at(item, field) + '\n';
    }
    // Conditions of the service may have no time; two of them differ by their text.
    if (text_at(item, "kind") == "service") identity += text_at(item, "text");
    return identity;
  }

  void run_for(const json::object& item) const {
    ChildProcess::Settings settings;
    settings.argv = {"/bin/sh", "-c", *command_};
    settings.input = json::serialize(item) + "\n";
    settings.stdout_descriptor = STDOUT_FILENO;
    settings.stderr_descriptor = STDERR_FILENO;
    auto child = ChildProcess::start(std::move(settings));
    if (!child) {
      write_message(std::string("the command can't be started: ") + std::strerror(child.error()) +
                    std::string("\n"));
    } else if (!child->await_end(ChildProcess::now_ms() + inbox_command_ms_max)) {
      child->end(inbox_command_grace_ms_max);
      write_message("the command was ended: it took longer than a minute\n");
    }
  }

  const std::optional<std::string> command_;
  std::set<std::string> done_;  // identities of the present items
};

void print_inbox(const Invocation& invocation, const json::object& inbox) {
  if (invocation.json) return write_out(json::serialize(inbox) + "\n");
  const Terminal terminal = terminal_of(STDOUT_FILENO);
  if (terminal.columns) write_out("\x1b[H\x1b[2J");
  write_out(view_inbox(printable_fields(inbox), terminal) + (terminal.columns ? "" : "\n"));
}

ExitCode follow_inbox(const Invocation& invocation, const InboxOptions& options) {
  InboxCommand command(options.command);
  Called<json::object> inbox = read_inbox(invocation, options);
  if (!inbox) return answer(invocation, inbox, view_inbox);
  print_inbox(invocation, *inbox);
  command.run_for_new(*inbox);
  const json::object params{{"from", number_at(*inbox, "position") + 1},
                            {"types", json::array{"attention.changed"}}};
  const auto no_event = [](const json::object&) { return true; };
  const auto followed = follow_events(
      invocation, params, no_event, [&](const std::string&, const json::object& changed) {
        if (number_at(changed, "position") <= number_at(*inbox, "position")) return;
        auto now = read_inbox(invocation, options);
        if (!now) return;  // the subscription notices that the server is gone
        inbox = std::move(now);
        print_inbox(invocation, *inbox);
        command.run_for_new(*inbox);
      });
  if (!followed) return answer(invocation, tl::unexpected(followed.error()), view_inbox);
  return ExitCode::ok;
}

ExitCode show_inbox(const Invocation& invocation, const InboxOptions& options) {
  const Called<json::object> inbox = read_inbox(invocation, options);
  const ExitCode shown = answer(invocation, inbox, view_inbox);
  if (!inbox) return shown;
  InboxCommand(options.command).run_for_new(*inbox);
  if (shown != ExitCode::ok) return shown;
  return number_at(*inbox, "total") > 0 ? ExitCode::refused : ExitCode::ok;
}

}  // namespace

void add_inbox_command(ToolCommand app, Invocation& invocation) {
  ToolCommand command = app.add_subcommand("inbox", "What waits for a person, the longest first");
  const auto options = std::make_shared<InboxOptions>();
  command.add_option("--kind", options->kinds, "Only this kind, such as approval; repeatable")
      .repeatable();
  command.add_option("--limit", options->limit, "Items shown, 1 to 500; default: 100")
      .range(1, 500);
  command.add_flag("--follow", options->follow, "Show it again whenever it changes, until ^C");
  command.add_option("--exec", options->command,
                     "Run this shell command for each new item, with its JSON on stdin");
  command.footer(
      "Exits with 1 while something waits, and with 0 when nothing does.\n\n"
      "Examples:\n"
      "  signalbox inbox\n"
      "  signalbox inbox --kind approval --json | jq -r '.result.items[].text'\n"
      "  signalbox inbox --follow --exec 'jq -r .text | mail -s signalbox ops'");
  command.action([options, &invocation] {
    return options->follow ? follow_inbox(invocation, *options) : show_inbox(invocation, *options);
  });
}

}  // namespace signalbox
