#include "tools/views/report_view.h"

#include <algorithm>
#include <vector>

#include "domain/nanoseconds.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/text_table.h"
#include "tools/views/money_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Rows of the lists in the report; the answer has more.
constexpr std::size_t report_rows_shown = 4;
constexpr std::size_t id_tail_characters = 8;
constexpr std::size_t goal_columns_max = 28;

// A field and what it counts; `one` if that is another word for a single one.
struct CountedField {
  const char* field;
  const char* word;
  const char* one = nullptr;
};
using Words = std::vector<CountedField>;

// Returns "3 started, 2 failed"; counts of 0 are left out.
std::string counts_text(const json::object& counts, const Words& words) {
  std::string text;
  for (const auto& [field, word, one] : words) {
    const std::uint64_t count = number_at(counts, field);
    if (count == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " +
            (count == 1 && one != nullptr ? one : word);
  }
  return text;
}

std::string with_unit(std::uint64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string ms_text(const json::object& object, const char* field) {
  return short_duration(static_cast<std::int64_t>(number_at(object, field)) * ns_per_ms);
}

// Returns "1.20 USD, 45000 tokens"; empty if nothing was used.
std::string used_text(const json::object& usage) {
  std::string text;
  const std::uint64_t microusd = number_at(usage, "cost_microusd");
  if (microusd > 0) text = dollars_text(microusd) + " USD";
  const std::string rest =
      counts_text(usage, {{"tokens", "tokens", "token"}, {"turns", "turns", "turn"}});
  return text + (text.empty() || rest.empty() ? "" : ", ") + rest;
}

std::string id_tail(const std::string& id) {
  return id.size() <= id_tail_characters ? id : "…" + id.substr(id.size() - id_tail_characters);
}

std::string period_text(const json::object& report) {
  const std::string since = text_at(report, "since");
  const std::string until = text_at(report, "until");
  // Both ends count. `position` is that of the last event.
  const std::uint64_t events = number_at(report, "position") + 1 - number_at(report, "from");
  std::string text = short_span(since, until) + " since " + clock_time(since, wall_clock_ns()) +
                     ", " + with_unit(events, "event", "events");
  const std::uint64_t jumps = number_at(report, "clock_jumps");
  if (jumps > 0) text += ", " + with_unit(jumps, "clock jump", "clock jumps");
  if (true_at(report, "cut")) text += "; what was before is left out";
  if (report.contains("history_from")) text += "; older events were archived";
  return text;
}

std::string attempts_text(const json::object& attempts) {
  std::string text = counts_text(attempts, {{"started", "started"},
                                            {"succeeded", "succeeded"},
                                            {"failed", "failed"},
                                            {"deferred", "deferred"},
                                            {"canceled", "canceled"},
                                            {"retries", "retries", "retry"}});
  if (number_at(attempts, "worked_ms") == 0) return text;
  return text + (text.empty() ? "" : "; ") + ms_text(attempts, "worked_ms") + " of work";
}

std::string costliest_text(const json::object& usage) {
  const json::array& costliest = array_at(usage, "costliest");
  if (costliest.empty()) return {};
  const json::object& run = costliest.front().as_object();
  return used_text(object_at(run, "used")) + ": " + id_tail(text_at(run, "run_id")) + " " +
         cut(text_at(run, "goal"), goal_columns_max);
}

// Returns what crashes cost: "service down for up to 4.2s; 1 attempt lost with 12m 05s of work".
std::string crash_cost(const json::object& crash) {
  std::string text = "service down for up to " + ms_text(crash, "down_ms_max");
  const std::uint64_t lost = number_at(crash, "attempts_lost");
  if (lost == 0) return text + ", no attempt lost";
  return text + "; " + with_unit(lost, "attempt", "attempts") + " lost with " +
         ms_text(crash, "lost_ms") + " of work";
}

std::string latest_crash_text(const json::object& report, const Terminal& terminal) {
  const json::array& crashes = array_at(report, "crashes");
  if (crashes.empty()) return {};
  const json::object& crash = crashes.front().as_object();
  std::string text = "restarted " + clock_time(text_at(crash, "started_at"), wall_clock_ns()) +
                     ", " + std::to_string(number_at(crash, "in_flight")) + " in flight";
  const std::string operators = counts_text(
      object_at(crash, "verdicts"), {{"needs_operator", "of them need you", "of them needs you"}});
  if (!operators.empty()) text += ", " + operators;
  return text + with_connection(": signalbox server crash-report", terminal.connection);
}

std::string crashes_text(const json::object& report) {
  const json::object& totals = object_at(report, "crash_totals");
  const std::uint64_t crashes = number_at(totals, "crashes");
  if (crashes == 0) return {};
  return std::to_string(crashes) + ": " + crash_cost(totals);
}

std::string failures_text(const json::object& report, const Terminal& terminal) {
  TextTable table({{"failure"},
                   {"runs", TextTable::Align::right},
                   {"attempts", TextTable::Align::right},
                   {"latest"},
                   {"station"},
                   {"goal"}});
  const json::array& failures = array_at(report, "failures");
  const std::size_t shown = std::min(failures.size(), report_rows_shown);
  for (std::size_t row = 0; row < shown; ++row) {
    const json::object& failure = failures[row].as_object();
    const json::object& latest = object_at(failure, "latest");
    table.add({{text_at(failure, "code"), Style::bad},
               {text_at(failure, "runs")},
               {text_at(failure, "attempts")},
               {id_tail(text_at(latest, "run_id"))},
               {text_at(latest, "station")},
               {text_at(latest, "goal")}});
  }
  if (table.empty()) return {};
  std::string text = "\n" + table.text(terminal);
  const std::uint64_t total = number_at(report, "failures_total");
  if (total > shown) {
    text += with_unit(total - shown, "more code", "more codes");
    const bool has_all = failures.size() == total;
    text += has_all ? "" : ", the next " + std::to_string(failures.size() - shown) + " of them";
    text +=
        with_connection(": signalbox report --json | jq .result.failures\n", terminal.connection);
  }
  return text;
}

std::string waiting_text(const json::object& waiting, const Terminal& terminal) {
  const std::uint64_t total = number_at(waiting, "total");
  if (total == 0) return "\nNothing waits for you.\n";
  TextTable table({{"waiting"}, {"since"}, {"what"}, {"why"}});
  const std::int64_t now_ns = terminal.now_ns();
  const json::array& items = array_at(waiting, "items");
  const std::size_t shown = std::min(items.size(), report_rows_shown);
  for (std::size_t row = 0; row < shown; ++row) {
    const json::object& item = items[row].as_object();
    std::string kind = text_at(item, "kind");
    std::replace(kind.begin(), kind.end(), '_', ' ');
    std::string subject;
    for (const char* field : {"subject", "loop", "project", "run_id"}) {
      if (subject.empty()) subject = text_at(item, field);
    }
    table.add({{kind},
               {short_age(text_at(item, "since"), now_ns)},
               {cut(subject, goal_columns_max)},
               {text_at(item, "text")}});
  }
  // More failed runs wait than are counted.
  const std::string count = true_at(waiting, "capped")
                                ? std::to_string(total) + "+ things wait"
                                : with_unit(total, "thing waits", "things wait");
  return "\n" + count + " for you: " + with_connection("signalbox inbox\n", terminal.connection) +
         table.text(terminal);
}

}  // namespace

std::string view_report(const json::object& report, const Terminal& terminal) {
  const json::object& usage = object_at(report, "usage");
  std::string text = named_values(
      {{"period", {period_text(report)}},
       {"runs",
        {counts_text(object_at(report, "runs"), {{"started", "started"},
                                                 {"succeeded", "succeeded"},
                                                 {"failed", "failed"},
                                                 {"canceled", "canceled"},
                                                 {"retried", "retried"}})}},
       {"open now",
        {counts_text(object_at(report, "open"),
                     {{"queued", "queued"}, {"running", "running"}, {"paused", "paused"}})}},
       {"attempts", {attempts_text(object_at(report, "attempts"))}},
       {"cards",
        {counts_text(object_at(report, "cards"), {{"submitted", "submitted"},
                                                  {"merged", "merged"},
                                                  {"blocked", "blocked"},
                                                  {"failed", "failed"}})}},
       {"ticks",
        {counts_text(object_at(report, "ticks"), {{"succeeded", "succeeded"},
                                                  {"failed", "failed"},
                                                  {"timed_out", "timed out"},
                                                  {"halted", "halted"}})}},
       {"used", {used_text(usage)}},
       {"used in vain", {used_text(object_at(usage, "failed"))}},
       {"costliest run", {costliest_text(usage)}},
       {"crashes", {crashes_text(report), Style::bad}},
       {"latest crash", {latest_crash_text(report, terminal)}}},
      terminal);
  return text + failures_text(report, terminal) +
         waiting_text(object_at(report, "waiting"), terminal);
}

}  // namespace signalbox
