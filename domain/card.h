// The state of a card that isn't merged, and its transition table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/event.h"
#include "domain/limits.h"
#include "domain/transition.h"

namespace signalbox {

enum class CardStatus : std::uint8_t {
  backlog = 1,
  running = 2,    // its run is under way
  verifying = 3,  // its run has reached the checks
  verified = 4,   // its work is pushed and waits for the merge
  merged = 5,
  blocked = 6,
  failed = 7,
};
BOOST_DESCRIBE_ENUM(CardStatus, backlog, running, verifying, verified, merged, blocked, failed)

using CardTransition = Transition<CardStatus>;

// The code of a card that a person blocked.
inline constexpr std::string_view blocked_by_person_code = "BLOCKED";

// The transition table, drawn in README.md. evolve() aborts on a pair that isn't in it.
inline constexpr std::array card_transitions = {
    CardTransition{CardStatus::backlog, CardStarted::tag, CardStatus::running},
    CardTransition{CardStatus::backlog, CardBlocked::tag, CardStatus::blocked},
    CardTransition{CardStatus::running, CardVerificationStarted::tag, CardStatus::verifying},
    CardTransition{CardStatus::running, CardVerified::tag, CardStatus::verified},
    CardTransition{CardStatus::running, CardBlocked::tag, CardStatus::blocked},
    CardTransition{CardStatus::running, CardFailed::tag, CardStatus::failed},
    CardTransition{CardStatus::verifying, CardVerified::tag, CardStatus::verified},
    CardTransition{CardStatus::verifying, CardBlocked::tag, CardStatus::blocked},
    CardTransition{CardStatus::verifying, CardFailed::tag, CardStatus::failed},
    CardTransition{CardStatus::verified, CardMergeStarted::tag, CardStatus::verified},
    CardTransition{CardStatus::verified, CardMergeDeferred::tag, CardStatus::verified},
    CardTransition{CardStatus::verified, CardMerged::tag, CardStatus::merged},
    CardTransition{CardStatus::verified, CardUnblocked::tag, CardStatus::verified},
    CardTransition{CardStatus::verified, CardBlocked::tag, CardStatus::blocked},
    CardTransition{CardStatus::verified, CardFailed::tag, CardStatus::failed},
    CardTransition{CardStatus::blocked, CardBlocked::tag, CardStatus::blocked},
    CardTransition{CardStatus::blocked, CardUnblocked::tag, CardStatus::backlog},
    CardTransition{CardStatus::failed, CardBlocked::tag, CardStatus::blocked},
    CardTransition{CardStatus::failed, CardUnblocked::tag, CardStatus::backlog},
    CardTransition{CardStatus::backlog, CardPrioritySet::tag, CardStatus::backlog},
    CardTransition{CardStatus::running, CardPrioritySet::tag, CardStatus::running},
    CardTransition{CardStatus::verifying, CardPrioritySet::tag, CardStatus::verifying},
    CardTransition{CardStatus::verified, CardPrioritySet::tag, CardStatus::verified},
    CardTransition{CardStatus::blocked, CardPrioritySet::tag, CardStatus::blocked},
    CardTransition{CardStatus::failed, CardPrioritySet::tag, CardStatus::failed},
};

// Returns the status after the event of this number, or nullopt if the table has no such pair.
constexpr std::optional<CardStatus> next_status(CardStatus from, std::uint16_t event_number) {
  return next_in(card_transitions, from, event_number);
}

struct Card {
  CardId id{};
  CardStatus status = CardStatus::backlog;
  std::string project;
  std::string title;
  std::string brief;
  std::string key;
  std::int32_t priority = 0;
  Position submitted_at = 0;
  std::uint32_t runs = 0;          // runs since it was submitted or unblocked by a person
  std::uint32_t merges = 0;        // merges begun since it was verified or unblocked
  RunId run_id{};                  // its latest run, or nil
  RunId merge_run_id{};            // the merge under way, or nil
  std::string code;                // why it is blocked or failed, or its merge was deferred
  std::string message;             // likewise
  std::int64_t retry_at_ns = 0;    // UTC; while it is blocked: when it is retried, or 0: never
  std::int64_t changed_at_ns = 0;  // UTC
  Position verified_at = 0;        // while it is verified; cards are merged in this order
  Token token = 0;                 // of the verified run; its branch is named by it
  std::string commit;              // pushed by the verified run
  Position changed_at = 0;         // position of its latest event but CardPrioritySet

  // Returns whether the card counts against the policy's limits of concurrent agents.
  [[nodiscard]] bool has_agent() const {
    return status == CardStatus::running || status == CardStatus::verifying;
  }
  [[nodiscard]] bool is_merging() const { return merge_run_id != RunId{}; }
  // Returns how many merges were deferred since it was verified or unblocked.
  [[nodiscard]] std::uint32_t deferred_merges() const { return merges - (is_merging() ? 1U : 0U); }
  // Returns whether its merge was deferred so often that each further one waits (merge_due_ns()),
  // also while such a merge is under way.
  [[nodiscard]] bool was_deferred_often() const {
    return status == CardStatus::verified && deferred_merges() >= limits::card_merges_max;
  }
  // Returns whether its next merge waits, because the ones before were deferred often.
  [[nodiscard]] bool waits_for_merge() const { return was_deferred_often() && !is_merging(); }

  friend bool operator==(const Card&, const Card&) = default;
};
BOOST_DESCRIBE_STRUCT(Card, (),
                      (id, status, project, title, brief, key, priority, submitted_at, runs, merges,
                       run_id, merge_run_id, code, message, retry_at_ns, changed_at_ns, verified_at,
                       token, commit, changed_at))

}  // namespace signalbox
