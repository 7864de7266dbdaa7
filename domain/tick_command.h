// Commands about ticks. A part of command.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/ids.h"
#include "domain/station_events.h"

namespace signalbox {

// What a run root's `logs/tick-in-progress.json` says at the moment of a begin.
struct FoundMarker {
  enum class Kind : std::uint8_t {
    none,
    known,       // of a tick of this log: the log says what became of it
    foreign,     // of a tick that this log doesn't know
    unreadable,  // it can't be read as a marker
  };
  Kind kind = Kind::none;
  std::string path;
  std::string text;          // as far as it fits
  std::int64_t age_ms = -1;  // -1: unknown
};

struct BeginTick {
  std::string loop;
  std::optional<std::string> stage;
  std::optional<std::string> reason;
  std::optional<std::int64_t> lease_ms;
  std::optional<RunId> run_id;
  std::optional<std::string> run_root;  // absolute
  std::optional<Token> lock_token;      // of a lock without which the tick is worth nothing

  FoundMarker marker;
  bool own_loop = false;    // of the service: it recovers by itself
  std::int64_t due_ns = 0;  // as in TickStarted
  Digest policy_digest;     // likewise
};
BOOST_DESCRIBE_STRUCT(BeginTick, (), (loop, stage, reason, lease_ms, run_id, run_root, lock_token))

enum class TickOutcome : std::uint8_t { succeeded = 1, failed = 2 };
BOOST_DESCRIBE_ENUM(TickOutcome, succeeded, failed)

struct EndTick {
  std::string loop;
  Token token = 0;
  TickOutcome outcome = TickOutcome::succeeded;
  std::optional<std::string> error;
};
BOOST_DESCRIBE_STRUCT(EndTick, (), (loop, token, outcome, error))

struct RecoverTick {
  std::string loop;
  std::string reason;
  std::optional<bool> force;  // one that may still be under way, too
};
BOOST_DESCRIBE_STRUCT(RecoverTick, (), (loop, reason, force))

// The service's own; no client can send them.

// The lease of the tick of `token` ran out.
struct TimeOutTick {
  std::string loop;
  Token token = 0;
  std::int64_t elapsed_ms = 0;
};

// A begin was refused with TICK_IN_PROGRESS, or PREVIOUS_TICK_INCOMPLETE: that is worth an event.
struct NoteTickSkipped {
  BeginTick begin;
};
struct NoteTickIncomplete {
  BeginTick begin;
};

}  // namespace signalbox
