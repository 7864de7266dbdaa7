// `events.*`: reading the log, and subscribing to it.
#include <algorithm>
#include <cstdint>
#include <utility>

#include <boost/json/serialize.hpp>

#include "server/engine/dropped_history.h"
#include "server/engine/engine.h"
#include "server/followers/projector.h"
#include "server/limits.h"
#include "server/platform/clock.h"
#include "server/rpc/agent_logs.h"
#include "server/rpc/broadcasts.h"
#include "server/rpc/command_call.h"
#include "server/rpc/error_json.h"
#include "server/rpc/event_feed.h"
#include "server/rpc/methods/event_page.h"
#include "server/rpc/methods/event_types.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/methods/query_params.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/read_models.h"
#include "store/codec.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct ReadEvents {
  std::optional<std::string> from;  // a position, a time or an age
  std::optional<std::uint32_t> limit;
  std::optional<RunId> run_id;
  std::optional<Uuid> span_id;
  std::vector<std::string> types;
  std::optional<std::string> stream;
  std::optional<std::string> actor;
  bool backwards = false;
};
BOOST_DESCRIBE_STRUCT(ReadEvents, (),
                      (from, limit, run_id, span_id, types, stream, actor, backwards))

struct SubscribeEvents {
  std::optional<Position> from;
  std::optional<RunId> run_id;
  std::optional<Uuid> span_id;
  std::vector<std::string> types;
};
BOOST_DESCRIBE_STRUCT(SubscribeEvents, (), (from, run_id, span_id, types))

Decided<EventFilter> event_filter_from(const std::optional<RunId>& run_id,
                                       const std::optional<Uuid>& span_id,
                                       const std::vector<std::string>& types,
                                       std::vector<std::string> known = {}) {
  for (const EventTag& tag : event_tags()) known.emplace_back(tag.name);
  for (const std::string& type : types) {
    if (std::find(known.begin(), known.end(), type) == known.end()) {
      return reject(ErrorCode::INVALID_PARAMS, "there is no event type " + type,
                    {{"field", std::string("types")}, {"types", known}},
                    {"signalbox events --list-types"});
    }
  }
  return EventFilter{run_id, {types.begin(), types.end()}, span_id};
}

// Reads the page once everything that the caller can have seen is durable, and answers with it.
void answer_page(Api& api, const Responder& responder, const std::string& caller, EventPage page) {
  const auto read = [&api, responder, caller, page = std::move(page)](Durability durability) {
    if (durability == Durability::unproved) return responder.ask_again();
    // Off the engine's thread, since a page reads many records and is large as text. Each caller
    // has a lane: many requests of one, over however many connections, keep no other waiting.
    api.log_readers.run({.name = "events for " + caller},
                        [&api, responder, page]() -> std::function<void()> {
                          const Position tail = api.log.tail();
                          return responder.prepare(read_event_page(api.log, tail, page), tail);
                        });
  };
  api.engine.release_when_durable(read, Patience::query);
}

void read(Api& api, Call& call) {
  read_moment(call.params, "from");
  const auto params = from_json<ReadEvents>(call.params);
  if (!params) return call.responder.reject(params.error());
  auto filter = event_filter_from(params->run_id, params->span_id, params->types);
  if (!filter) return call.responder.reject(filter.error());
  filter->stream = params->stream;
  filter->actor = params->actor;
  const auto limit = page_limit(params->limit, 100, events_read_rows_max);
  if (!limit) return call.responder.reject(limit.error());
  const auto start = read_page_start(params->from, params->backwards, api.clock.wall_ns());
  if (!start) return call.responder.reject(start.error());
  if (start->position && api.log.horizon().first_dropped(*start->position, *start->position)) {
    return call.responder.reject(history_dropped(api.log, *start->position));
  }
  EventPage page{*start, *limit, std::move(*filter), params->backwards};
  const std::string& caller = call.origin.actor;
  if (!page.filter.run_id) return answer_page(api, call.responder, caller, std::move(page));
  // The read models know where a run's events are. A page doesn't wait for them, nor need them.
  const auto answer = [&api, responder = call.responder, caller](const EventPage& found) {
    api.post([&api, responder, caller, found] { answer_page(api, responder, caller, found); });
  };
  take_turn(api, call.responder, [&api, answer, page](const QueryTurn& turn) {
    api.projector.query(
        0,
        [answer, page, turn](const RunIndex& index) {
          EventPage found = page;
          found.places = places_of_run(index, *page.filter.run_id);
          answer(found);
        },
        [answer, page](const StoreError&) { answer(page); });
  });
}

