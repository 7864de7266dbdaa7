// `signalbox cell status|switch|upgrade|repair`: the servers that share one log, and which of them
// takes commands. cell_seed_command.cc has `seed`.
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "domain/try.h"
#include "server/cell/cell_repair.h"
#include "server/config.h"
#include "server/platform/clock.h"
#include "server/text/printable_text.h"
#include "server/text/time_text.h"
#include "tools/cli/call_error.h"
#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_table.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Returns how long ago the time in this field was.
std::string ago(const json::object& object, const char* field) {
  const auto time_ns = parse_time(text_at(object, field));
  if (!time_ns) return "-";
  return short_duration(std::max<std::int64_t>(SystemClock().wall_ns() - *time_ns, 0)) + " ago";
}

// Returns what the cell's database keeps of the log, if this server knows: the active one does.
std::string database_view(const json::object& result) {
  const json::value* const known = result.if_contains("database_log");
  if (known == nullptr || !known->is_object()) return {};
  const json::object& log = known->as_object();
  std::string text =
      "database: has the log after " + std::to_string(number_at(log, "begins_after"));
  if (const std::string server = text_at(log, "held_by"); !server.empty()) {
    text += "; what is old stays for " + printable(server);
  }
  if (const std::string why = text_at(log, "kept_because"); !why.empty()) {
    text += ": " + printable(why);
  }
  return text + "\n";
}

// Returns which redactions aren't finished everywhere, as far as this server knows, and which
// servers have their texts yet.
std::string unerased_view(const json::object& result) {
  const json::array& due = array_at(result, "redactions_due");
  if (due.empty()) return {};
  const auto redacted_at = due.back().to_number<std::uint64_t>();
  std::string servers;
  for (const json::value& each : array_at(result, "servers")) {
    if (number_at(each.as_object(), "erased_through") >= redacted_at) continue;
    servers += (servers.empty() ? "" : ", ") + printable(text_at(each.as_object(), "server"));
  }
  return "redaction at " + std::to_string(redacted_at) + ": not erased everywhere yet" +
         (servers.empty() ? "" : "; it is still due at " + servers) + "\n";
}

std::string status_view(const json::object& result, const Terminal& terminal) {
  const std::string cell = text_at(result, "cell");
  if (cell.empty()) return "this server is in no cell: it alone writes its log\n";
  const json::value* const active = result.if_contains("active");
  const bool has_active = active != nullptr && active->is_object();
  std::string text = "cell " + printable(cell) + ": ";
  text += has_active ? printable(text_at(active->as_object(), "server")) + " takes commands, at " +
                           printable(text_at(active->as_object(), "address"))
                     : std::string("no server takes commands");
  text += " (epoch " + std::to_string(number_at(result, "epoch")) + ")\n";
  if (!text_at(result, "current_at").empty()) {
    text += "this server: stands by, with all that the log had " + ago(result, "current_at") + "\n";
  }
  const json::value* const append = result.if_contains("waiting_append");
  if (append != nullptr && append->is_object()) {
    const json::object& waiting = append->as_object();
    text += "an append waits for the log, begun " + ago(waiting, "since") + ", after " +
            std::to_string(number_at(waiting, "acknowledged"));
    const std::string why = text_at(waiting, "reason");
    text += (why.empty() ? "" : ": " + printable(why)) + "\n";
  }
  constexpr std::array<std::pair<const char*, const char*>, 4> troubles{
      {{"trouble", "trouble"},
       {"durability", "durability"},
       {"drop_trouble", "old records"},
       {"redaction_trouble", "redacted texts"}}};
  for (const auto& [field, name] : troubles) {
    if (const std::string why = text_at(result, field); !why.empty()) {
      text += name + std::string(": ") + printable(why) + "\n";
    }
  }
  text += unerased_view(result);
  text += database_view(result);
  const auto level = number_at(result, "feature_level");
  const auto newest = number_at(result, "feature_level_newest");
  if (level < newest) {
    text += "feature level " + std::to_string(level) + ": once all servers know " +
            std::to_string(newest) + ", " +
            with_connection("`signalbox cell upgrade` raises it\n", terminal.connection);
  }
  TextTable table({{"server"},
                   {"role"},
                   {"applied", TextTable::Align::right},
                   TextTable::spare(1, "seen"),
                   {"version"},
                   {"level", TextTable::Align::right},
                   {"address"}});
  for (const json::value& each : array_at(result, "servers")) {
    const json::object& server = each.as_object();
    table.add({{text_at(server, "server")},
               {text_at(server, "role")},
               {std::to_string(number_at(server, "applied"))},
               {ago(server, "seen_at")},
               {text_at(server, "version")},
               {std::to_string(number_at(server, "feature_level"))},
               {text_at(server, "address")}});
  }
  if (const std::string why = text_at(result, "servers_trouble"); !why.empty()) {
    const bool is_read = !text_at(result, "servers_at").empty();
    text += "servers: " + (is_read ? "as they were " + ago(result, "servers_at") : "not known") +
            "; their list can't be read: " + printable(why) + "\n";
  }
  return text + table.text(terminal);
}

