#include "tools/views/run_view.h"

#include "domain/refusals.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/text_table.h"
#include "tools/views/card_view.h"
#include "tools/views/money_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// "LEASE_EXPIRED: the lease ran out" from an error object; an error that is text stays as it is.
std::string error_text(const json::object& holder) {
  const json::object& error = object_at(holder, "error");
  if (error.empty()) return text_at(holder, "error");
  const std::string code = text_at(error, "code");
  const std::string message = text_at(error, "message");
  return code.empty() || message.empty() ? code + message : code + ": " + message;
}

std::string labels_text(const json::object& run) {
  std::string text;
  for (const auto& label : object_at(run, "labels")) {
    text +=
        (text.empty() ? "" : ", ") + std::string(label.key()) + "=" + scalar_text(label.value());
  }
  return text;
}

// "paused: the API is down", "succeeded (mock)" for a run whose work is all that of mocks. Lists
// only have the pipeline's name, and on a terminal no reason, which would take the goal's columns.
std::string status_text(const json::object& run, const std::string& reason) {
  const bool is_mock = text_at(run, "mock") == "everything" || text_at(run, "pipeline") == "mock";
  return text_at(run, "status") + (is_mock ? " (mock)" : "") +
         (reason.empty() ? "" : ": " + reason);
}

// "waiting: backoff", or the status alone.
std::string station_status_text(const json::object& holder, const char* status) {
  const std::string waiting = text_at(holder, "waiting_for");
  return text_at(holder, status) + (waiting.empty() ? "" : ": " + waiting);
}

// "0.42 of 2.00 USD, 1200 tokens": the usage, with the budget if there is one.
std::string usage_text(const json::object& run) {
  const json::object& budget = object_at(run, "budget");
  const json::object& used = object_at(run, "used");
  std::string text;
  const auto add = [&](const char* key, const std::string& unit,
                       std::string (*shown)(std::uint64_t)) {
    const std::uint64_t figure = number_at(used, key);
    const std::uint64_t bound = number_at(budget, key);
    if (figure == 0 && bound == 0) return;
    text += (text.empty() ? "" : ", ") + shown(figure);
    if (bound != 0) text += " of " + shown(bound);
    text += " " + unit;
    if (unit.ends_with('s') && (bound == 0 ? figure : bound) == 1) text.pop_back();
  };
  const auto plain = [](std::uint64_t figure) { return std::to_string(figure); };
  add("cost_microusd", "USD", dollars_text);
  add("tokens", "tokens", plain);
  add("turns", "turns", plain);
  return text;
}

// "approved by uid:0: looks right" for a station with a decision, else "".
std::string decision_text(const json::object& station) {
  const json::object& decided = object_at(station, "decided");
  if (decided.empty()) return {};
  const std::string reason = text_at(decided, "reason");
  return (text_at(decided, "decision") == "approve" ? "approved by " : "rejected by ") +
         text_at(decided, "actor") + (reason.empty() ? "" : ": " + reason);
}

// What a run says whose coding agents are mocks; "" for any other.
std::string mock_text(const json::object& run) {
  if (text_at(run, "mock").empty()) return {};
  return "its coding agents are mocks (CODERUNNER_MODE=process: real ones)";
}

// "at verify by uid:0: the disk was full" for the latest retry; "" without any.
std::string retries_text(const json::object& run) {
  const json::array& retries = array_at(run, "retries");
  if (retries.empty() || !retries.back().is_object()) return {};
  const json::object& last = retries.back().as_object();
  const std::string reason = text_at(last, "reason");
  return (retries.size() == 1 ? std::string() : std::to_string(retries.size()) + " times, last ") +
         "at " + text_at(last, "station") + " by " + text_at(last, "actor") +
         (reason.empty() ? "" : ": " + reason);
}

