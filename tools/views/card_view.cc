#include "tools/views/card_view.h"

#include <utility>
#include <vector>

#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/short_id.h"
#include "tools/cli/text_table.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string code_and_message(const json::object& card) {
  const std::string code = text_at(card, "code");
  const std::string message = text_at(card, "message");
  return code.empty() || message.empty() ? code + message : code + ": " + message;
}

// The runs of a card, the oldest first.
std::string runs_text(const json::object& card, const Terminal& terminal, std::int64_t now_ns) {
  TextTable table(
      {TextTable::ids("run"), {"kind"}, {"attempt", TextTable::Align::right}, {"started"}});
  for (const json::value& each : array_at(card, "runs")) {
    if (!each.is_object()) continue;
    const json::object& run = each.as_object();
    table.add({{text_at(run, "run_id")},
               {text_at(run, "kind") == "merge" ? "merge" : "work"},
               {text_at(run, "attempt")},
               {moment_text(text_at(run, "started_at"), now_ns), Style::faint}});
  }
  return table.empty() ? std::string() : "\n" + table.text(terminal);
}

std::string history_text(const json::object& card, const Terminal& terminal, std::int64_t now_ns) {
  TextTable table({TextTable::spare(1, "position", TextTable::Align::right),
                   {"time"},
                   {"event"},
                   TextTable::spare(2, "actor"),
                   {"detail"}});
  for (const json::value& each : array_at(card, "history")) {
    if (!each.is_object()) continue;
    const json::object& event = each.as_object();
    const json::object& data = object_at(event, "data");
    std::string what = code_and_message(data);
    for (const char* field : {"reason", "station", "commit"}) {
      if (what.empty()) what = text_at(data, field);
    }
    table.add({{text_at(event, "position")},
               {clock_time(text_at(event, "recorded_at"), now_ns), Style::faint},
               {text_at(event, "type"), Style::strong},
               {text_at(event, "actor")},
               {what}});
  }
  return table.empty() ? std::string() : "\n" + table.text(terminal);
}

std::string cards_text(const json::object& counts) {
  std::string text;
  for (const auto& each : counts) {
    const std::string count = scalar_text(each.value());
    if (count == "0") continue;
    text += (text.empty() ? "" : ", ") + count + " " + std::string(each.key());
  }
  return text;
}

std::string stations_text(const json::object& project) {
  std::string text;
  for (const json::value& each : array_at(project, "stations")) {
    text += (text.empty() ? "" : " → ") + scalar_text(each);
  }
  return text;
}

}  // namespace

std::string changed_checks_text(const json::object& shown) {
  return comma_separated(array_at(shown, "checks_changed"));
}

void add_finding_values(const json::object& shown,
                        std::vector<std::pair<std::string, Cell>>& values) {
  if (const std::string changed = changed_checks_text(shown); !changed.empty()) {
    values.push_back({"changed checks", {changed, Style::bad}});
  }
  for (const json::value& each : array_at(shown, "left_out")) {
    values.push_back({"left out", {scalar_text(each)}});
  }
}

std::string card_detail(const json::object& card, std::int64_t now_ns) {
  const std::string status = text_at(card, "status");
  if (status == "backlog") {
    const json::object& waiting = object_at(card, "waiting");
    return text_at(waiting, "reason") == "none" ? "next" : text_at(waiting, "text");
  }
  if (text_at(object_at(card, "waiting"), "reason") == "approval") {
    return text_at(object_at(card, "waiting"), "text");
  }
  if (status == "blocked" || status == "failed") {
    const std::string retry = text_at(card, "retry_at");
    const std::string why = code_and_message(card);
    return retry.empty() ? why : "retry at " + clock_minutes(retry, now_ns) + "; " + why;
  }
  if (status == "verified") {
    if (true_at(card, "merging")) return "being merged";
    const std::string why = code_and_message(card);
    return why.empty() ? "waiting to be merged" : "merged again: " + why;
  }
  if (status == "merged") return text_at(card, "commit").substr(0, 12);
  return "run " + text_at(card, "run_id");
}

