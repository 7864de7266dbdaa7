// The structure that the indexes of runs and of cards share: one row per run or card (a "noun"),
// found by id, listed by status and by project, with the positions of its events; and the batch, in
// which each row is loaded once, changed by its events, and written once.
//
// Data that only one of the nouns has (labels, hours, policies, counts) is in its index.
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

// The first bytes of the keys under which a noun's rows are stored; run_index_keys.h lists them.
struct RunRows {
  using Row = RunRow;
  static constexpr std::string_view name = "run";
  static constexpr char rows = 'r';
  static constexpr char ids = 'i';
  static constexpr char projects = 'p';
  static constexpr char positions = 'e';
  static const RunId& id(const RunRow& row) { return row.run_id; }
  static Position first_position(const RunRow& row) { return row.started_position; }
  // Returns the lists that a run is in while it has this status.
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
  // Returns the lists that a card is in while it has this status.
  static std::array<std::string, 2> lists(const CardRow& row, CardStatus status);
};

// A row as changed by the current batch.
template <class Row>
struct ChangedRow {
  Row row;
  std::optional<decltype(Row::status)> status_before;  // nullopt: the row is new in this batch
  std::string positions;        // encoded positions of its events in this batch
  Position first_position = 0;  // of its first event in this batch
  Position last_position = 0;   // of its last event in this batch

  [[nodiscard]] bool has_new_status() const { return status_before != row.status; }
  void add_position(Position position);
};

// The rows of one noun. Instantiated for RunRows and CardRows.
template <class Noun>
class NounRows {
 public:
  using Row = typename Noun::Row;

  // `table` must outlive this object.
  explicit NounRows(const Table& table) : table_(table) {}

  // For each batch, on one thread at a time, call begin(), then add() or change() for each record,
  // then put() for each of changed(). Pointers and references last until the next add() or
  // change().

  void begin();
  // Adds the row of a noun whose first record is `record`.
  ChangedRow<Row>& add(const Record& record, Row row);
  // Returns the row of the noun that the record belongs to, loaded if necessary. Fails with
  // `damaged` if there is none.
  Stored<ChangedRow<Row>*> change(const Record& record);
  [[nodiscard]] std::vector<ChangedRow<Row>>& changed() { return changed_; }
  // Adds the row, its positions, and its entries in the noun's lists to `out`.
  void put(const ChangedRow<Row>& changed, TableBatch& out);

  // The queries below may be called on any thread, also concurrently with a batch.

  // Returns a row; nullopt for an unknown id.
  [[nodiscard]] Stored<std::optional<Row>> find(const Uuid& id) const;
  // Returns the row whose first position is stored under `key`; nullopt if the key doesn't exist.
  [[nodiscard]] Stored<std::optional<Row>> find_by(std::string_view key) const;
  // Returns the ids that end with `tail` (hexadecimal digits in lower case, at most 32), the newest
  // first: at most `limit`, of the newest `visited_max`.
  [[nodiscard]] Stored<std::vector<Uuid>> find_by_tail(std::string_view tail, std::size_t limit,
                                                       std::size_t visited_max) const;
  // Returns a page of the rows in a list for which `matches` returns true.
  [[nodiscard]] Stored<RowPage<Row>> list(const PageRange& range,
                                          const std::function<bool(const Row&)>& matches) const;
  // Returns the positions of the noun's events, ascending; empty for an unknown one.
  [[nodiscard]] Stored<std::vector<Position>> positions(const Uuid& id) const;

 private:
  [[nodiscard]] Stored<std::optional<Row>> row_at(Position first) const;

  const Table& table_;
  std::vector<ChangedRow<Row>> changed_;
  // Index into changed_ by id.
  boost::unordered_flat_map<Uuid, std::size_t, UuidHash> place_of_;
  std::size_t latest_ = 0;  // index into changed_: most records follow one of the same noun
  std::string bytes_;
};

// A compact encoding of an ascending list of positions: each as the difference from the one before,
// in LEB128 (seven bits per byte, lowest first).
//
// Appends `position`, where `before` is the one appended last (0 for the first).
void append_position(std::string& list, Position before, Position position);

// Decodes such a list; returns nullopt if the bytes aren't one.
std::optional<std::vector<Position>> decode_positions(std::string_view list);

}  // namespace signalbox