// Returns the command that prints what the job of the failed attempt printed with which the run
// ended; empty if that had no job, or its output isn't there.
std::string failed_log_command(const json::object& run, const Terminal& terminal) {
  if (text_at(run, "status") != "failed" || true_at(run, "files_removed")) return {};
  const json::array& stations = array_at(run, "stations");
  for (const json::value& each : stations) {
    if (!each.is_object() || text_at(each.as_object(), "status") == "succeeded") continue;
    const json::array& attempts = array_at(each.as_object(), "attempts");
    if (attempts.empty() || !attempts.back().is_object()) continue;
    const bool has_job = !text_at(attempts.back().as_object(), "job_id").empty();
    if (!has_job || text_at(each.as_object(), "executor") == "modal") return {};
    const std::string station = " --station " + shell_word(text_at(each.as_object(), "station"));
    return with_connection(
        "signalbox run logs " + text_at(run, "run_id") + (terminal.columns ? "" : station),
        terminal.connection);
  }
  return {};
}

Cell status_cell(const std::string& status) { return {status, style_of_status(status)}; }

// Adds one row for each attempt, or one for a station without attempts.
void add_station(TextTable& table, const json::object& station, std::int64_t now_ns) {
  const std::string name = text_at(station, "station");
  const std::string status = text_at(station, "status");
  std::string waiting = text_at(station, "waiting_for");
  if (const std::string until = text_at(station, "waiting_until"); !until.empty()) {
    waiting += " until " + clock_time(until, now_ns);
  }
  if (const std::string note = text_at(station, "waiting_note"); !note.empty()) {
    waiting += ": " + note;
  }
  // What `run resume --asked` takes.
  if (const std::uint64_t asked = number_at(station, "asked"); asked != 0) {
    waiting += " (asked " + std::to_string(asked) + ")";
  }
  const std::string decision = decision_text(station);
  const std::string decided_attempt = text_at(object_at(station, "decided"), "attempt");
  const json::array& attempts = array_at(station, "attempts");
  if (attempts.empty()) {
    table.add({{name, Style::strong},
               {},
               {},
               {text_at(station, "executor")},
               status_cell(status),
               {},
               {},
               {waiting.empty() ? decision : waiting}});
    return;
  }
  bool first = true;
  for (const json::value& each : attempts) {
    if (!each.is_object()) continue;
    const json::object& attempt = each.as_object();
    const std::string started = text_at(attempt, "started_at");
    const std::string ended = text_at(attempt, "ended_at");
    std::string note = error_text(attempt);
    if (note.empty()) note = text_at(attempt, "summary");
    const auto add_note = [&note](const std::string& text) {
      if (!text.empty()) note += (note.empty() ? "" : "; ") + text;
    };
    if (text_at(attempt, "attempt") == decided_attempt) add_note(decision);
    if (&each == &attempts.back() && !waiting.empty()) add_note("waiting: " + waiting);
    const bool open = ended.empty();
    table.add({{first ? name : std::string(), Style::strong},
               {text_at(attempt, "attempt")},
               {text_at(attempt, "strategy")},
               {text_at(attempt, "worker")},
               status_cell(text_at(attempt, "status")),
               {clock_time(started, now_ns), Style::faint},
               {open ? short_age(started, now_ns) : short_span(started, ended)},
               {note, text_at(attempt, "error").empty() && object_at(attempt, "error").empty()
                          ? Style::plain
                          : Style::bad}});
    first = false;
  }
}

std::string artifacts_text(const json::array& stations, const Terminal& terminal) {
  TextTable table({{"artifact"},
                   {"station"},
                   {"attempt", TextTable::Align::right},
                   {"bytes", TextTable::Align::right},
                   TextTable::spare(1, "media type"),
                   {"sha256"}});
  for (const json::value& station : stations) {
    if (!station.is_object()) continue;
    for (const json::value& attempt : array_at(station.as_object(), "attempts")) {
      if (!attempt.is_object()) continue;
      for (const json::value& each : array_at(attempt.as_object(), "artifacts")) {
        if (!each.is_object()) continue;
        const json::object& artifact = each.as_object();
        table.add({{text_at(artifact, "name"), Style::strong},
                   {text_at(station.as_object(), "station")},
                   {text_at(attempt.as_object(), "attempt")},
                   {text_at(artifact, "bytes")},
                   {text_at(artifact, "media_type")},
                   {text_at(artifact, "sha256").substr(0, 12), Style::faint}});
      }
    }
  }
  return table.empty() ? std::string() : "\n" + table.text(terminal);
}

}  // namespace