std::string view_card(const json::object& result, const Terminal& terminal, std::int64_t now_ns) {
  const json::object& card = object_at(result, "card");
  const std::string status = text_at(card, "status");
  const std::string priority = text_at(card, "priority");
  const json::object& waiting = object_at(card, "waiting");
  const bool stopped = status == "blocked" || status == "failed";
  const std::string seen = text_at(card, "changed_position");
  std::vector<std::pair<std::string, Cell>> values = {
      {"card", {text_at(card, "card_id"), Style::strong}},
      {"title", {text_at(card, "title"), Style::strong}},
      {"status",
       {true_at(card, "merging") ? status + ", being merged" : status, style_of_status(status)}},
      {"project", {text_at(card, "project")}},
      {"key", {text_at(card, "key")}},
      {"priority", {priority == "0" ? "" : priority}},
      {"waiting", {with_connection(text_at(waiting, "text"), terminal.connection), Style::busy}},
      {stopped ? "error" : "previous error",
       {code_and_message(card), stopped ? Style::bad : Style::faint}},
      {"retry at", {clock_time(text_at(card, "retry_at"), now_ns)}},
      {"next",
       {stopped ? with_connection("signalbox card unblock " + text_at(card, "card_id") +
                                      (seen.empty() ? seen : " --seen " + seen),
                                  terminal.connection)
                : std::string(),
        Style::plain, /*is_command=*/true}},
      {"commit", {text_at(card, "commit")}},
      {"submitted", {moment_text(text_at(card, "submitted_at"), now_ns)}},
      {"changed", {moment_text(text_at(card, "changed_at"), now_ns)}}};
  add_finding_values(card, values);
  for (const json::value& each : array_at(waiting, "holders")) {
    if (!each.is_object()) continue;
    const json::object& holder = each.as_object();
    const std::string run_id = text_at(holder, "run_id");
    values.push_back({"waits for",
                      {text_at(holder, "title") + "  (" + text_at(holder, "project") +
                       (run_id.empty() ? "" : ", run " + run_id) + ")"}});
  }
  std::string text = named_values(values, terminal);
  const std::string brief = text_at(card, "brief");
  if (!brief.empty()) text += "\n" + printable(brief) + "\n";
  return text + runs_text(card, terminal, now_ns) + history_text(card, terminal, now_ns);
}

std::string view_card_list(const json::object& result, const Terminal& terminal,
                           std::int64_t now_ns) {
  TextTable table({TextTable::ids("card"),
                   {"status"},
                   TextTable::spare(1, "project"),
                   TextTable::spare(2, "priority", TextTable::Align::right),
                   TextTable::spare(3, "changed"),
                   {"title"},
                   {"detail"}});
  for (const json::value& each : array_at(result, "cards")) {
    if (!each.is_object()) continue;
    const json::object& card = each.as_object();
    const std::string status = text_at(card, "status");
    const std::string priority = text_at(card, "priority");
    std::string detail = card_detail(card, now_ns);
    if (terminal.columns && (status == "running" || status == "verifying")) {
      detail = "run " + unique_tails({text_at(card, "run_id")}).front();
    }
    table.add({{text_at(card, "card_id")},
               {status, style_of_status(status)},
               {text_at(card, "project")},
               {priority == "0" ? "" : priority},
               {short_age(text_at(card, "changed_at"), now_ns), Style::faint},
               {cut(printable(text_at(card, "title")), 48), Style::strong},
               {std::move(detail), Style::faint}});
  }
  std::string text = table.empty() ? std::string("no cards; `signalbox card submit` adds one\n")
                                   : table.text(terminal);
  if (!text_at(result, "next_cursor").empty()) {
    text += "more: --all, or --cursor " + text_at(result, "next_cursor") + "\n";
  }
  return text;
}

