// The read model of all cards there ever were, the merged ones too: found by id and by run, listed
// by project and status, newest first; where the events of each lie in the log; how many cards of
// each status a project has; and where the refusal of its policy file lies.
//
// It lies in the table of the run index and is written with it, as the tick ledger does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/describe/class.hpp>

#include "projections/noun_rows.h"

namespace signalbox {

struct CardFilter {
  std::optional<std::string> project;
  std::optional<CardStatus> status;
};

using CardPage = RowPage<CardRow>;

struct CardCounts {
  std::uint64_t backlog = 0;
  std::uint64_t running = 0;
  std::uint64_t verifying = 0;
  std::uint64_t verified = 0;
  std::uint64_t merged = 0;
  std::uint64_t blocked = 0;
  std::uint64_t failed = 0;

  [[nodiscard]] std::uint64_t& of(CardStatus status);
  friend bool operator==(const CardCounts&, const CardCounts&) = default;
};
BOOST_DESCRIBE_STRUCT(CardCounts, (),
                      (backlog, running, verifying, verified, merged, blocked, failed))

class CardIndex {
 public:
  // The table outlives the index.
  explicit CardIndex(const Table& table) : table_(table), rows_(table) {}

  // One batch: begin(), then apply() each record of a card or a project, then put() what came of
  // it into what the owner of the table writes. One thread at a time.
  void begin();
  Stored<void> apply(const Record& record);
  Stored<void> put(TableBatch& out);

  // The queries below: any thread, beside apply() too.

  [[nodiscard]] Stored<std::optional<CardRow>> find(const CardId& id) const;
  // The card that this run worked on, or merged.
  [[nodiscard]] Stored<std::optional<CardRow>> find_by_run(const RunId& id) const;
  // At most `limit` rows that were submitted before `cursor` (0: all). Pages that follow a cursor
  // don't overlap; a card leaves a list by status only when its status changes.
  [[nodiscard]] Stored<CardPage> list(const CardFilter& filter, std::size_t limit,
                                      Position cursor = 0) const;
  // Where the card's events lie, ascending. Empty for an unknown card.
  [[nodiscard]] Stored<std::vector<Position>> positions(const CardId& id) const;
  [[nodiscard]] Stored<CardCounts> counts(std::string_view project) const;
  // The position of the latest PolicyRefused, or PolicyAdopted, of a project; 0: there was none.
  [[nodiscard]] Stored<Position> policy_refused(std::string_view project) const;
  [[nodiscard]] Stored<Position> policy_adopted(std::string_view project) const;

 private:
  const Table& table_;
  NounRows<CardRows> rows_;
  // Of this batch, by key: which card a run is of, and what happened to policy files.
  std::map<std::string, Position> positions_;
};

}  // namespace signalbox