std::string view_run_list(const json::object& result, const Terminal& terminal,
                          std::int64_t now_ns) {
  TextTable table({TextTable::ids("run"),
                   {"status"},
                   {"station"},
                   TextTable::spare(3, "project"),
                   TextTable::spare(1, "started"),
                   TextTable::spare(2, "took", TextTable::Align::right),
                   {"goal"}});
  for (const json::value& each : array_at(result, "runs")) {
    if (!each.is_object()) continue;
    const json::object& run = each.as_object();
    const std::string started = text_at(run, "started_at");
    std::string station = text_at(run, "station");
    const std::string station_status = station_status_text(run, "station_status");
    if (!station.empty() && !station_status.empty()) station += " " + station_status;
    const bool ended = !text_at(run, "ended_at").empty();
    table.add({{text_at(run, "run_id")},
               {status_text(run, terminal.columns ? std::string() : text_at(run, "paused_reason")),
                style_of_status(text_at(run, "status"))},
               {ended && text_at(run, "status") == "succeeded" ? std::string() : station},
               {text_at(run, "project")},
               {short_age(started, now_ns)},
               {short_span(started, text_at(run, "ended_at"))},
               {text_at(run, "goal")}});
  }
  std::string text = table.empty() ? std::string("no runs; `signalbox run start` starts one\n")
                                   : table.text(terminal);
  if (!text_at(result, "next_cursor").empty()) {
    text += "more: --all, or --cursor " + text_at(result, "next_cursor") + "\n";
  }
  return text;
}

std::string view_run(const json::object& result, const Terminal& terminal, std::int64_t now_ns) {
  const json::object& run = object_at(result, "run");
  const std::string started = text_at(run, "started_at");
  const std::string ended = text_at(run, "ended_at");
  std::string status = status_text(run, text_at(run, "paused_reason"));
  if (true_at(run, "cancel_requested") && ended.empty()) status += " (cancel requested)";
  std::string times = clock_time(started, now_ns);
  if (!started.empty()) {
    times += ended.empty()
                 ? " (" + short_age(started, now_ns) + ")"
                 : " … " + clock_time(ended, now_ns) + " (" + short_span(started, ended) + ")";
  }
  std::vector<std::pair<std::string, Cell>> values = {
      {"run", {text_at(run, "run_id"), Style::strong}},
      {"status", {status, style_of_status(text_at(run, "status"))}},
      {"error", {error_text(run), Style::bad}},
      {"no retry", {text_at(run, "not_retried")}},
      {"next", {failed_log_command(run, terminal), Style::plain, /*is_command=*/true}},
      {"goal", {text_at(run, "goal")}},
      {"project", {text_at(run, "project")}},
      {"labels", {labels_text(run)}},
      {"pipeline", {text_at(run, "pipeline")}},
      {"mock", {mock_text(run)}},
      {"used", {usage_text(run)}},
      {"retried", {retries_text(run)}},
      {"time", {times}},
      {"positions", {text_at(run, "started_position") + " … " + text_at(run, "last_position")}},
      {"run root",
       {text_at(run, "run_root") +
        (true_at(run, "files_removed") ? " (removed by retention)" : "")}},
      {"repository", {text_at(run, "repository")}}};
  add_finding_values(run, values);
  std::string text = named_values(values, terminal);
  TextTable table({{"station"},
                   {"attempt", TextTable::Align::right},
                   TextTable::spare(3, "strategy"),
                   TextTable::spare(1, "worker"),
                   {"status"},
                   TextTable::spare(2, "started"),
                   {"took", TextTable::Align::right},
                   {"result"}});
  const json::array& stations = array_at(run, "stations");
  for (const json::value& station : stations) {
    if (station.is_object()) add_station(table, station.as_object(), now_ns);
  }
  return text + "\n" + table.text(terminal) + artifacts_text(stations, terminal);
}

std::string view_status_change(const json::object& result, const Terminal&) {
  return text_at(result, "status") + (true_at(result, "changed") ? "\n" : " (unchanged)\n");
}

}  // namespace signalbox
