// `signalbox lock …`: acquire, refresh, release, get, list. `lock exec` is in tools/lock.
#include <memory>
#include <optional>

#include <unistd.h>

#include "server/text/time_text.h"
#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_table.h"
#include "tools/lock/lock_owner.h"

namespace signalbox {
namespace {

namespace json = boost::json;

Style lock_style(const std::string& status) { return status == "held" ? Style::busy : Style::bad; }

// "in 42s", or "42s ago".
std::string time_to(std::string_view time, std::int64_t now_ns) {
  const auto then = parse_time(time);
  if (!then) return {};
  return *then > now_ns ? "in " + short_duration(*then - now_ns) : short_age(time, now_ns);
}

std::string lease_end(const json::object& lock, std::int64_t now_ns) {
  const std::string expires = text_at(lock, "expires_at");
  return clock_time(expires, now_ns) + " (" + time_to(expires, now_ns) + ")";
}

std::string last_holder(const json::object& last) {
  return text_at(last, "owner") + ", token " + text_at(last, "token") + ", " +
         text_at(last, "ended");
}

// Returns "" for zero, so that the line isn't shown.
std::string unless_zero(const std::string& count) { return count == "0" ? "" : count; }

std::string view_acquired_lock(const json::object& result, const Terminal& terminal,
                               std::int64_t now_ns) {
  return named_values(
      {{"key", {text_at(result, "key")}},
       {"owner", {text_at(result, "owner")}},
       {"token", {text_at(result, "token"), Style::strong}},
       {"lease until", {lease_end(result, now_ns)}},
       {"reason", {text_at(result, "reason")}},
       {"extended", {true_at(result, "extended") ? "yes, it was held already" : ""}}},
      terminal);
}

std::string view_lock(const json::object& result, const Terminal& terminal, std::int64_t now_ns) {
  const std::string waiting = unless_zero(text_at(result, "waiting"));
  const json::value* last = result.if_contains("last");
  const bool has_last = last != nullptr && last->is_object();
  const std::string before = has_last ? last_holder(last->as_object()) : "";
  if (!result.at("lock").is_object()) {
    return named_values({{"key", {text_at(result, "key")}},
                         {"status", {"free", Style::good}},
                         {"waiting", {waiting}},
                         {"last holder", {before}}},
                        terminal);
  }
  const json::object& lock = result.at("lock").as_object();
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
          {"runs", {comma_separated(array_at(lock, "runs"))}},
          {"loops", {comma_separated(array_at(lock, "loops"))}},
          {"waiting", {waiting}},
          {"last holder", {before}},
      },
      terminal);
}

