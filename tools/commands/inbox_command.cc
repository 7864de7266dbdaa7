// `signalbox inbox`: what waits for a person, once or with each change, and a command of the user's
// for each new item.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>
#include <boost/json/serialize.hpp>

#include "domain/try.h"
#include "projections/attention_item.h"
#include "server/platform/child_process.h"
#include "server/text/described_json.h"
#include "server/text/printable_text.h"
#include "tools/cli/command_line.h"
#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/event_stream.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/typed_command.h"
#include "tools/commands/waiting_items.h"
#include "tools/views/offered_commands.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Time for the command of one item; then it is ended.
constexpr std::int64_t inbox_command_ms_max = 60'000;
constexpr std::int64_t inbox_command_grace_ms_max = 2000;
// Where nothing is cut, because the output isn't a terminal.
constexpr std::size_t uncut_columns = 1'000'000;
// Conditions of the service, such as a full disk, are no events: they are looked for this often.
constexpr std::chrono::seconds look_interval{5};

struct InboxOptions {
  std::vector<std::string> kinds;
  std::uint32_t limit = 100;
  bool all = false;
  bool follow = false;
  std::optional<std::string> command;
};

json::object list_params(const InboxOptions& options) {
  json::object params{{"limit", options.limit}};
  if (!options.kinds.empty()) {
    params["kinds"] = json::array(options.kinds.begin(), options.kinds.end());
  }
  return params;
}

// Returns what an item is about, for a person.
std::string subject_of(const json::object& item) {
  for (const char* field : {"subject", "loop", "project", "run_id"}) {
    if (const std::string text = text_at(item, field); !text.empty()) return text;
  }
  return {};
}

// Returns "approval", "failed run".
std::string kind_of(const json::object& item) {
  std::string kind = printable(text_at(item, "kind"));
  std::replace(kind.begin(), kind.end(), '_', ' ');
  return kind;
}

// Everything is on one line but the commands, which are to be pasted: they are never cut.
std::string view_item(const json::object& item, const Terminal& terminal, std::int64_t now_ns) {
  const std::size_t columns = terminal.columns.value_or(uncut_columns);
  const std::string kind = kind_of(item);
  const std::string title = printable(subject_of(item));
  const std::string age = short_age(text_at(item, "since"), now_ns);
  std::string shown = styled(terminal, Style::strong, kind);
  std::size_t used = kind.size();
  if (!age.empty()) {
    shown += "  " + styled(terminal, Style::faint, age);
    used += 2 + age.size();
  }
  if (!title.empty() && used + 2 < columns) shown += "  " + cut(title, columns - used - 2);
  const std::size_t indent = std::min<std::size_t>(columns, 2);
  shown += "\n  " + cut(printable(text_at(item, "text")), columns - indent) + "\n";
  if (const std::string size = change_size_text(item); !size.empty()) {
    shown += "  " + cut(size, columns - indent) + "\n";
  }
  for (const std::string& finding : findings_of(item)) {
    shown += "  " + cut(printable(finding), columns - indent) + "\n";
  }
  for (const std::string& command : offered_commands(item, terminal)) {
    shown += "  $ " + printable(command) + "\n";
  }
  return shown;
}

std::string view_settled(const json::object& item, const Terminal& terminal) {
  std::string title = subject_of(item);
  if (title.empty()) title = text_at(item, "text");
  return cut("settled: " + kind_of(item) + "  " + printable(title),
             terminal.columns.value_or(uncut_columns)) +
         "\n";
}

// Some things are only in the read models.
constexpr const char* partial_text =
    "Read models can't be asked, so something may be missing: signalbox status\n";

