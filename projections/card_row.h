// One line about a card, on the board or merged: what a list shows. Folded from the card's events.
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
  std::uint32_t runs = 0;    // since it was submitted or somebody unblocked it
  std::uint32_t merges = 0;  // that were begun since it was verified
  RunId run_id{};            // the latest of its runs, or nil
  RunId merge_run_id{};      // that merges it, or merged it; or nil
  std::string code;          // why it is blocked or failed, or its merge was deferred
  std::string message;       // likewise
  std::int64_t retry_at_ns = 0;
  Token token = 0;     // of the run that was verified
  std::string commit;  // what that pushed; once it is merged, of the base
  std::int64_t submitted_at_ns = 0;
  std::int64_t changed_at_ns = 0;
  Position submitted_position = 0;
  Position last_position = 0;  // of its latest event

  [[nodiscard]] bool is_merging() const {
    return status == CardStatus::verified && !merge_run_id.is_nil();
  }

  friend bool operator==(const CardRow&, const CardRow&) = default;
};
BOOST_DESCRIBE_STRUCT(CardRow, (),
                      (card_id, status, project, title, key, priority, runs, merges, run_id,
                       merge_run_id, code, message, retry_at_ns, token, commit, submitted_at_ns,
                       changed_at_ns, submitted_position, last_position))

// The row of a card that was just submitted.
CardRow card_row(const Record& record, const CardSubmitted& event);

// What a later event of the card makes of its row. `damaged` if none such can follow.
Stored<void> apply(CardRow& row, const Record& record);

}  // namespace signalbox
