// What can happen to a card. Every event lies in its stream, `card/<id>`.
#pragma once

#include <cstdint>
#include <variant>

#include <boost/describe/class.hpp>

#include "domain/event_parts.h"
#include "domain/ids.h"

namespace signalbox {

struct CardSubmitted {
  static constexpr EventTag tag{801, 1, "CardSubmitted"};
  KeptText project;
  FreeText title;
  FreeText brief;             // what is to be done, as the agent is told
  KeptText key;               // of cards with the same one, one is worked on at a time; or empty
  std::int32_t priority = 0;  // the highest first

  friend bool operator==(const CardSubmitted&, const CardSubmitted&) = default;
};
BOOST_DESCRIBE_STRUCT(CardSubmitted, (), (project, title, brief, key, priority))

// Its run starts with the next event of the same commit.
struct CardStarted {
  static constexpr EventTag tag{802, 1, "CardStarted"};
  RunId run_id{};
  std::uint32_t attempt = 1;  // which of its runs

  friend bool operator==(const CardStarted&, const CardStarted&) = default;
};
BOOST_DESCRIBE_STRUCT(CardStarted, (), (run_id, attempt))

// Its run has come to the station that checks the work.
struct CardVerificationStarted {
  static constexpr EventTag tag{803, 1, "CardVerificationStarted"};
  RunId run_id{};
  KeptText station;

  friend bool operator==(const CardVerificationStarted&, const CardVerificationStarted&) = default;
};
BOOST_DESCRIBE_STRUCT(CardVerificationStarted, (), (run_id, station))

// Its run succeeded with all its stations, the push included.
struct CardVerified {
  static constexpr EventTag tag{804, 1, "CardVerified"};
  RunId run_id{};
  Token token = 0;  // of the run, by which its branch is named
  KeptText commit;  // what was pushed, or empty if its last station told none

  friend bool operator==(const CardVerified&, const CardVerified&) = default;
};
BOOST_DESCRIBE_STRUCT(CardVerified, (), (run_id, token, commit))

// It goes on by itself at retry_at_ns, or when somebody unblocks it.
struct CardBlocked {
  static constexpr EventTag tag{805, 1, "CardBlocked"};
  RunId run_id{};                // that failed, or nil: somebody blocked it
  KeptText code;                 // e.g. CHECKS_FAILED, MERGE_CONFLICT, BLOCKED
  FreeText message;              // for a person
  std::int64_t retry_at_ns = 0;  // UTC; 0: not by itself

  friend bool operator==(const CardBlocked&, const CardBlocked&) = default;
};
BOOST_DESCRIBE_STRUCT(CardBlocked, (), (run_id, code, message, retry_at_ns))

// The last of its runs failed.
struct CardFailed {
  static constexpr EventTag tag{806, 1, "CardFailed"};
  RunId run_id{};
  KeptText code;
  FreeText message;

  friend bool operator==(const CardFailed&, const CardFailed&) = default;
};
BOOST_DESCRIBE_STRUCT(CardFailed, (), (run_id, code, message))

// It is back in the backlog.
struct CardUnblocked {
  static constexpr EventTag tag{807, 1, "CardUnblocked"};
  FreeText reason;
  bool by_itself = false;  // its time to be retried has come; else somebody did it

  friend bool operator==(const CardUnblocked&, const CardUnblocked&) = default;
};
BOOST_DESCRIBE_STRUCT(CardUnblocked, (), (reason, by_itself))

// The run that merges it starts with the next event of the same commit.
struct CardMergeStarted {
  static constexpr EventTag tag{808, 1, "CardMergeStarted"};
  RunId run_id{};

  friend bool operator==(const CardMergeStarted&, const CardMergeStarted&) = default;
};
BOOST_DESCRIBE_STRUCT(CardMergeStarted, (), (run_id))

// The merge didn't come about for a reason that isn't the card's: there will be another one.
struct CardMergeDeferred {
  static constexpr EventTag tag{809, 1, "CardMergeDeferred"};
  RunId run_id{};
  KeptText code;  // e.g. BASE_MOVED
  FreeText message;

  friend bool operator==(const CardMergeDeferred&, const CardMergeDeferred&) = default;
};
BOOST_DESCRIBE_STRUCT(CardMergeDeferred, (), (run_id, code, message))

struct CardMerged {
  static constexpr EventTag tag{810, 1, "CardMerged"};
  RunId run_id{};
  KeptText commit;  // of the base, after it

  friend bool operator==(const CardMerged&, const CardMerged&) = default;
};
BOOST_DESCRIBE_STRUCT(CardMerged, (), (run_id, commit))

using CardEvents =
    std::variant<CardSubmitted, CardStarted, CardVerificationStarted, CardVerified, CardBlocked,
                 CardFailed, CardUnblocked, CardMergeStarted, CardMergeDeferred, CardMerged>;
using CardEvent = OneOf<CardEvents>;

}  // namespace signalbox
