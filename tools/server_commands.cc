// `signalbox status`, `server status`, `server limits`.
#include <CLI/CLI.hpp>

#include "tools/commands.h"
#include "tools/elapsed_text.h"
#include "tools/json_fields.h"
#include "tools/remote_call.h"
#include "tools/text_table.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string view_status(const json::object& status, const Terminal& terminal) {
  const std::int64_t now_ns = wall_clock_ns();
  const std::string position = text_at(status, "position");
  const std::string durable = text_at(status, "durable_position");
  const std::string started = text_at(status, "started_at");
  return named_values(
      {
          {"version", {text_at(status, "version")}},
          {"incarnation", {text_at(status, "incarnation")}},
          {"started", {clock_time(started, now_ns) + " (" + short_age(started, now_ns) + ")"}},
          {"position", {position + (durable == position ? "" : " (durable: " + durable + ")")}},
          {"state digest", {text_at(status, "state_digest")}},
          {"open runs", {text_at(status, "open_runs")}},
          {"ready stations", {text_at(status, "ready_stations")}},
          {"waiting claims", {text_at(status, "waiting_claims")}},
          {"subscriptions", {text_at(status, "subscriptions")}},
          {"read models at", {text_at(status, "read_models_position")}},
          {"storage",
           {true_at(status, "storage_full") ? "full: nothing is taken" : "ok",
            true_at(status, "storage_full") ? Style::bad : Style::good}},
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

void add_status(CLI::App& parent, Invocation& invocation) {
  CLI::App* status = parent.add_subcommand("status", "How the server is");
  status->footer("Examples:\n  signalbox status\n  signalbox status --json");
  status->callback([&invocation] {
    invocation.action = [&invocation] {
      return call_and_answer(invocation, "server.status", {}, view_status);
    };
  });
}

}  // namespace

void add_server_commands(CLI::App& app, Invocation& invocation) {
  add_status(app, invocation);
  CLI::App* server = app.add_subcommand("server", "The server: status and limits");
  server->require_subcommand(1);
  server->footer("Examples:\n  signalbox server status\n  signalbox server limits");
  add_status(*server, invocation);
  CLI::App* limits = server->add_subcommand("limits", "Every bound, with its unit in its name");
  limits->footer("Examples:\n  signalbox server limits\n  signalbox server limits --json");
  limits->callback([&invocation] {
    invocation.action = [&invocation] {
      return call_and_answer(invocation, "server.limits", {}, view_limits);
    };
  });
}

}  // namespace signalbox