std::string view_lock_list(const json::object& result, const Terminal& terminal,
                           std::int64_t now_ns) {
  TextTable table({TextTable::pasted("key"),
                   {"status"},
                   {"owner"},
                   TextTable::spare(2, "token", TextTable::Align::right),
                   TextTable::spare(1, "acquired"),
                   {"lease ends"},
                   TextTable::spare(3, "waiting", TextTable::Align::right),
                   {"reason"}});
  for (const json::value& each : array_at(result, "locks")) {
    if (!each.is_object()) continue;
    const json::object& lock = each.as_object();
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
  if (table.empty()) return "no locks; `signalbox lock exec` holds one for a command\n";
  std::string text = table.text(terminal);
  const std::string cursor = text_at(result, "next_cursor");
  if (!cursor.empty()) text += "more: --cursor " + printable(cursor) + ", or --all\n";
  return text;
}

struct AcquireOptions {
  std::string key;
  std::optional<std::string> owner, reason, run_root, command_id;
  std::optional<std::int64_t> lease_ms, wait_ms;
};

struct HeldLock {
  std::string key;
  std::uint64_t token = 0;
  std::optional<std::int64_t> lease_ms;
  std::optional<std::string> command_id;
};

struct LockListOptions {
  std::optional<std::string> prefix, owner, cursor;
  std::optional<std::uint32_t> limit;
  bool all = false;
};

void add_acquire(ToolCommand lock, Invocation& invocation) {
  ToolCommand command =
      lock.add_subcommand("acquire", "Acquire a lock, or extend one that you hold");
  const auto options = std::make_shared<AcquireOptions>();
  command.add_option("KEY", options->key, "The lock's key").required();
  command.add_option("--owner", options->owner,
                     "The lock's owner; default: user@host:pid of the calling process");
  command.add_option("--lease-ms", options->lease_ms,
                     "How long the lock lasts without a refresh; default: 60000");
  command.add_option("--reason", options->reason, "Why it is held, for others who want it");
  command.add_option("--run-root", options->run_root, "Mirror the lock in this directory's .lock")
      .type_name("DIR");
  command.add_option("--wait-ms", options->wait_ms,
                     "How long to wait for the lock, in a fair queue");
  add_command_id(command, options->command_id);
  command.footer(
      "Exits with 1 if another owner holds the lock. Pass its token to `lock refresh`,\n"
      "`lock release` and everything that checks fencing tokens.\n\n"
      "Examples:\n"
      "  signalbox lock acquire deploy --reason \"release 1.4\"\n"
      "  signalbox lock acquire deploy --owner me --wait-ms 30000 --json |\n"
      "    jq .result.token");
  command.action([options, &invocation] {
    json::object params{{"key", options->key},
                        {"owner", options->owner.value_or(lock_owner_of(::getppid()))}};
    set_param(params, "lease_ms", options->lease_ms);
    set_param(params, "reason", options->reason);
    set_param(params, "run_root", options->run_root);
    set_param(params, "wait_ms", options->wait_ms);
    set_param(params, "command_id", options->command_id);
    return call_and_answer(invocation, "lock.acquire", std::move(params),
                           [](const json::object& result, const Terminal& terminal) {
                             return view_acquired_lock(result, terminal, wall_clock_ns());
                           });
  });
}

void add_held_lock(ToolCommand command, HeldLock& held) {
  command.add_option("KEY", held.key, "The lock").required();
  command.add_option("--token", held.token, "The token from `lock acquire`")
      .required()
      .environment("SIGNALBOX_TOKEN");
  add_command_id(command, held.command_id);
}

json::object held_lock_params(const HeldLock& held) {
  json::object params{{"key", held.key}, {"token", held.token}};
  set_param(params, "lease_ms", held.lease_ms);
  set_param(params, "command_id", held.command_id);
  return params;
}

void add_refresh(ToolCommand lock, Invocation& invocation) {
  ToolCommand command = lock.add_subcommand("refresh", "Extend the lease of a lock, from now");
  const auto options = std::make_shared<HeldLock>();
  add_held_lock(command, *options);
  command.add_option("--lease-ms", options->lease_ms, "The new lease; default: as long as before");
  command.footer(
      "Exits with 1 if the token no longer holds the lock.\n\n"
      "Examples:\n"
      "  signalbox lock refresh deploy --token 17\n"
      "  # under `lock exec`\n"
      "  signalbox lock refresh \"$SIGNALBOX_LOCK_KEY\" --lease-ms 300000");
  command.action([options, &invocation] {
    return call_and_answer(
        invocation, "lock.refresh", held_lock_params(*options),
        [](const json::object& result, const Terminal&) {
          return "lease until " + clock_time(text_at(result, "expires_at"), wall_clock_ns()) + "\n";
        });
  });
}

void add_release(ToolCommand lock, Invocation& invocation) {
  ToolCommand command = lock.add_subcommand("release", "Release a lock");
  const auto options = std::make_shared<HeldLock>();
  add_held_lock(command, *options);
  command.footer(
      "Examples:\n"
      "  signalbox lock release deploy --token 17");
  command.action([options, &invocation] {
    return call_and_answer(
        invocation, "lock.release", held_lock_params(*options),
        [](const json::object& result, const Terminal&) {
          return std::string(true_at(result, "released") ? "released\n" : "already released\n");
        });
  });
}

void add_lock_get(ToolCommand lock, Invocation& invocation) {
  ToolCommand command = lock.add_subcommand("get", "Show who holds a lock, since when and why");
  const auto key = std::make_shared<std::string>();
  command.add_option("KEY", *key, "The lock").required();
  command.footer(
      "Examples:\n"
      "  signalbox lock get deploy\n"
      "  signalbox lock get deploy --json | jq -r .result.lock.owner");
  command.action([key, &invocation] {
    return call_and_answer(invocation, "lock.get", {{"key", *key}},
                           [](const json::object& result, const Terminal& terminal) {
                             return view_lock(result, terminal, terminal.now_ns());
                           });
  });
}

Called<json::object> list_locks(const Invocation& invocation, const LockListOptions& options) {
  json::object params;
  set_param(params, "prefix", options.prefix);
  set_param(params, "owner", options.owner);
  set_param(params, "cursor", options.cursor);
  set_param(params, "limit", options.limit);
  auto page = call_server(invocation, "lock.list", params);
  if (!page || !options.all) return page;
  json::array locks = array_at(*page, "locks");
  while (!text_at(*page, "next_cursor").empty()) {
    params["cursor"] = text_at(*page, "next_cursor");
    page = call_server(invocation, "lock.list", params);
    if (!page) return page;
    for (const json::value& each : array_at(*page, "locks")) locks.push_back(each);
  }
  (*page)["locks"] = std::move(locks);
  return page;
}

void add_lock_list(ToolCommand lock, Invocation& invocation) {
  ToolCommand command = lock.add_subcommand("list", "Held locks, by key");
  const auto options = std::make_shared<LockListOptions>();
  command.add_option("--prefix", options->prefix, "Only keys that start with it");
  command.add_option("--owner", options->owner, "Only locks of this owner");
  command.add_option("--limit", options->limit, "Locks per page, 1 to 1000; default: 100");
  command.add_option("--cursor", options->cursor,
                     "Continue after the page that returned this cursor");
  command.add_flag("--all", options->all, "All pages");
  command.footer(
      "Examples:\n"
      "  signalbox lock list\n"
      "  signalbox lock list --prefix repo/ --all\n"
      "  signalbox lock list --json | jq -r '.result.locks[] | .key + \" \" + .owner'");
  command.action([options, &invocation] {
    return answer(invocation, list_locks(invocation, *options),
                  [options](const json::object& result, const Terminal& terminal) {
                    const bool is_filtered = options->prefix || options->owner;
                    if (is_filtered && array_at(result, "locks").empty() &&
                        text_at(result, "next_cursor").empty()) {
                      return no_match("lock", "signalbox lock list", terminal);
                    }
                    return view_lock_list(result, terminal, terminal.now_ns());
                  });
  });
}

}  // namespace

void add_lock_commands(ToolCommand app, Invocation& invocation) {
  ToolCommand lock = app.add_group("lock", "Locks: acquire, refresh, release, get, list, exec");
  lock.footer(
      "Examples:\n"
      "  signalbox lock exec deploy -- ./deploy.sh\n"
      "  signalbox lock get deploy");
  add_acquire(lock, invocation);
  add_refresh(lock, invocation);
  add_release(lock, invocation);
  add_lock_get(lock, invocation);
  add_lock_list(lock, invocation);
  add_lock_exec_command(lock, invocation);
}

}  // namespace signalbox