std::string view_inbox(const Invocation& invocation, const json::object& inbox,
                       const Terminal& terminal) {
  const json::array& items = array_at(inbox, "items");
  const std::uint64_t total = number_at(inbox, "total");
  std::string text = total == 0 ? "Nothing waits for you.\n" : "";
  const std::int64_t now_ns = terminal.now_ns();
  for (const json::value& item : items) text += view_item(item.as_object(), terminal, now_ns);
  if (total > items.size()) {
    // The command of --exec has had all items already.
    const std::string command =
        typed_command(invocation, {"--all"}, {{"--limit", true}, {"--exec", true}});
    const char* const at_least = true_at(inbox, "capped") ? "+" : "";
    text += std::to_string(total - items.size()) + at_least + " more: " + printable(command) + "\n";
  } else if (true_at(inbox, "capped")) {
    text += with_connection("More failed runs wait: signalbox run list --status failed\n",
                            terminal.connection);
  }
  return true_at(inbox, "partial") ? text + with_connection(partial_text, terminal.connection)
                                   : text;
}

// Runs the user's command for an item: the item is one line of JSON on its stdin. Nothing of it is
// in the command's words or environment, where a shell or a program could take it for something
// else. With --json, stdout has nothing but JSON: what the command prints goes to stderr.
void run_command_for(const Invocation& invocation, const json::object& item,
                     const std::string& command) {
  ChildProcess::Settings settings;
  settings.argv = {"/bin/sh", "-c", command};
  settings.input = json::serialize(item) + "\n";
  settings.stdout_descriptor = invocation.json ? STDERR_FILENO : STDOUT_FILENO;
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

// What waits and what is settled since the look before: each is said once.
class InboxChanges {
 public:
  InboxChanges(const Invocation& invocation, const InboxOptions& options)
      : invocation_(invocation), options_(options) {}

  // Takes an answer of read_waiting_items().
  void look(const json::object& waiting, const AskChange& ask_change) {
    ChangeSizes sizes(ask_change);
    const bool is_partial = true_at(waiting, "partial");
    if (is_partial && !was_partial_ && !invocation_.json) {
      write_message(with_connection(partial_text, invocation_.connection()));
    }
    was_partial_ = is_partial;
    std::map<std::string, json::object> present;
    for (const json::value& each : array_at(waiting, "items")) {
      const json::object& item = each.as_object();
      const std::string id = text_at(item, "id");
      const bool is_known = present_.contains(id);
      // Such a run may be one of a card that went on.
      if (!is_known && is_partial && text_at(item, "kind") == "failed_run") continue;
      if (!present.emplace(id, item).second || is_known) continue;
      say("waiting", with_size(item, sizes));
      if (options_.command) run_command_for(invocation_, item, *options_.command);
    }
    for (auto& [id, item] : present_) {
      if (present.contains(id)) continue;
      if (is_partial) {
        present.emplace(id, std::move(item));  // it may be one that isn't known at present
      } else {
        say("settled", item);
      }
    }
    if (is_first_ && present.empty() && !invocation_.json) write_out("Nothing waits for you.\n");
    is_first_ = false;
    present_ = std::move(present);
  }

 private:
  // Programs get what the server says.
  [[nodiscard]] json::object with_size(json::object item, ChangeSizes& sizes) const {
    if (!invocation_.json && !options_.command) sizes.add_to(item);  // a command doesn't wait
    return item;
  }
  void say(const std::string& change, const json::object& item) const {
    if (invocation_.json) {
      return write_json({{"change", change}, {"item", item}});
    }
    const Terminal terminal = output_terminal(invocation_);
    write_out(change == "settled" ? view_settled(item, terminal)
                                  : view_item(item, terminal, wall_clock_ns()));
  }

  const Invocation& invocation_;
  const InboxOptions& options_;
  std::map<std::string, json::object> present_;  // by id
  bool is_first_ = true;
  bool was_partial_ = false;
};

View inbox_view(const Invocation& invocation) {
  return [&invocation](const json::object& inbox, const Terminal& terminal) {
    return view_inbox(invocation, inbox, terminal);
  };
}

ExitCode follow_inbox(const Invocation& invocation, const InboxOptions& options) {
  InboxChanges changes(invocation, options);
  const auto followed = keep_looking(
      invocation, {{"types", json::array{"attention.changed"}}}, {look_interval},
      [&](Client& client) -> Called<void> {
        const auto waiting = TRY(read_waiting_items(options.kinds, [&client](json::object params) {
          return client.call("attention.list", std::move(params));
        }));
        changes.look(waiting, [&client](json::object params) {
          return client.call("run.diff", std::move(params));
        });
        return {};
      });
  return answer(invocation, tl::unexpected(followed.error()), inbox_view(invocation));
}

// Returns a refusal of the first kind that there isn't.
std::optional<CallError> check_kinds(const std::vector<std::string>& given) {
  std::vector<std::string> known;
  for (const auto& kind : described_json::enumerators_of<AttentionKind>) {
    known.emplace_back(kind.name);
  }
  for (const std::string& kind : given) {
    if (std::ranges::find(known, kind) != known.end()) continue;
    return unknown_value("--kind", kind, known, {"signalbox inbox --help"});
  }
  return std::nullopt;
}

void add_change_sizes(const Invocation& invocation, json::object& inbox) {
  ChangeSizes sizes([&invocation](json::object params) {
    return call_server(invocation, "run.diff", std::move(params));
  });
  json::value* const items = inbox.if_contains("items");
  if (items == nullptr || !items->is_array()) return;
  for (json::value& item : items->as_array()) {
    if (item.is_object()) sizes.add_to(item.as_object());
  }
}

ExitCode show_inbox(const Invocation& invocation, const InboxOptions& options) {
  const View view = inbox_view(invocation);
  const auto read_everything = [&] {
    return read_waiting_items(options.kinds, [&invocation](json::object params) {
      return call_server(invocation, "attention.list", std::move(params));
    });
  };
  const Called<json::object> inbox =
      options.all ? read_everything()
                  : call_server(invocation, "attention.list", list_params(options));
  Called<json::object> shown_inbox = inbox;
  // A worktree has no past.
  if (inbox && !invocation.json && !invocation.is_about_past()) {
    add_change_sizes(invocation, *shown_inbox);
  }
  const ExitCode shown = answer(invocation, shown_inbox, view);
  if (!inbox || shown != ExitCode::ok) return shown;
  if (options.command) {
    const auto all = options.all ? inbox : read_everything();
    if (!all) return answer(invocation, tl::unexpected(all.error()), view);
    for (const json::value& item : array_at(*all, "items")) {
      run_command_for(invocation, item.as_object(), *options.command);
    }
  }
  return number_at(*inbox, "total") > 0 ? ExitCode::refused : ExitCode::ok;
}

}  // namespace

