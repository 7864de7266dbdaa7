#include "tools/views/lock_view.h"

#include "server/text/time_text.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/text_table.h"

namespace signalbox {
namespace {

namespace json = boost::json;

Style lock_style(const std::string& status) { return status == "held" ? Style::busy : Style::bad; }

// "in 42s", or how long ago.
std::string time_to(std::string_view time, std::int64_t now_ns) {
  const auto then = parse_time(time);
  if (!then) return {};
  return *then > now_ns ? "in " + short_duration(*then - now_ns) : short_age(time, now_ns);
}

std::string lease_end(const json::object& lock, std::int64_t now_ns) {
  const std::string expires = text_at(lock, "expires_at");
  return clock_time(expires, now_ns) + " (" + time_to(expires, now_ns) + ")";
}

std::string names(const json::array& values) {
  std::string text;
  for (const json::value& each : values) text += (text.empty() ? "" : ", ") + scalar_text(each);
  return text;
}

std::string last_holder(const json::object& last) {
  return text_at(last, "owner") + ", token " + text_at(last, "token") + ", " +
         text_at(last, "ended");
}

// Not worth a line where there is none.
std::string unless_zero(const std::string& count) { return count == "0" ? "" : count; }

}  // namespace

std::string view_acquired_lock(const json::object& result, const Terminal& terminal,
                               std::int64_t now_ns) {
  return named_values({{"key", {text_at(result, "key")}},
                       {"owner", {text_at(result, "owner")}},
                       {"token", {text_at(result, "token"), Style::strong}},
                       {"lease until", {lease_end(result, now_ns)}},
                       {"reason", {text_at(result, "reason")}},
                       {"extended", {true_at(result, "extended") ? "it was held already" : ""}}},
                      terminal);
}

std::string view_lock(const json::object& result, const Terminal& terminal, std::int64_t now_ns) {
  const std::string waiting = unless_zero(text_at(result, "waiting"));
  const json::value* last = result.if_contains("last");
  const bool has_last = last != nullptr && last->is_object();
  const std::string before = has_last ? last_holder(last->get_object()) : "";
  if (!result.at("lock").is_object()) {
    return named_values({{"key", {text_at(result, "key")}},
                         {"status", {"free", Style::good}},
                         {"waiting", {waiting}},
                         {"last holder", {before}}},
                        terminal);
  }
  const json::object& lock = result.at("lock").get_object();
  const std::string status = text_at(lock, "status");
  const std::string acquired = text_at(lock, "acquired_at");
  return named_values(
      {
          {"key", {text_at(lock, "key")}},
          {"status", {status, lock_style(status)}},
          {"owner", {text_at(lock, "owner")}},
          {"token", {text_at(lock, "token")}},
          {"acquired", {clock_time(acquired, now_ns) + " (" + short_age(acquired, now_ns) + ")"}},
          {"lease until", {lease_end(lock, now_ns)}},
          {"reason", {text_at(lock, "reason")}},
          {"run root", {text_at(lock, "run_root")}},
          {"runs", {names(array_at(lock, "runs"))}},
          {"loops", {names(array_at(lock, "loops"))}},
          {"waiting", {waiting}},
          {"last holder", {before}},
      },
      terminal);
}

std::string view_lock_list(const json::object& result, const Terminal& terminal,
                           std::int64_t now_ns) {
  TextTable table({{"key"},
                   {"status"},
                   {"owner"},
                   {"token", TextTable::Align::right},
                   {"acquired"},
                   {"lease ends"},
                   {"waiting", TextTable::Align::right},
                   {"reason"}});
  for (const json::value& each : array_at(result, "locks")) {
    if (!each.is_object()) continue;
    const json::object& lock = each.get_object();
    const std::string status = text_at(lock, "status");
    table.add({{text_at(lock, "key")},
               {status, lock_style(status)},
               {text_at(lock, "owner")},
               {text_at(lock, "token")},
               {short_age(text_at(lock, "acquired_at"), now_ns)},
               {time_to(text_at(lock, "expires_at"), now_ns)},
               {unless_zero(text_at(lock, "waiting"))},
               {text_at(lock, "reason")}});
  }
  if (table.empty()) return "no locks\n";
  std::string text = table.text(terminal);
  const std::string cursor = text_at(result, "next_cursor");
  if (!cursor.empty()) text += "more: --cursor " + printable(cursor) + ", or --all\n";
  return text;
}

}  // namespace signalbox
