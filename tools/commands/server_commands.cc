// `signalbox status`, `server status`, `server limits`.

#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/short_id.h"
#include "tools/cli/text_table.h"
#include "tools/views/pause_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

Cell view_retention(const json::object& policy, std::int64_t now_ns) {
  const json::object& last = object_at(policy, "last");
  if (last.empty()) return {"due " + clock_time(text_at(policy, "next_due_at"), now_ns)};
  const std::string when = short_age(text_at(last, "at"), now_ns);
  const std::string error = text_at(last, "error");
  if (!error.empty()) return {"failed " + when + ": " + error, Style::bad};
  return {number_of(number_at(last, "records_dropped"), "record") + " dropped " + when + ", into " +
              text_at(last, "archive"),
          Style::good};
}

// Returns how many refs of runs the repositories and their remotes have; empty if there are none.
std::string refs_left(const json::array& repositories) {
  std::uint64_t branches = 0;
  std::uint64_t rescue_refs = 0;
  for (const json::value& each : repositories) {
    const json::object& row = each.as_object();
    branches += number_at(row, "branches") + number_at(row, "remote_branches");
    rescue_refs += number_at(row, "rescue_refs");
  }
  if (branches + rescue_refs == 0) return {};
  return ", " + number_of(branches, "branch") + " and " + number_of(rescue_refs, "rescue ref");
}

// Empty if no files are removed by age.
Cell view_file_retention(const json::object& status, std::int64_t now_ns) {
  const json::value* found = status.if_contains("file_retention");
  if (found == nullptr || !found->is_object()) return {};
  const json::object& policy = found->as_object();
  const json::object& last = object_at(policy, "last");
  const json::object& measured = object_at(policy, "measured");
  const std::string error = last.contains("error") ? text_at(last, "error") : std::string();
  if (!error.empty())
    return {"failed " + short_age(text_at(last, "at"), now_ns) + ": " + error, Style::bad};
  std::string text = "due " + clock_time(text_at(policy, "next_due_at"), now_ns);
  if (!last.empty()) {
    text = number_of(number_at(last, "runs_removed"), "run") + " removed " +
           short_age(text_at(last, "at"), now_ns);
  }
  if (measured.empty()) return {text};
  std::uint64_t bytes = 0;
  for (const json::value& each : array_at(measured, "stored")) {
    bytes += number_at(each.as_object(), "bytes");
  }
  text += "; " + number_of(bytes, "byte") + " left";
  text += refs_left(array_at(measured, "refs"));
  const json::array& kept = array_at(measured, "kept");
  if (kept.empty()) return {text, Style::good};
  const json::object& first = kept.front().as_object();
  return {text + "; kept " + text_at(measured, "kept_total") + ", e.g. " + text_at(first, "what") +
              ": " + text_at(first, "reason"),
          Style::busy};
}

// Where artifacts are, if that isn't the data directory, and what is wrong with the store.
Cell view_artifact_store(const json::object& status) {
  const json::value* const found = status.if_contains("artifact_store");
  if (found == nullptr || !found->is_object()) return {};
  const std::string store = text_at(found->as_object(), "store");
  const json::object& trouble = object_at(found->as_object(), "trouble");
  if (trouble.empty()) return {store, Style::good};
  return {store + ": since " + text_at(trouble, "since") + ", " + text_at(trouble, "message"),
          Style::bad};
}

// Empty if the server is in no cell.
Cell view_cell(const json::object& status, std::int64_t now_ns) {
  const json::object& cell = object_at(status, "cell");
  if (cell.empty()) return {};
  const std::string trouble = text_at(cell, "trouble");
  const json::object& append = object_at(cell, "waiting_append");
  if (!append.empty()) {
    const std::string why = trouble.empty() ? text_at(append, "reason") : trouble;
    return {"an append waits for the log since " + clock_time(text_at(append, "since"), now_ns) +
                ", after " + text_at(append, "acknowledged") +
                "; what is open isn't known until then" + (why.empty() ? "" : ": " + why),
            Style::bad};
  }
  if (!trouble.empty()) return {trouble, Style::bad};
  const std::string name = text_at(cell, "cell") + ": ";
  if (text_at(cell, "role") == "active") return {name + "takes its commands", Style::good};
  const std::string active = text_at(object_at(cell, "active"), "server");
  return {name + "stands by" + (active.empty() ? "" : "; " + active + " takes the commands"),
          Style::busy};
}

// Empty if the service listens on no address.
Cell view_listen(const json::object& status) {
  const json::object& listen = object_at(status, "listen");
  const std::string trouble = text_at(listen, "trouble");
  if (!trouble.empty()) return {trouble, Style::bad};
  return {text_at(listen, "address"), Style::good};
}

