#include "tools/cli/event_stream.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "domain/try.h"
#include "server/text/printable_text.h"
#include "tools/cli/backoff.h"
#include "tools/cli/client.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds reconnect_timeout{60};
// Times between attempts to connect again.
constexpr std::chrono::milliseconds reconnect_pause_min{50};
constexpr std::chrono::milliseconds reconnect_pause_max{1000};
// Times between attempts that a server refuses which can be connected to.
constexpr std::chrono::milliseconds refused_pause_min{200};
constexpr std::chrono::milliseconds refused_pause_max{5000};
// Time between a notification and the look at what it announced, which may be one of many.
constexpr std::chrono::milliseconds look_pause{100};
// Bounds of the time that a call may take where looks have an end.
constexpr std::chrono::milliseconds bounded_call_min{1000};
constexpr std::chrono::milliseconds bounded_call_max{10'000};

constexpr const char* lost_text = "the connection to the server was lost; waiting for it\n";

// Why a subscription ended: the visitor returned false, or it was the time to end; or the server
// closed the connection.
enum class StreamEnd { by_visitor, by_server };

using SteadyTime = std::chrono::steady_clock::time_point;

// Returns the time until `end`, 0 if that has passed, and at most `most`.
std::chrono::milliseconds time_left(const std::optional<SteadyTime>& end,
                                    std::chrono::milliseconds most) {
  if (!end) return most;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(*end - std::chrono::steady_clock::now());
  return std::clamp(left, std::chrono::milliseconds{0}, most);
}

struct Visitors {
  std::function<bool(const json::object&)> event;
  BroadcastVisitor broadcast;  // or none
  bool run_log = false;        // a second subscription: the run's log beside its events
};

// Moves params["from"] past the dropped part of the log and returns true, unless the subscription
// is to one run. A client that follows a few types may have received the latest one long ago, so
// that its position is dropped when the server returns from a retention. It has missed none of the
// dropped events: it received all matching ones until the connection was lost.
bool skip_dropped_history(const CallError& error, json::object& params) {
  if (code_of(error) != "HISTORY_DROPPED" || params.contains("run_id")) return false;
  const json::object& details = object_at(object_at(error.error, "data"), "details");
  const std::uint64_t first = number_at(details, "horizon") + 1;
  if (first <= number_at(params, "from")) return false;
  params["from"] = first;
  write_message("records before " + std::to_string(first) +
                " are in an archive; continuing there\n");
  return true;
}

// Makes an error of `failed`, with which the server ended the subscription: events are missing.
CallError failure_of(const json::object& failed) {
  const auto from = static_cast<std::int64_t>(number_at(failed, "from"));
  if (text_at(failed, "code") != "HISTORY_DROPPED") {
    return from_rejection({ErrorCode::STORAGE_DAMAGED,
                           text_at(failed, "message"),
                           {{"from", from}},
                           {"signalbox replay --verify"}});
  }
  const std::uint64_t horizon = number_at(failed, "horizon");
  return from_rejection({ErrorCode::HISTORY_DROPPED,
                         text_at(failed, "message"),
                         {{"from", from}, {"horizon", static_cast<std::int64_t>(horizon)}},
                         {"signalbox events --follow --from " + std::to_string(horizon + 1)}});
}

// Subscribes with `params` and calls the visitors until the subscription ends. Keeps
// params["from"] at the position at which the next one has to begin: with broadcasts that is still
// the latest event's, of which some may not have come. Events up to `visited` were visited before.
Called<StreamEnd> follow_once(Client& client, json::object& params, const Visitors& visitors,
                              bool is_first, std::uint64_t& visited) {
  if (visitors.run_log) {
    // The result is ignored: a server without `agent.log` refuses it, and has none to send.
    (void)client.call("events.subscribe",
                      {{"run_id", params.at("run_id")}, {"types", json::array{"agent.log"}}});
  }
  auto subscribed = client.call("events.subscribe", params);
  if (!subscribed && !is_first && skip_dropped_history(subscribed.error(), params)) {
    subscribed = client.call("events.subscribe", params);
  }
  if (!subscribed) return tl::unexpected(subscribed.error());
  params["from"] = number_at(*subscribed, "from");
  const std::string subscription = text_at(*subscribed, "subscription");
  for (;;) {
    const auto message = client.next_notification();
    if (!message) return StreamEnd::by_server;
    const json::object& event = object_at(*message, "params");
    const std::string method = text_at(*message, "method");
    // The run's log has no events, so it may be far ahead of what has come of them.
    const bool is_of_other = text_at(event, "subscription") != subscription;
    if (is_of_other && (method == "lagged" || method == "failed")) return StreamEnd::by_server;
    if (method == "lagged") {
      params["from"] = number_at(event, "from");
      return StreamEnd::by_server;
    }
    if (method == "failed") return tl::unexpected(failure_of(event));
    if (method != "event") {
      // Broadcasts come in the order of their events, and the last one may have others of the same
      // event behind it. The output of agents comes by a way of its own, ahead of events.
      if (method != "agent.log") {
        params["from"] = std::max(number_at(params, "from"), number_at(event, "position"));
      }
      if (visitors.broadcast) visitors.broadcast(method, event);
      continue;
    }
    const std::uint64_t position = number_at(event, "position");
    // The output of agents isn't of positions.
    const bool may_have_broadcasts = visitors.broadcast && !visitors.run_log;
    params["from"] = may_have_broadcasts ? position : position + 1;
    if (position <= visited) continue;
    visited = position;
    if (!visitors.event(event)) return StreamEnd::by_visitor;
  }
}

// Connects for looks until `end`, if there is one.
Called<Client> connect_until(const ServerAddress& server, const std::optional<SteadyTime>& end) {
  if (!end) return Client::connect(server);
  return Client::connect(server, std::max(bounded_call_min, time_left(end, bounded_call_max)));
}

bool is_transient(const CallError& error) {
  return error.exit_code == ExitCode::unreachable || error.exit_code == ExitCode::try_again;
}

Called<Client> reconnect(const ServerAddress& server, const std::optional<SteadyTime>& end) {
  const auto given_up_at = std::chrono::steady_clock::now() +
                           time_left(end, std::chrono::milliseconds(reconnect_timeout));
  Backoff pause(reconnect_pause_min, reconnect_pause_max);
  for (;;) {
    auto client = connect_until(server, end);
    const bool is_over = client || !is_transient(client.error());
    if (is_over || std::chrono::steady_clock::now() >= given_up_at) return client;
    std::this_thread::sleep_for(time_left(given_up_at, pause.next()));
  }
}

// Attempts to subscribe again that the server refuses for now, such as with OVERLOADED.
class RefusedAttempts {
 public:
  // Begins anew, once the server has taken one.
  void end() {
    first_.reset();
    pause_.reset();
  }
  // Blocks before the next attempt, twice as long each time. Returns false if the server has
  // refused them for as long as one that can't be connected to is waited for, or until `end`.
  bool wait(const CallError& error, const std::optional<SteadyTime>& end) {
    const auto now = std::chrono::steady_clock::now();
    if (!first_) first_ = now;
    if (now - *first_ > reconnect_timeout || (end && now >= *end)) return false;
    write_message(error.exit_code == ExitCode::unreachable
                      ? lost_text
                      : "refused for now: " + printable(message_of(error)) + "; trying again\n");
    std::this_thread::sleep_for(time_left(end, pause_.next()));
    return true;
  }

 private:
  std::optional<std::chrono::steady_clock::time_point> first_;
  Backoff pause_{refused_pause_min, refused_pause_max};
};

// Connects again after a subscription that has ended, or that was refused, to the next endpoint
// first. Returns the error if it is one that doesn't pass by itself, or for too long doesn't.
Called<void> connect_again(ServerAddress& server, const Called<StreamEnd>& ended, bool is_first,
                           RefusedAttempts& refused, std::optional<Client>& client,
                           const std::optional<SteadyTime>& end = std::nullopt) {
  server = server.after(client->endpoint());
  client.reset();
  if (ended) {
    refused.end();
    write_message(lost_text);
  } else if (is_first || !is_transient(ended.error()) || !refused.wait(ended.error(), end)) {
    return tl::unexpected(ended.error());
  }
  auto again = TRY(reconnect(server, end));
  client.emplace(std::move(again));
  return {};
}

// Takes all notifications that have come. Returns false if the server has ended the subscription:
// the look that follows the next one sees what this one would have announced.
Called<bool> drain(Client& client) {
  while (TRY(client.await_notification({}))) {
    const auto message = TRY(client.next_notification());
    const std::string method = text_at(message, "method");
    if (method == "lagged") return false;
    if (method != "failed") continue;
    const json::object& failed = object_at(message, "params");
    if (text_at(failed, "code") == "HISTORY_DROPPED") return false;
    return tl::unexpected(failure_of(failed));
  }
  return true;
}

Called<StreamEnd> look_while_connected(Client& client, const json::object& params,
                                       const LookTimes& times, const Look& look) {
  TRY(client.call("events.subscribe", params));
  for (;;) {
    // Decided before the look: what it sees is of the end or later.
    const bool is_last = times.end && std::chrono::steady_clock::now() >= *times.end;
    const auto looked = look(client);
    if (!looked && (is_last || !is_transient(looked.error()))) {
      return tl::unexpected(looked.error());
    }
    if (is_last) return StreamEnd::by_visitor;
    if (!looked && looked.error().exit_code == ExitCode::unreachable) return StreamEnd::by_server;
    const auto notified = client.await_notification(time_left(times.end, times.interval));
    if (!notified) return StreamEnd::by_server;
    if (!*notified) continue;
    std::this_thread::sleep_for(time_left(times.end, look_pause));
    const auto drained = drain(client);
    if (!drained && drained.error().exit_code != ExitCode::unreachable) {
      return tl::unexpected(drained.error());
    }
    if (!drained || !*drained) return StreamEnd::by_server;
  }
}

Called<void> follow_with_reconnect(const Invocation& invocation, json::object params,
                                   const Visitors& visitors) {
  TRY(complete_ids(invocation, params));
  auto server = TRY(invocation.server_address());
  auto connected = TRY(Client::connect(server));
  std::optional<Client> client(std::move(connected));
  RefusedAttempts refused;
  std::uint64_t visited = 0;
  for (bool first = true;; first = false) {
    const auto ended = follow_once(*client, params, visitors, first, visited);
    if (ended && *ended == StreamEnd::by_visitor) return {};
    TRY(connect_again(server, ended, first, refused, client));
  }
}

}  // namespace

Called<void> keep_looking(const Invocation& invocation, const json::object& params,
                          const LookTimes& times, const Look& look) {
  auto server = TRY(invocation.server_address());
  auto connected = TRY(connect_until(server, times.end));
  std::optional<Client> client(std::move(connected));
  RefusedAttempts refused;
  for (bool first = true;; first = false) {
    const auto ended = look_while_connected(*client, params, times, look);
    if (ended && *ended == StreamEnd::by_visitor) return {};
    TRY(connect_again(server, ended, first, refused, client, times.end));
    // A server that ends each subscription at once isn't asked without a pause.
    if (ended) std::this_thread::sleep_for(time_left(times.end, look_pause));
  }
}

Called<void> follow_events(const Invocation& invocation, json::object params,
                           const std::function<bool(const json::object&)>& visit,
                           const BroadcastVisitor& visit_broadcast) {
  return follow_with_reconnect(invocation, std::move(params), {visit, visit_broadcast});
}

Called<void> follow_run_events(const Invocation& invocation, json::object params,
                               const std::function<bool(const json::object&)>& visit,
                               const BroadcastVisitor& visit_broadcast) {
  return follow_with_reconnect(invocation, std::move(params), {visit, visit_broadcast, true});
}

}  // namespace signalbox