// Whoever closes a TCP connection to which nothing is sent keeps its place until the kernel
// notices. A caller that comes and goes would have taken all of its places by then. Others who have
// ended their output, and still read, lose theirs only if everybody has too many.
bool take_subscription(EventFeed& feed, Peer& peer) {
  if (!feed.full() && peer.take_subscription()) return true;
  feed.close_gone(peer, /*of_all_callers=*/feed.full() || !peer.is_caller_full());
  if (!feed.full() && peer.take_subscription()) return true;
  peer.count_refused_subscription();
  return false;
}

void subscribe(Api& api, Call& call, EventFeed& feed,
               const SubscribeAgentLogs& subscribe_agent_logs) {
  if (!call.responder.peer()->takes_deliveries()) {
    return call.responder.reject(
        {ErrorCode::INVALID_REQUEST,
         "this connection carries answers only; events come over GET /v1/events",
         {},
         {"signalbox events --follow"}});
  }
  const auto params = from_json<SubscribeEvents>(call.params);
  if (!params) return call.responder.reject(params.error());
  auto filter =
      event_filter_from(params->run_id, params->span_id, params->types, broadcast_names());
  if (!filter) return call.responder.reject(filter.error());
  // They are derived from all records.
  filter->has_broadcasts = call.responder.peer()->records_per_second_max() == Peer::every_record;
  const Position tail = api.engine.world().position;
  const Position from = std::max<Position>(params->from.value_or(tail + 1), 1);
  // Records of an open run are never dropped.
  const bool all_there = params->run_id && api.engine.world().find_run(*params->run_id) != nullptr;
  const EventFeed::Start start{from, api.log.horizon().dropped_at};
  if (from <= api.log.horizon().position && !all_there) {
    return call.responder.reject(history_dropped(api.log, from));
  }
  if (from > tail + 1) {
    return call.responder.reject({ErrorCode::POSITION_NOT_FOUND,
                                  "the log ends at " + std::to_string(tail),
                                  {position_detail("from", from), position_detail("tail", tail)},
                                  {"signalbox events --follow"}});
  }
  if (!take_subscription(feed, *call.responder.peer())) {
    return call.responder.reject(
        {ErrorCode::OVERLOADED,
         "too many subscriptions",
         {{"subscriptions_max", static_cast<std::int64_t>(subscriptions_max)},
          {"caller_subscriptions_max", static_cast<std::int64_t>(caller_subscriptions_max)}},
         {"signalbox rpc server.status"}});
  }
  // The answer is sent first; the events follow it on the same connection.
  const std::string subscription = to_string(api.ids.next_span_id());
  json::object result;
  result["subscription"] = subscription;
  result["from"] = from;
  call.responder.result(std::move(result));
  call.responder.then([&api, &feed, subscribe_agent_logs, responder = call.responder, subscription,
                       start, caller = call.origin.actor, filter = std::move(*filter)] {
    feed.subscribe(
        responder.peer(), subscription, start, filter,
        Broadcasts(filter.wants_broadcasts() ? broadcast_sources(api) : BroadcastSources()),
        responder.hides_tokens(), caller);
    if (filter.types.contains(agent_log_name)) {
      // The span of a run is its id. Another span is that of no run, so that it gets no output.
      subscribe_agent_logs(responder.peer(), subscription,
                           filter.run_id ? filter.run_id : filter.span_id);
    }
  });
}

}  // namespace

std::vector<Method> event_methods(EventFeed& feed, SubscribeAgentLogs subscribe_agent_logs) {
  const Handler subscribe_with_parts =
      [&feed, subscribe_agent_logs = std::move(subscribe_agent_logs)](Api& api, Call& call) {
        subscribe(api, call, feed, subscribe_agent_logs);
      };
  return {
      {"events.read", false, Role::viewer, params_of<ReadEvents>(), read},
      {"events.types", false, Role::viewer, params_of<NoParams>(),
       [](Api&, Call& call) { call.responder.result(event_types_view()); }},
      {"events.subscribe", false, Role::viewer, params_of<SubscribeEvents>(), subscribe_with_parts},
  };
}

}  // namespace signalbox