// Empty if no work waits for a runner that isn't there.
Cell view_runners(const json::object& status) {
  return {text_at(object_at(object_at(status, "runners"), "trouble"), "message"), Style::bad};
}

// Empty if the service has no TLS.
Cell view_certificate(const json::object& status, std::int64_t now_ns) {
  const json::object& certificate = object_at(status, "certificate");
  const std::string state = text_at(certificate, "state");
  const std::string until = clock_time(text_at(certificate, "not_after"), now_ns);
  if (state.empty()) return {};
  if (state == "expired") return {"expired " + until + "; renew it, then reload", Style::bad};
  if (state == "ends_soon") return {"ends " + until + "; renew it, then reload", Style::busy};
  if (state == "not_yet_valid") {
    return {"not valid before " + clock_time(text_at(certificate, "not_before"), now_ns),
            Style::bad};
  }
  return {"valid until " + until, Style::good};
}

Cell view_settings(const json::object& status, std::int64_t now_ns) {
  const json::object& settings = object_at(status, "settings");
  const json::object& refused = object_at(settings, "refused");
  if (!refused.empty()) return {"not reloaded: " + text_at(refused, "error"), Style::bad};
  const std::string loaded = text_at(settings, "loaded_at");
  return loaded.empty() ? Cell{} : Cell{"read " + clock_time(loaded, now_ns), Style::good};
}

// Empty if no file may have a text that was redacted.
Cell view_unfinished_redaction(const json::object& status) {
  const std::string error =
      text_at(object_at(object_at(status, "redaction"), "unfinished"), "error");
  if (error.empty()) return {};
  return {"files may have a redacted text: " + error, Style::bad};
}

// Empty if no project is held.
Cell view_held_projects(const json::object& status, const Terminal& terminal) {
  const json::object& held = object_at(status, "projects_held");
  const json::array& shown = array_at(held, "projects");
  if (shown.empty()) return {};
  const std::string total = text_at(held, "total");
  const std::string first = scalar_text(shown.front());
  return {(total == "1" ? first : total + ", e.g. " + first) +
              with_connection(": signalbox project get " + first, terminal.connection),
          Style::bad};
}

std::string view_status(const json::object& status, const Terminal& terminal) {
  const std::int64_t now_ns = terminal.now_ns();
  const std::string position = text_at(status, "position");
  const std::string durable = text_at(status, "durable_position");
  const std::string started = text_at(status, "started_at");
  const json::array& failures = array_at(status, "run_root_failures");
  // A moment of the past has none of what is of the process alone.
  const bool is_live = status.contains("run_root_failures");
  const std::string run_roots = !is_live ? ""
                                : failures.empty()
                                    ? "ok"
                                    : "can't be written: " + scalar_text(failures.front());
  const json::array& disk_failures = array_at(status, "disk_failures");
  const bool full = true_at(status, "storage_full");
  std::string storage = full ? "full: writes are refused" : "ok";
  if (!full && !disk_failures.empty()) storage = scalar_text(disk_failures.front());
  std::string read_models = text_at(status, "read_models_position");
  const json::value* rebuild = status.if_contains("read_models_rebuild");
  const bool rebuilding = rebuild != nullptr && rebuild->is_object();
  if (rebuilding) {
    read_models = text_at(rebuild->as_object(), "position") +
                  ", being rebuilt: " + text_at(rebuild->as_object(), "reason");
  }
  const json::object* policy = nullptr;
  if (const json::value* found = status.if_contains("retention")) policy = found->if_object();
  return named_values(
      {
          {"version", {text_at(status, "version")}},
          {"incarnation", {text_at(status, "incarnation")}},
          {"started",
           {started.empty()
                ? started
                : clock_time(started, now_ns) + " (" + short_age(started, now_ns) + ")"}},
          {"service", {paused_line(object_at(status, "paused"), now_ns), Style::bad}},
          {"cell", view_cell(status, now_ns)},
          {"position", {position + (durable == position ? "" : " (durable: " + durable + ")")}},
          {"state digest", {text_at(status, "state_digest")}},
          {"open runs", {text_at(status, "open_runs")}},
          {"ready stations", {text_at(status, "ready_stations")}},
          {"waiting claims", {text_at(status, "waiting_claims")}},
          {"held locks", {text_at(status, "held_locks")}},
          {"waiting locks", {text_at(status, "waiting_locks")}},
          {"subscriptions", {text_at(status, "subscriptions")}},
          {"read models at", {read_models, rebuilding ? Style::bad : Style::plain}},
          {"storage", {storage, full || !disk_failures.empty() ? Style::bad : Style::good}},
          {"artifacts", view_artifact_store(status)},
          {"run roots", {run_roots, failures.empty() ? Style::good : Style::bad}},
          {"runners", view_runners(status)},
          {"held projects", view_held_projects(status, terminal)},
          {"settings", view_settings(status, now_ns)},
          {"listen", view_listen(status)},
          {"certificate", view_certificate(status, now_ns)},
          {"redaction", view_unfinished_redaction(status)},
          {"retention",
           policy == nullptr ? Cell{is_live ? "none" : ""} : view_retention(*policy, now_ns)},
          {"files", view_file_retention(status, now_ns)},
          {"data", {text_at(status, "data_directory")}},
          {"socket", {text_at(status, "socket")}},
      },
      terminal);
}

