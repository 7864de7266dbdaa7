// Every event there is, the stream that it belongs to, and the record in which the log holds it.
//
// Numbers of retired events stay here as comments, so that none is used twice:
//   (none yet)
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <boost/describe/enum.hpp>

#include "domain/access_events.h"
#include "domain/card_events.h"
#include "domain/event_parts.h"
#include "domain/ids.h"
#include "domain/lock_events.h"
#include "domain/one_of.h"
#include "domain/plan_events.h"
#include "domain/project_events.h"
#include "domain/run_events.h"
#include "domain/runner_events.h"
#include "domain/server_events.h"
#include "domain/station_events.h"
#include "domain/tick_events.h"

namespace signalbox {

using EventNouns = std::variant<ServerEvent, RunEvent, StationEvent, LockEvent, TickEvent,
                                PlanEvent, AccessEvent, ProjectEvent, CardEvent, RunnerEvent>;
using Event = OneOf<EventNouns>;

// Calls `visitor` with the innermost event and returns its result. The visitor accepts every event
// type.
template <class Visitor, class AnyEvent>
requires std::is_same_v<std::remove_cvref_t<AnyEvent>, Event>
decltype(auto) apply(Visitor&& visitor, AnyEvent&& event) {
  return std::visit(
      [&visitor](auto&& noun) -> decltype(auto) {
        return std::visit(visitor, std::forward<decltype(noun)>(noun));
      },
      std::forward<AnyEvent>(event));
}

// Returns the number, version and name of the event's type.
EventTag tag_of(const Event& event);

// The noun's variant that has T among its alternatives.
template <class T>
using NounOf = std::variant_alternative_t<holder_index<EventNouns, T>, EventNouns>;

template <class T, class Noun>
concept EventOf = AlternativeOf<T, typename Noun::Alternatives>;

// Returns the event if it is a T, else nullptr.
template <class T>
const T* event_as(const Event& event) {
  const auto* noun = std::get_if<NounOf<T>>(&event);
  return noun == nullptr ? nullptr : std::get_if<T>(noun);
}

// The kind of stream. Stored as a number: append only.
enum class StreamKind : std::uint8_t {
  server = 1,
  run = 2,
  lock = 3,
  tick = 4,
  project = 7,
  card = 8,
  access = 9
};
BOOST_DESCRIBE_ENUM(StreamKind, server, run, lock, tick, project, card, access)

// The stream that an event belongs to: the history of one run, lock, loop, project or card, of
// access, or of the server.
struct Stream {
  StreamKind kind = StreamKind::server;
  RunId run_id{};    // run: the run's id; card: the card's id
  std::string name;  // lock: key; tick: loop; project: name; else empty

  static Stream server() { return {}; }
  static Stream run(const RunId& id) { return {StreamKind::run, id, {}}; }
  static Stream lock(std::string key) { return {StreamKind::lock, {}, std::move(key)}; }
  static Stream tick(std::string loop) { return {StreamKind::tick, {}, std::move(loop)}; }
  static Stream project(std::string name) { return {StreamKind::project, {}, std::move(name)}; }
  static Stream card(const CardId& id) { return {StreamKind::card, id, {}}; }
  static Stream access() { return {StreamKind::access, {}, {}}; }
  friend bool operator==(const Stream&, const Stream&) = default;
};

// Returns "server", "run/<id>", "lock/<key>", "tick/<loop>", "project/<name>", "card/<id>" or
// "access".
std::string to_string(const Stream& stream);

// One entry of the log: an event with its position, time, actor and cause.
struct Record {
  Position position = 0;
  Stream stream;
  std::int64_t recorded_at_ns = 0;  // UTC; for people: the order is that of the positions
  std::string actor;                // e.g. "uid:1000", or "signalbox" for the service itself
  std::string command_id;           // the client's id of the command, or empty
  Digest request_digest;            // of the request with this command_id; else zero
  Position cause = 0;               // position of the event that led to this one, or 0
  Uuid span_id{};                   // of the attempt or run it belongs to (run_span.h), or nil
  Event event;
  bool redacted = false;  // free texts were erased since; a PayloadRedacted names the fields

  friend bool operator==(const Record&, const Record&) = default;
};

}  // namespace signalbox
