#include "projections/card_index.h"

#include <limits>
#include <utility>

#include "domain/check.h"
#include "projections/position_list.h"
#include "projections/row_codec.h"
#include "projections/run_index_keys.h"

namespace signalbox {
namespace {

namespace keys = run_index_keys;

constexpr std::string_view all_cards = "w";

tl::unexpected<StoreError> damaged(const std::string& what, Position position) {
  StoreError error;
  error.kind = StoreError::Kind::damaged;
  error.message = "the card index " + what;
  error.position = position;
  return tl::unexpected(std::move(error));
}

std::string row_key(Position submitted) {
  return keys::numbered(std::string(all_cards), submitted);
}
std::string card_key(const CardId& id) { return keys::raw('j', id); }
std::string run_key(const RunId& id) { return keys::raw('x', id); }
std::string positions_key(Position submitted) { return keys::numbered("v", submitted); }
std::string project_key(char kind, std::string_view project) {
  std::string key(1, kind);
  keys::append_text(key, project);
  return key;
}
std::string status_key(CardStatus status) { return {'m', static_cast<char>(status)}; }
std::string column_key(std::string_view project, CardStatus status) {
  return project_key('q', project) + static_cast<char>(status);
}

std::string number_bytes(Position position) {
  std::string bytes;
  keys::append_big_endian(bytes, position);
  return bytes;
}

// The index whose entries are exactly the filter's.
std::string index_for(const CardFilter& filter) {
  if (filter.project && filter.status) return column_key(*filter.project, *filter.status);
  if (filter.project) return project_key('n', *filter.project);
  if (filter.status) return status_key(*filter.status);
  return std::string(all_cards);
}

}  // namespace

std::uint64_t& CardCounts::of(CardStatus status) {
  switch (status) {
    case CardStatus::backlog:
      return backlog;
    case CardStatus::running:
      return running;
    case CardStatus::verifying:
      return verifying;
    case CardStatus::verified:
      return verified;
    case CardStatus::merged:
      return merged;
    case CardStatus::blocked:
      return blocked;
    case CardStatus::failed:
      return failed;
  }
  SIGNALBOX_CHECK(!"a card has one of these statuses");
  return failed;
}

void CardIndex::begin() {
  affected_.clear();
  policies_.clear();
}

Stored<void> CardIndex::take(const Record& record) {
  if (record.stream.kind == StreamKind::project) {
    if (event_as<PolicyRefused>(record.event) != nullptr) {
      policies_.insert_or_assign(project_key('f', record.stream.name), record.position);
    } else if (event_as<PolicyAdopted>(record.event) != nullptr) {
      policies_.insert_or_assign(project_key('z', record.stream.name), record.position);
    }
    return {};
  }
  if (const auto* submitted = event_as<CardSubmitted>(record.event)) {
    submit(record, *submitted);
    return {};
  }
  auto affected = affected_by(record);
  if (!affected) return tl::unexpected(std::move(affected.error()));
  Affected& card = **affected;
  if (auto folded = fold(card.row, record); !folded) return folded;
  if (card.first == 0) card.first = record.position;
  append_position(card.positions, card.last, record.position);
  card.last = record.position;
  if (const auto* started = event_as<CardStarted>(record.event)) {
    card.runs.push_back(started->run_id);
  } else if (const auto* merging = event_as<CardMergeStarted>(record.event)) {
    card.runs.push_back(merging->run_id);
  }
  return {};
}

void CardIndex::submit(const Record& record, const CardSubmitted& event) {
  Affected& card = affected_[record.stream.run_id];
  card.row = card_row(record, event);
  card.first = record.position;
  card.last = record.position;
  append_position(card.positions, 0, record.position);
}

Stored<CardIndex::Affected*> CardIndex::affected_by(const Record& record) {
  const CardId& id = record.stream.run_id;
  if (const auto known = affected_.find(id); known != affected_.end()) return &known->second;
  auto row = find(id);
  if (!row) return tl::unexpected(std::move(row.error()));
  if (!*row) return damaged("doesn't know card " + to_string(id), record.position);
  Affected& card = affected_[id];
  card.row = std::move(**row);
  card.status_before = card.row.status;
  return &card;
}

Stored<void> CardIndex::put(TableBatch& out) {
  std::map<std::string, CardCounts> counts;
  for (const auto& [id, card] : affected_) {
    const CardRow& row = card.row;
    const Position submitted = row.submitted_position;
    out.put(row_key(submitted), encode_row(row));
    out.put(keys::numbered(positions_key(submitted), card.first), card.positions);
    for (const RunId& run : card.runs) out.put(run_key(run), number_bytes(submitted));
    if (!card.status_before) {
      out.put(card_key(id), number_bytes(submitted));
      out.put(keys::numbered(project_key('n', row.project), submitted), {});
    }
    if (card.status_before == row.status) continue;
    const auto [place, inserted] = counts.try_emplace(row.project);
    if (inserted) {
      const auto known = this->counts(row.project);
      if (!known) return tl::unexpected(known.error());
      place->second = *known;
    }
    ++place->second.of(row.status);
    out.put(keys::numbered(status_key(row.status), submitted), {});
    out.put(keys::numbered(column_key(row.project, row.status), submitted), {});
    if (!card.status_before) continue;
    --place->second.of(*card.status_before);
    out.erase(keys::numbered(status_key(*card.status_before), submitted));
    out.erase(keys::numbered(column_key(row.project, *card.status_before), submitted));
  }
  for (const auto& [project, each] : counts) out.put(project_key('g', project), encode_row(each));
  for (const auto& [key, position] : policies_) out.put(key, number_bytes(position));
  return {};
}

Stored<Position> CardIndex::number_at(std::string_view key) const {
  const auto bytes = table_.get(key);
  if (!bytes) return tl::unexpected(bytes.error());
  return *bytes ? keys::trailing_number(**bytes) : 0;
}

Stored<std::optional<CardRow>> CardIndex::row_at(Position submitted) const {
  if (submitted == 0) return std::nullopt;
  const auto bytes = table_.get(row_key(submitted));
  if (!bytes) return tl::unexpected(bytes.error());
  if (!*bytes) return damaged("has an entry without a row", submitted);
  auto row = decode_row<CardRow>(**bytes);
  if (!row) return tl::unexpected(std::move(row.error()));
  return std::move(*row);
}

Stored<std::optional<CardRow>> CardIndex::find(const CardId& id) const {
  return number_at(card_key(id)).and_then([this](Position submitted) { return row_at(submitted); });
}

Stored<std::optional<CardRow>> CardIndex::find_by_run(const RunId& id) const {
  return number_at(run_key(id)).and_then([this](Position submitted) { return row_at(submitted); });
}

Stored<CardPage> CardIndex::list(const CardFilter& filter, std::size_t limit,
                                 Position cursor) const {
  CardPage page;
  if (limit == 0) return page;
  const std::string index = index_for(filter);
  const Position last = cursor == 0 ? std::numeric_limits<Position>::max() : cursor - 1;
  std::optional<StoreError> failure;
  const auto scanned = table_.scan(index, keys::numbered(index, last), ScanOrder::descending,
                                   [&](std::string_view key, std::string_view) {
                                     if (page.rows.size() == limit) {
                                       page.next_cursor = page.rows.back().submitted_position;
                                       return false;
                                     }
                                     auto row = row_at(keys::trailing_number(key));
                                     if (!row) {
                                       failure = std::move(row.error());
                                       return false;
                                     }
                                     // Between the look at the list and that at the row it may have
                                     // moved on.
                                     if (!filter.status || (*row)->status == *filter.status) {
                                       page.rows.push_back(std::move(**row));
                                     }
                                     return true;
                                   });
  if (!scanned) return tl::unexpected(scanned.error());
  if (failure) return tl::unexpected(std::move(*failure));
  return page;
}

Stored<std::vector<Position>> CardIndex::positions(const CardId& id) const {
  const auto submitted = number_at(card_key(id));
  if (!submitted) return tl::unexpected(submitted.error());
  std::vector<Position> positions;
  if (*submitted == 0) return positions;
  bool readable = true;
  const std::string prefix = positions_key(*submitted);
  const auto scanned = table_.scan(
      prefix, prefix, ScanOrder::ascending, [&](std::string_view, std::string_view value) {
        const auto chunk = decode_positions(value);
        readable = chunk.has_value();
        if (!readable) return false;
        positions.insert(positions.end(), chunk->begin(), chunk->end());
        return true;
      });
  if (!scanned) return tl::unexpected(scanned.error());
  if (!readable) return damaged("has a list of positions that can't be read", *submitted);
  return positions;
}

Stored<CardCounts> CardIndex::counts(std::string_view project) const {
  const auto bytes = table_.get(project_key('g', project));
  if (!bytes) return tl::unexpected(bytes.error());
  if (!*bytes) return CardCounts{};
  return decode_row<CardCounts>(**bytes);
}

Stored<Position> CardIndex::policy_refused(std::string_view project) const {
  return number_at(project_key('f', project));
}
Stored<Position> CardIndex::policy_adopted(std::string_view project) const {
  return number_at(project_key('z', project));
}

}  // namespace signalbox