std::string view_limits(const json::object& limits, const Terminal& terminal) {
  TextTable table({{"limit"}, {"value", TextTable::Align::right}});
  for (const auto& each : limits) {
    if (each.key() == "position") continue;
    table.add({{std::string(each.key())}, {scalar_text(each.value())}});
  }
  return table.text(terminal);
}

void add_status(ToolCommand parent, Invocation& invocation) {
  ToolCommand status = parent.add_subcommand("status", "The server's status");
  status.footer(
      "Examples:\n"
      "  signalbox status\n"
      "  signalbox status --json");
  status.action(
      [&invocation] { return call_and_answer(invocation, "server.status", {}, view_status); });
}

Style style_of_verdict(const std::string& verdict) {
  if (verdict == "needs_operator") return Style::bad;
  return verdict == "expired" ? Style::busy : Style::good;
}

// "1234abcd/work" of a name that begins with the id of a run.
std::string short_name(const std::string& name) {
  constexpr std::size_t id_characters = 36;
  const std::string id = name.substr(0, id_characters);
  const std::string tail = unique_tails({id}).front();
  return tail == id ? name : tail + name.substr(id_characters);
}

std::string view_crash_report(const json::object& result, const Terminal& terminal) {
  const json::object& report = object_at(result, "report");
  if (report.empty()) return "no crash: every stop in the log was a clean one\n";
  const std::int64_t now_ns = wall_clock_ns();
  const std::string torn = text_at(report, "torn_bytes");
  std::string text = named_values(
      {
          {"recovered", {clock_time(text_at(report, "created_at"), now_ns)}},
          {"incarnation", {text_at(report, "incarnation")}},
          {"last durable position", {text_at(report, "last_durable_position")}},
          {"torn bytes", {torn + (torn == "0" ? "" : " (of which nothing was acknowledged)")}},
          {"in flight", {text_at(report, "items_total")}},
          {"report", {text_at(result, "path")}},
      },
      terminal);
  TextTable table({{"kind"},
                   {"name"},
                   {"goal"},
                   TextTable::spare(1, "token", TextTable::Align::right),
                   {"verdict"},
                   {"why"}});
  std::string commands;
  for (const json::value& each : array_at(report, "items")) {
    const json::object& item = each.as_object();
    const std::string verdict = text_at(item, "verdict");
    table.add({{text_at(item, "kind")},
               {terminal.columns ? short_name(text_at(item, "name")) : text_at(item, "name")},
               {text_at(item, "goal"), Style::strong},
               {text_at(item, "token")},
               {verdict, style_of_verdict(verdict)},
               {text_at(item, "evidence")}});
    if (verdict != "needs_operator") continue;
    for (const json::value& command : array_at(item, "next_commands")) {
      commands += "  " + with_connection(scalar_text(command), terminal.connection) + "\n";
    }
  }
  if (!table.empty()) text += "\n" + table.text(terminal);
  if (!commands.empty()) text += "\nTo do:\n" + commands;
  return text;
}

}  // namespace

void add_server_commands(ToolCommand app, Invocation& invocation) {
  add_status(app, invocation);
  ToolCommand server = app.add_group("server", "The server: status, limits, the latest crash");
  server.footer(
      "Examples:\n"
      "  signalbox server status\n"
      "  signalbox server limits\n"
      "  signalbox server crash-report");
  add_status(server, invocation);
  ToolCommand limits = server.add_subcommand("limits", "All limits, with the unit in the name");
  limits.footer(
      "Examples:\n"
      "  signalbox server limits\n"
      "  signalbox server limits --json");
  limits.action(
      [&invocation] { return call_and_answer(invocation, "server.limits", {}, view_limits); });
  ToolCommand crash = server.add_subcommand(
      "crash-report", "What was in flight at the latest crash, and the verdict on each");
  crash.footer(
      "Examples:\n"
      "  signalbox server crash-report\n"
      "  signalbox server crash-report --json | jq '.result.report.items'");
  crash.action([&invocation] {
    return call_and_answer(invocation, "server.crash_report", {}, view_crash_report);
  });
}

}  // namespace signalbox
