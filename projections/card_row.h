// The row of a card, on the board or merged, as lists show it. Computed by applying the card's
// events.
#pragma once

#include <cstdint>
#include <string>

#include <boost/describe/class.hpp>

#include "domain/card.h"
#include "domain/event.h"
#include "store/store_error.h"

namespace signalbox {

struct CardRow {
  CardId card_id{};
  CardStatus status = CardStatus::backlog;
  std::string project;
  std::string title;
  std::string key;
  std::int32_t priority = 0;
  // Number of runs since the card was submitted or an operator unblocked it.
  std::uint32_t runs = 0;
  std::uint32_t merges = 0;  // number of merges begun since the card was verified or unblocked
  RunId run_id{};            // its latest run, or nil
  RunId merge_run_id{};      // the run that merges or merged it, or nil
  std::string code;          // the reason why it is blocked or failed, or its merge was deferred
  std::string message;       // the same for a person
  // UTC; 0: it isn't retried by itself.
  std::int64_t retry_at_ns = 0;
  Token token = 0;     // of the run whose result was verified
  std::string commit;  // the commit that run pushed; after the merge, the commit of the base branch
  // UTC.
  std::int64_t submitted_at_ns = 0;
  std::int64_t changed_at_ns = 0;  // of its latest event but CardPrioritySet
  // Position of its CardSubmitted.
  Position submitted_position = 0;
  Position last_position = 0;  // position of its latest event

  [[nodiscard]] bool is_merging() const {
    return status == CardStatus::verified && !merge_run_id.is_nil();
  }

  friend bool operator==(const CardRow&, const CardRow&) = default;
};
BOOST_DESCRIBE_STRUCT(CardRow, (),
                      (card_id, status, project, title, key, priority, runs, merges, run_id,
                       merge_run_id, code, message, retry_at_ns, token, commit, submitted_at_ns,
                       changed_at_ns, submitted_position, last_position))

// Returns the row of a card that was just submitted.
CardRow card_row(const Record& record, const CardSubmitted& event);

// Applies a later event of the card to its row. Fails with `damaged` if that event can't follow.
Stored<void> apply(CardRow& row, const Record& record);

}  // namespace signalbox
