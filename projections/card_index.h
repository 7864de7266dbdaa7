// The read model of all cards there ever were, including merged ones: finds them by id and by run;
// lists them by project and status, newest first; knows the positions of each card's events, how
// many cards of each status a project has, and the positions of its latest policy events.
//
// Its rows are in the table of the run index and are written in the same batches, like the tick
// ledger's.
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
  std::vector<CardStatus> statuses = {};  // any of them; empty: any

  // Returns whether cards of this status match.
  [[nodiscard]] bool takes(CardStatus of_card) const;
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

  // Returns the count of a status.
  [[nodiscard]] std::uint64_t& of(CardStatus status);
  friend bool operator==(const CardCounts&, const CardCounts&) = default;
};
BOOST_DESCRIBE_STRUCT(CardCounts, (),
                      (backlog, running, verifying, verified, merged, blocked, failed))

class CardIndex {
 public:
  // `table` must outlive the index.
  explicit CardIndex(const Table& table) : table_(table), rows_(table) {}

  // For each batch call begin(), then apply() for each record of a card or a project, then put(),
  // which adds the resulting rows to `out`; the owner of the table writes them. One thread at a
  // time. apply() fails with `damaged` if the index doesn't fit the log.
  void begin();
  Stored<void> apply(const Record& record);
  Stored<void> put(TableBatch& out);

  // The queries below may be called on any thread, also concurrently with apply().

  // Returns a card's row; nullopt for an unknown card.
  [[nodiscard]] Stored<std::optional<CardRow>> find(const CardId& id) const;
  // Returns the row of the card that this run worked on, or merged; nullopt if there is none.
  [[nodiscard]] Stored<std::optional<CardRow>> find_by_run(const RunId& id) const;
  // Forwards to NounRows::find_by_tail().
  [[nodiscard]] Stored<std::vector<CardId>> find_by_tail(std::string_view tail, std::size_t limit,
                                                         std::size_t visited_max) const;
  // Returns at most `limit` rows of cards that were submitted before `cursor` (0: all), newest
  // first. Pages that follow a cursor don't overlap. A card leaves a list by status only when its
  // status changes.
  [[nodiscard]] Stored<CardPage> list(const CardFilter& filter, std::size_t limit,
                                      Position cursor = 0) const;
  // Returns the positions of the card's events, ascending; empty for an unknown card.
  [[nodiscard]] Stored<std::vector<Position>> positions(const CardId& id) const;
  // Returns how many cards of each status the project has.
  [[nodiscard]] Stored<CardCounts> counts(std::string_view project) const;
  // Return the position of the project's latest PolicyRefused, or PolicyAdopted; 0 if there is
  // none.
  [[nodiscard]] Stored<Position> policy_refused(std::string_view project) const;
  [[nodiscard]] Stored<Position> policy_adopted(std::string_view project) const;

 private:
  const Table& table_;
  NounRows<CardRows> rows_;
  // Index entries of the current batch, by key: the card of a run, and the latest policy events.
  std::map<std::string, Position> positions_;
};

}  // namespace signalbox
