// Events of a card, from its submission to its merge. They lie in the card's stream, `card/<id>`.
// The transition table is in card.h.
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
  FreeText brief;             // the task description that the agent gets
  KeptText key;               // at most one card of a key is worked on at a time; or empty
  std::int32_t priority = 0;  // a higher one comes first

  friend bool operator==(const CardSubmitted&, const CardSubmitted&) = default;
};
BOOST_DESCRIBE_STRUCT(CardSubmitted, (), (project, title, brief, key, priority))

// The card's run starts with the next event of the same commit, or is reopened by it: then only the
// push of its work is left to do.
struct CardStarted {
  static constexpr EventTag tag{802, 1, "CardStarted"};
  RunId run_id{};
  std::uint32_t attempt = 1;  // number among the starts of the card's runs

  friend bool operator==(const CardStarted&, const CardStarted&) = default;
};
BOOST_DESCRIBE_STRUCT(CardStarted, (), (run_id, attempt))

// The card's run has reached the station that checks the work.
struct CardVerificationStarted {
  static constexpr EventTag tag{803, 1, "CardVerificationStarted"};
  RunId run_id{};
  KeptText station;

  friend bool operator==(const CardVerificationStarted&, const CardVerificationStarted&) = default;
};
BOOST_DESCRIBE_STRUCT(CardVerificationStarted, (), (run_id, station))

// All stations of the card's run succeeded, the push included.
struct CardVerified {
  static constexpr EventTag tag{804, 1, "CardVerified"};
  RunId run_id{};
  Token token = 0;  // of the run; its branch is named by it
  KeptText commit;  // the pushed commit, or empty if the last station reported none

  friend bool operator==(const CardVerified&, const CardVerified&) = default;
};
BOOST_DESCRIBE_STRUCT(CardVerified, (), (run_id, token, commit))

// The card waits until it is retried at retry_at_ns, or until somebody unblocks it.
struct CardBlocked {
  static constexpr EventTag tag{805, 1, "CardBlocked"};
  RunId run_id{};                // the run that failed, or nil: somebody blocked the card
  KeptText code;                 // e.g. CHECKS_FAILED, MERGE_CONFLICT, BLOCKED
  FreeText message;              // for a person
  std::int64_t retry_at_ns = 0;  // UTC; 0: no automatic retry

  friend bool operator==(const CardBlocked&, const CardBlocked&) = default;
};
BOOST_DESCRIBE_STRUCT(CardBlocked, (), (run_id, code, message, retry_at_ns))

// The last run that the policy allows the card failed, or the merge of that run's work.
struct CardFailed {
  static constexpr EventTag tag{806, 1, "CardFailed"};
  RunId run_id{};
  KeptText code;
  FreeText message;

  friend bool operator==(const CardFailed&, const CardFailed&) = default;
};
BOOST_DESCRIBE_STRUCT(CardFailed, (), (run_id, code, message))

// The card is back in the backlog, or, if it was verified, it is merged without a further wait.
struct CardUnblocked {
  static constexpr EventTag tag{807, 1, "CardUnblocked"};
  FreeText reason;
  bool by_itself = false;  // true: its automatic retry was due; false: somebody unblocked it

  friend bool operator==(const CardUnblocked&, const CardUnblocked&) = default;
};
BOOST_DESCRIBE_STRUCT(CardUnblocked, (), (reason, by_itself))

// The run that merges the card starts with the next event of the same commit.
struct CardMergeStarted {
  static constexpr EventTag tag{808, 1, "CardMergeStarted"};
  RunId run_id{};

  friend bool operator==(const CardMergeStarted&, const CardMergeStarted&) = default;
};
BOOST_DESCRIBE_STRUCT(CardMergeStarted, (), (run_id))

// The merge failed for a reason outside the card; another merge will follow.
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
  KeptText commit;  // head of the base branch after the merge

  friend bool operator==(const CardMerged&, const CardMerged&) = default;
};
BOOST_DESCRIBE_STRUCT(CardMerged, (), (run_id, commit))

// The card's place among those that aren't worked on yet changed, and nothing else: neither its
// status nor the times that count from its other events.
struct CardPrioritySet {
  static constexpr EventTag tag{811, 1, "CardPrioritySet"};
  std::int32_t priority = 0;  // a higher one comes first
  FreeText reason;

  friend bool operator==(const CardPrioritySet&, const CardPrioritySet&) = default;
};
BOOST_DESCRIBE_STRUCT(CardPrioritySet, (), (priority, reason))

using CardEvents = std::variant<CardSubmitted, CardStarted, CardVerificationStarted, CardVerified,
                                CardBlocked, CardFailed, CardUnblocked, CardMergeStarted,
                                CardMergeDeferred, CardMerged, CardPrioritySet>;
using CardEvent = OneOf<CardEvents>;

}  // namespace signalbox