void add_switch(ToolCommand cell, Invocation& invocation) {
  ToolCommand command =
      cell.add_subcommand("switch", "Have another server take the commands of the cell");
  struct Options {
    std::optional<std::string> to, from;
  };
  const auto options = std::make_shared<Options>();
  command.add_option("--to", options->to, "The name of a server that stands by; default: any")
      .type_name("SERVER");
  command
      .add_option("--from", options->from,
                  "Refuse if another server takes commands, so that a repeated switch stays one")
      .type_name("SERVER");
  command.footer(
      "Asks the server that takes commands now, which ends its work and stands by.\n"
      "Jobs at runners go on; those of the server itself wait for it to come back.");
  command.action([options, &invocation] {
    json::object params;
    set_param(params, "to", options->to);
    set_param(params, "from", options->from);
    return call_and_answer(invocation, "cell.switch", std::move(params),
                           [](const json::object& result, const Terminal&) {
                             const std::string name = text_at(result, "to");
                             return printable(text_at(result, "from")) + " lets go of the cell; " +
                                    (name.empty() ? "a server that stands by" : printable(name)) +
                                    " takes it\n";
                           });
  });
}

std::string upgrade_view(const json::object& result, const Terminal&) {
  const auto from = number_at(result, "from");
  const auto level = number_at(result, "feature_level");
  const std::string cell = "the cell " + printable(text_at(result, "cell"));
  if (from == level) return cell + " is at feature level " + std::to_string(level) + " already\n";
  return cell + " is at feature level " + std::to_string(level) + " now; it was at " +
         std::to_string(from) + "\n";
}

void add_upgrade(ToolCommand cell, Invocation& invocation) {
  ToolCommand command =
      cell.add_subcommand("upgrade", "Allow what only servers of the new version understand");
  command.footer(
      "After the new version was installed at all servers of the cell, one by one.\n"
      "Until then they write nothing that an older one couldn't read, and commands that\n"
      "need that are refused (CELL_UPGRADE_NEEDED). Refused while a server that\n"
      "reported in the last minute is older. There is no way back: an older server\n"
      "can't join any more.");
  command.action(
      [&invocation] { return call_and_answer(invocation, "cell.upgrade", {}, upgrade_view); });
}

Called<json::object> repair(const Invocation& invocation) {
  ServeOptions options;
  options.data = invocation.data_directory();
  const auto config = load_config(options);
  if (!config) return tl::unexpected(usage_error(config.error()));
  if (!config->cell) {
    return tl::unexpected(usage_error((options.data / "signalbox.toml").string() +
                                      " has no table cell: name the data directory of a server of "
                                      "the cell with --data"));
  }
  RocksEventLog::Options opening;
  opening.command = "signalbox cell repair";
  const auto replica = TRY(called(RocksEventLog::open(options.data, std::move(opening))));
  const CellRepair repaired =
      TRY(called(repair_cell(*replica, *config->cell, [](const std::string& why) {
        if (!why.empty()) write_message("waiting for the database: " + printable(why) + "\n");
      })));
  return json::object{{"cell", config->cell->name},
                      {"from", repaired.from},
                      {"through", repaired.through},
                      {"epoch", repaired.epoch}};
}

std::string repair_view(const json::object& result, const Terminal&) {
  const auto from = number_at(result, "from");
  const auto through = number_at(result, "through");
  if (from == through) {
    return "nothing is missing: the cell's log ends at " + std::to_string(from) +
           ", as this replica does\n";
  }
  return "put back the records from " + std::to_string(from + 1) + " to " +
         std::to_string(through) + "; start the servers of the cell " +
         printable(text_at(result, "cell")) + "\n";
}

void add_repair(ToolCommand cell, Invocation& invocation) {
  ToolCommand command = cell.add_subcommand(
      "repair", "Put back what the cell's database has lost, from a stopped server's replica");
  command.footer(
      "For a database that was restored from an old backup, or failed over with a loss.\n"
      "Stop all servers of the cell, and run it at the one whose log reaches furthest:\n"
      "  signalbox cell repair --data /var/lib/signalbox\n"
      "It puts back the same bytes, after it has proved by the Merkle tree that the\n"
      "replica and the database have the same log up to there.");
  command.action([&invocation] { return answer(invocation, repair(invocation), repair_view); });
}

}  // namespace

void add_cell_commands(ToolCommand app, Invocation& invocation) {
  ToolCommand cell = app.add_group("cell", "Servers that share one log, one taking commands");
  ToolCommand status = cell.add_subcommand("status", "Show the servers, and who takes commands");
  status.footer("Any server of the cell answers; seen and applied are some seconds old.");
  status.action([&invocation] { return call_and_answer(invocation, "cell.get", {}, status_view); });
  add_switch(cell, invocation);
  add_upgrade(cell, invocation);
  add_repair(cell, invocation);
  add_cell_seed_command(cell, invocation);
}

}  // namespace signalbox
