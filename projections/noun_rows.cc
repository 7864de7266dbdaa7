#include "projections/noun_rows.h"

#include <cstring>
#include <utility>

#include "domain/check.h"
#include "domain/try.h"
#include "projections/row_codec.h"
#include "projections/run_index_keys.h"

namespace signalbox {
namespace {

namespace keys = run_index_keys;

tl::unexpected<StoreError> damaged_rows(std::string_view noun, const std::string& what,
                                        Position position) {
  StoreError error;
  error.kind = StoreError::Kind::damaged;
  error.message = "the " + std::string(noun) + " index " + what;
  error.position = position;
  return tl::unexpected(std::move(error));
}

// Returns whether the id's hexadecimal digits end with `tail`.
bool ends_with_digits(const Uuid& id, std::string_view tail) {
  if (tail.size() > 2 * id.bytes.size()) return false;
  std::size_t place = 2 * id.bytes.size() - tail.size();
  for (const char digit : tail) {
    const unsigned byte = id.bytes[place / 2];
    if ("0123456789abcdef"[place % 2 == 0 ? byte >> 4U : byte & 0xFU] != digit) return false;
    ++place;
  }
  return true;
}

}  // namespace

std::array<std::string, 1> RunRows::lists(const RunRow& /*row*/, RunStatus status) {
  return {keys::status('s', status)};
}

std::array<std::string, 2> CardRows::lists(const CardRow& row, CardStatus status) {
  return {keys::status('m', status), keys::text('q', row.project) + static_cast<char>(status)};
}

template <class Row>
void ChangedRow<Row>::add_position(Position position) {
  if (first_position == 0) first_position = position;
  append_position(positions, last_position, position);
  last_position = position;
}

template <class Noun>
void NounRows<Noun>::begin() {
  changed_.clear();
  place_of_.clear();
}

template <class Noun>
ChangedRow<typename Noun::Row>& NounRows<Noun>::add(const Record& record, Row row) {
  latest_ = changed_.size();
  place_of_.insert_or_assign(record.stream.run_id, latest_);
  ChangedRow<Row>& added = changed_.emplace_back();
  added.row = std::move(row);
  added.add_position(record.position);
  return added;
}

template <class Noun>
Stored<ChangedRow<typename Noun::Row>*> NounRows<Noun>::change(const Record& record) {
  const Uuid& id = record.stream.run_id;
  if (latest_ < changed_.size() && Noun::id(changed_[latest_].row) == id) {
    return &changed_[latest_];
  }
  const auto [place, inserted] = place_of_.try_emplace(id, changed_.size());
  latest_ = place->second;
  if (!inserted) return &changed_[latest_];
  auto row = TRY(find(id));
  if (!row) {
    return damaged_rows(Noun::name, "doesn't know " + std::string(Noun::name) + " " + to_string(id),
                        record.position);
  }
  ChangedRow<Row>& loaded = changed_.emplace_back();
  loaded.row = std::move(*row);
  loaded.status_before = loaded.row.status;
  return &loaded;
}

template <class Noun>
void NounRows<Noun>::put(const ChangedRow<Row>& changed, TableBatch& out) {
  const Row& row = changed.row;
  const Position first = Noun::first_position(row);
  bytes_.clear();
  described::encode(row, bytes_);
  out.put(keys::numbered(std::string(1, Noun::rows), first), bytes_);
  out.put(keys::numbered(keys::numbered(std::string(1, Noun::positions), first),
                         changed.first_position),
          changed.positions);
  if (changed.has_new_status()) {
    if (changed.status_before) {
      for (std::string& list : Noun::lists(row, *changed.status_before)) {
        out.erase(keys::numbered(std::move(list), first));
      }
    }
    for (std::string& list : Noun::lists(row, row.status)) {
      out.put(keys::numbered(std::move(list), first), {});
    }
  }
  if (changed.status_before) return;
  out.put(keys::raw(Noun::ids, Noun::id(row)), keys::number_bytes(first));
  if (!row.project.empty()) {
    out.put(keys::numbered(keys::text(Noun::projects, row.project), first), {});
  }
}

template <class Noun>
Stored<std::optional<typename Noun::Row>> NounRows<Noun>::row_at(Position first) const {
  auto row = read_row<Row>(table_, keys::numbered(std::string(1, Noun::rows), first));
  if (row && !*row) return damaged_rows(Noun::name, "has an entry without a row", first);
  return row;
}

template <class Noun>
Stored<std::optional<typename Noun::Row>> NounRows<Noun>::find_by(std::string_view key) const {
  const auto first = TRY(read_position(table_, key));
  if (first == 0) return std::nullopt;
  return row_at(first);
}

template <class Noun>
Stored<std::optional<typename Noun::Row>> NounRows<Noun>::find(const Uuid& id) const {
  return find_by(keys::raw(Noun::ids, id));
}

template <class Noun>
Stored<std::vector<Uuid>> NounRows<Noun>::find_by_tail(std::string_view tail, std::size_t limit,
                                                       std::size_t visited_max) const {
  Uuid greatest;
  greatest.bytes.fill(0xFF);
  std::vector<Uuid> found;
  std::size_t visited = 0;
  // Ids begin with the time, so that the greatest is the newest.
  TRY(table_.scan(std::string(1, Noun::ids), keys::raw(Noun::ids, greatest), ScanOrder::descending,
                  [&](std::string_view key, std::string_view) {
                    if (found.size() == limit || visited == visited_max) return false;
                    ++visited;
                    Uuid id;
                    if (key.size() != 1 + id.bytes.size()) return true;
                    std::memcpy(id.bytes.data(), key.data() + 1, id.bytes.size());
                    if (ends_with_digits(id, tail)) found.push_back(id);
                    return true;
                  }));
  return found;
}

template <class Noun>
Stored<RowPage<typename Noun::Row>> NounRows<Noun>::list(
    const PageRange& range, const std::function<bool(const Row&)>& matches) const {
  const bool lists_rows = range.list == std::string_view(&Noun::rows, 1);
  const auto row_of = [&](Position first, std::string_view value) -> Stored<std::optional<Row>> {
    if (!lists_rows) return row_at(first);
    return TRY(decode_row<Row>(value));
  };
  return read_page<Row>(table_, range, row_of, matches);
}

template <class Noun>
Stored<std::vector<Position>> NounRows<Noun>::positions(const Uuid& id) const {
  const auto first = TRY(read_position(table_, keys::raw(Noun::ids, id)));
  std::vector<Position> positions;
  if (first == 0) return positions;
  bool readable = true;
  const std::string prefix = keys::numbered(std::string(1, Noun::positions), first);
  TRY(table_.scan(prefix, prefix, ScanOrder::ascending,
                  [&](std::string_view, std::string_view value) {
                    const auto part = decode_positions(value);
                    readable = part.has_value();
                    if (!readable) return false;
                    positions.insert(positions.end(), part->begin(), part->end());
                    return true;
                  }));
  if (!readable) {
    return damaged_rows(Noun::name, "has a list of positions that can't be read", first);
  }
  return positions;
}

template struct ChangedRow<RunRow>;
template struct ChangedRow<CardRow>;
template class NounRows<RunRows>;
template class NounRows<CardRows>;

void append_position(std::string& list, Position before, Position position) {
  SIGNALBOX_CHECK(position > before);
  Position distance = position - before;
  while (distance >= 0x80) {
    list.push_back(static_cast<char>(static_cast<unsigned char>((distance & 0x7FU) | 0x80U)));
    distance >>= 7U;
  }
  list.push_back(static_cast<char>(distance));
}

std::optional<std::vector<Position>> decode_positions(std::string_view list) {
  std::vector<Position> positions;
  Position position = 0;
  Position distance = 0;
  unsigned shift = 0;
  for (const char character : list) {
    const auto byte = static_cast<unsigned char>(character);
    if (shift > 63) return std::nullopt;
    distance |= static_cast<Position>(byte & 0x7FU) << shift;
    shift += 7;
    if ((byte & 0x80U) != 0) continue;
    if (distance == 0) return std::nullopt;
    position += distance;
    positions.push_back(position);
    distance = 0;
    shift = 0;
  }
  if (shift != 0) return std::nullopt;
  return positions;
}

}  // namespace signalbox
