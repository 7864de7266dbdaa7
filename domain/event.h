// Every event there is, and the record that carries one through the log.
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
#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/bind.hpp>

#include "domain/access_events.h"
#include "domain/card_events.h"
#include "domain/event_parts.h"
#include "domain/ids.h"
#include "domain/lock_events.h"
#include "domain/plan_events.h"
#include "domain/project_events.h"
#include "domain/run_events.h"
#include "domain/server_events.h"
#include "domain/station_events.h"
#include "domain/tick_events.h"

namespace signalbox {

using EventNouns = std::variant<ServerEvent, RunEvent, StationEvent, LockEvent, TickEvent,
                                PlanEvent, AccessEvent, ProjectEvent, CardEvent>;
using Event = OneOf<EventNouns>;

// Calls `visitor` with the event itself, whatever noun it belongs to. The visitor must take all.
template <class Visitor, class AnyEvent>
requires std::is_same_v<std::remove_cvref_t<AnyEvent>, Event>
decltype(auto) apply(Visitor&& visitor, AnyEvent&& event) {
  return std::visit(
      [&visitor](auto&& noun) -> decltype(auto) {
        return std::visit(visitor, std::forward<decltype(noun)>(noun));
      },
      std::forward<AnyEvent>(event));
}

EventTag tag_of(const Event& event);

template <class Noun, class T>
using HasEvent = boost::mp11::mp_contains<typename Noun::Alternatives, T>;

// The noun's variant that has T among its events.
template <class T>
using NounOf = boost::mp11::mp_front<
    boost::mp11::mp_copy_if_q<EventNouns, boost::mp11::mp_bind<HasEvent, boost::mp11::_1, T>>>;

template <class T, class Noun>
concept EventOf = HasEvent<Noun, T>::value;

// The event itself if it is a T, else nullptr.
template <class T>
const T* event_as(const Event& event) {
  const auto* noun = std::get_if<NounOf<T>>(&event);
  return noun == nullptr ? nullptr : std::get_if<T>(noun);
}

// Which history an event belongs to. Stored as a number: append only.
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

struct Stream {
  StreamKind kind = StreamKind::server;
  RunId run_id{};    // run: its id; card: the card's
  std::string name;  // a lock's key, a tick's loop, a project's name; empty for the others

  static Stream server() { return {}; }
  static Stream run(const RunId& id) { return {StreamKind::run, id, {}}; }
  static Stream lock(std::string key) { return {StreamKind::lock, {}, std::move(key)}; }
  static Stream tick(std::string loop) { return {StreamKind::tick, {}, std::move(loop)}; }
  static Stream project(std::string name) { return {StreamKind::project, {}, std::move(name)}; }
  static Stream card(const CardId& id) { return {StreamKind::card, id, {}}; }
  static Stream access() { return {StreamKind::access, {}, {}}; }
  friend bool operator==(const Stream&, const Stream&) = default;
};

// "server", "run/<id>", "lock/<key>", "tick/<loop>", "project/<name>", "card/<id>", "access".
std::string to_string(const Stream& stream);

// One entry of the register.
struct Record {
  Position position = 0;
  Stream stream;
  std::int64_t recorded_at_ns = 0;  // UTC; for people: order is position
  std::string actor;                // who: "uid:1000", or "signalbox" for the service itself
  std::string command_id;           // the client's id of the command, or empty
  Digest request_digest;            // of the command that command_id stands for; else zero
  Position cause = 0;               // the event that led to this one, or 0
  Uuid span_id{};                   // the attempt it belongs to, or nil
  Event event;
  bool redacted = false;  // texts of the event were erased since; a PayloadRedacted says which

  friend bool operator==(const Record&, const Record&) = default;
};

}  // namespace signalbox