namespace {

// An older server doesn't say whether a tick has looked for the file.
bool is_policy_unread(const json::object& project) {
  return project.contains("policy_read") && !true_at(project, "policy_read");
}

}  // namespace

std::string view_project(const json::object& result, const Terminal& terminal,
                         std::int64_t now_ns) {
  const json::object& project = object_at(result, "project");
  const std::string digest = text_at(project, "policy_digest");
  const std::string hold = text_at(project, "policy_hold");
  const bool is_unread = is_policy_unread(project);
  const std::string defaults = "the defaults are in force";
  const std::string until = hold == "gone"         ? "it is back (an empty one will do)"
                            : hold == "unreadable" ? "it can be read"
                                                   : "it is valid";
  std::string text =
      named_values({{"project", {text_at(project, "name"), Style::strong}},
                    {"repository", {text_at(project, "repository")}},
                    {"base", {text_at(project, "base")}},
                    {"remote", {text_at(project, "remote")}},
                    {"stations", {stations_text(project)}},
                    {"cards", {cards_text(object_at(project, "cards"))}},
                    {"policy", {text_at(project, "policy_file")}},
                    {"its digest",
                     {!digest.empty()        ? digest
                      : hold == "gone"       ? std::string("the file is gone")
                      : is_unread            ? "not read yet: the next heartbeat does, " + defaults
                      : hold.empty()         ? "no file when a tick last looked, " + defaults
                      : hold == "unreadable" ? std::string("couldn't be read")
                                             : std::string("never understood"),
                      hold.empty() ? Style::faint : Style::bad}},
                    {"held",
                     {hold.empty() ? std::string() : "nothing is started or merged until " + until,
                      Style::bad}}},
                   terminal);
  const json::object& refused = object_at(project, "refused");
  if (!refused.empty()) {
    const std::string line = text_at(refused, "line");
    text += "\n" + named_values(
                       {{"refused",
                         {(line == "0" ? "" : "line " + line + ": ") + text_at(refused, "message"),
                          Style::bad}},
                        {"since", {moment_text(text_at(refused, "recorded_at"), now_ns)}},
                        {"meanwhile", {hold.empty() ? "the policy before stays in force" : ""}}},
                       terminal);
  }
  std::vector<std::pair<std::string, Cell>> values;
  for (const auto& each : object_at(project, "policy")) {
    values.push_back({std::string(each.key()), {scalar_text(each.value())}});
  }
  return text + "\n" + named_values(values, terminal);
}

std::string view_project_list(const json::object& result, const Terminal& terminal) {
  TextTable table(
      {{"project"}, TextTable::spare(1, "base"), {"cards"}, {"policy"}, {"repository"}});
  for (const json::value& each : array_at(result, "projects")) {
    if (!each.is_object()) continue;
    const json::object& project = each.as_object();
    const bool refused = true_at(project, "policy_file_refused");
    const std::string hold = text_at(project, "policy_hold");
    table.add({{text_at(project, "name"), Style::strong},
               {text_at(project, "base")},
               {cards_text(object_at(project, "cards"))},
               {hold == "gone"                              ? "held: file is gone"
                : hold == "unreadable"                      ? "held: unreadable"
                : !hold.empty()                             ? "held: refused"
                : refused                                   ? "refused"
                : is_policy_unread(project)                 ? "not read yet"
                : text_at(project, "policy_digest").empty() ? "defaults"
                                                            : "HEARTBEAT.md",
                refused || !hold.empty() ? Style::bad : Style::faint},
               {text_at(project, "repository")}});
  }
  std::string text =
      table.empty() ? std::string("no projects: signalbox project put NAME --repository PATH\n")
                    : table.text(terminal);
  if (!text_at(result, "next_cursor").empty()) {
    text += "more: --cursor " + text_at(result, "next_cursor") + "\n";
  }
  return text;
}

}  // namespace signalbox