void add_inbox_command(ToolCommand app, Invocation& invocation) {
  ToolCommand command = app.add_subcommand("inbox", "What waits for a person, the longest first");
  const auto options = std::make_shared<InboxOptions>();
  command
      .add_option("--kind", options->kinds, "Only this kind, such as approval, or any of several")
      .list();
  command.add_option("--limit", options->limit, "Items shown, 1 to 500; default: 100")
      .range(1, 500);
  command.add_flag("--all", options->all, "All items, however many; --limit doesn't matter then");
  command.add_flag("--follow", options->follow,
                   "Then show each new item and each that is settled, until ^C");
  command.add_option("--exec", options->command,
                     "Run this shell command for each new item, with its JSON on stdin");
  command.footer(
      "Exits with 1 while something waits, and with 0 when nothing does. --follow and\n"
      "--exec are about all items, whatever --limit is. With --json, what the command\n"
      "of --exec prints goes to stderr.\n\n"
      "Examples:\n"
      "  signalbox inbox\n"
      "  signalbox inbox --kind approval --json | jq -r '.result.items[].text'\n"
      "  signalbox inbox --follow --exec 'jq -r .text | mail -s signalbox ops'");
  command.action([options, &invocation] {
    if (const auto error = check_kinds(options->kinds)) {
      return answer(invocation, tl::unexpected(*error), inbox_view(invocation));
    }
    return options->follow ? follow_inbox(invocation, *options) : show_inbox(invocation, *options);
  });
}

}  // namespace signalbox
