// The skeleton that the indexes of runs and of cards share: one row for each, found by id, named by
// lists (by status, by project), with the positions of its events; and the batch in which each row
// is loaded once, changed by its events, and written once.
//
// What is of one noun only (labels, hours, policies, what is counted) is in its index.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "domain/ids.h"
#include "projections/card_row.h"
#include "projections/row_page.h"
#include "projections/run_row.h"
#include "projections/table.h"

namespace signalbox {

// Where the rows of a noun lie: the first bytes of their keys, which run_index_keys.h lists.
struct RunRows {
  using Row = RunRow;
  static constexpr std::string_view name = "run";
  static constexpr char rows = 'r';
  static constexpr char ids = 'i';
  static constexpr char projects = 'p';
  static constexpr char positions = 'e';
  static const RunId& id(const RunRow& row) { return row.run_id; }
  static Position first_position(const RunRow& row) { return row.started_position; }
  // The lists that a run is in while it has this status.
  static std::array<std::string, 1> lists(const RunRow& row, RunStatus status);
};

struct CardRows {
  using Row = CardRow;
  static constexpr std::string_view name = "card";
  static constexpr char rows = 'w';
  static constexpr char ids = 'j';
  static constexpr char projects = 'n';
  static constexpr char positions = 'v';
  static const CardId& id(const CardRow& row) { return row.card_id; }
  static Position first_position(const CardRow& row) { return row.submitted_position; }
  static std::array<std::string, 2> lists(const CardRow& row, CardStatus status);
};

// What a batch makes of one row.
template <class Row>
struct ChangedRow {
  Row row;
  std::optional<decltype(Row::status)> status_before;  // none: it is new in this batch
  std::string positions;                               // of its events in this batch
  Position first_position = 0;                         // the first and the last of these
  Position last_position = 0;

  [[nodiscard]] bool has_new_status() const { return status_before != row.status; }
  void add_position(Position position);
};

// Instantiated for RunRows and CardRows.
template <class Noun>
class NounRows {
 public:
  using Row = typename Noun::Row;

  // The table outlives the rows.
  explicit NounRows(const Table& table) : table_(table) {}

  // One batch, on one thread at a time: begin(), then add() or change() for each record, then put()
  // each of changed(). Pointers and references last until the next add() or change().

  void begin();
  // The row of a noun that begins with this record.
  ChangedRow<Row>& add(const Record& record, Row row);
  // The row of the noun that this record is of. `damaged` if there is none.
  Stored<ChangedRow<Row>*> change(const Record& record);
  [[nodiscard]] std::vector<ChangedRow<Row>>& changed() { return changed_; }
  // Puts the row, its positions, and its entries in the lists of the noun.
  void put(const ChangedRow<Row>& changed, TableBatch& out);

  // The queries: any thread, beside a batch too.

  [[nodiscard]] Stored<std::optional<Row>> find(const Uuid& id) const;
  // The row whose first position lies under `key`.
  [[nodiscard]] Stored<std::optional<Row>> find_by(std::string_view key) const;
  [[nodiscard]] Stored<RowPage<Row>> list(const PageRange& range,
                                          const std::function<bool(const Row&)>& matches) const;
  // Where its events lie, ascending. Empty for an unknown one.
  [[nodiscard]] Stored<std::vector<Position>> positions(const Uuid& id) const;

 private:
  [[nodiscard]] Stored<std::optional<Row>> row_at(Position first) const;

  const Table& table_;
  std::vector<ChangedRow<Row>> changed_;
  boost::unordered_flat_map<Uuid, std::size_t, UuidHash> place_of_;
  std::size_t latest_ = 0;  // in changed_: most records follow one of the same noun
  std::string bytes_;
};

// An ascending list of positions in few bytes: each as the distance from the one before it, seven
// bits a byte, lowest first.
//
// Appends `position`, where `before` is the one appended last (0 for the first).
void append_position(std::string& list, Position before, Position position);

// nullopt if the bytes aren't such a list.
std::optional<std::vector<Position>> decode_positions(std::string_view list);

}  // namespace signalbox
