// Commands about ticks: the alternatives of Command (command.h) that concern loops, and what a
// begin finds in a run root's marker file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/ids.h"
#include "domain/station_events.h"

namespace signalbox {

// The content of a run root's `logs/tick-in-progress.json` at the moment of a begin.
struct FoundMarker {
  enum class Kind : std::uint8_t {
    none,
    known,       // written for a tick of this log: the log has its state
    foreign,     // written for a tick that this log doesn't know
    unreadable,  // not readable as a marker
  };
  Kind kind = Kind::none;
  std::string path;
  std::string text;          // of the file, cut to fit a record
  std::int64_t age_ms = -1;  // -1: unknown
  std::string loop = {};     // of the tick, if it is known
  Token token = 0;           // of the tick, if it is known
};

struct BeginTick {
  std::string loop;
  std::optional<std::string> stage;
  std::optional<std::string> reason;
  std::optional<std::int64_t> lease_ms;
  std::optional<RunId> run_id;
  std::optional<std::string> run_root;  // absolute
  std::optional<Token> lock_token;      // of a lock on which the tick depends

  FoundMarker marker;
  bool own_loop = false;    // a loop of the service (own_loops.h), which recovers by itself
  std::int64_t due_ns = 0;  // as in TickStarted
  Digest policy_digest;     // as in TickStarted
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
  std::optional<bool> force;        // also recover a tick that may still be under way
  std::optional<Token> token = {};  // of the tick that is meant; 0: that of an unknown marker
};
BOOST_DESCRIBE_STRUCT(RecoverTick, (), (loop, reason, force, token))

// Sent by the service itself; no client can send them.

// Ends the lease of the tick of `token`.
struct TimeOutTick {
  std::string loop;
  Token token = 0;
  std::int64_t elapsed_ms = 0;
};

// Record that a begin was refused with TICK_IN_PROGRESS, or with PREVIOUS_TICK_INCOMPLETE.
struct NoteTickSkipped {
  BeginTick begin;
};
struct NoteTickIncomplete {
  BeginTick begin;
};

}  // namespace signalbox
