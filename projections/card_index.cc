#include "projections/card_index.h"

#include <algorithm>

#include "domain/check.h"
#include "domain/try.h"
#include "projections/row_codec.h"
#include "projections/run_index_keys.h"

namespace signalbox {
namespace {

namespace keys = run_index_keys;

std::string card_run_key(const RunId& id) { return keys::raw('x', id); }

// Returns the prefix of the list whose entries match the filter exactly.
std::string list_for(const CardFilter& filter) {
  if (filter.project && filter.status) {
    return keys::text('q', *filter.project) + static_cast<char>(*filter.status);
  }
  if (filter.project) return keys::text(CardRows::projects, *filter.project);
  if (filter.status) return keys::status('m', *filter.status);
  return {CardRows::rows};
}

}  // namespace

bool CardFilter::takes(CardStatus of_card) const {
  if (status && of_card != *status) return false;
  return statuses.empty() || std::ranges::find(statuses, of_card) != statuses.end();
}

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
  rows_.begin();
  positions_.clear();
}

Stored<void> CardIndex::apply(const Record& record) {
  if (record.stream.kind == StreamKind::project) {
    if (event_as<PolicyRefused>(record.event) != nullptr) {
      positions_.insert_or_assign(keys::text('f', record.stream.name), record.position);
    } else if (event_as<PolicyAdopted>(record.event) != nullptr) {
      positions_.insert_or_assign(keys::text('z', record.stream.name), record.position);
    }
    return {};
  }
  if (const auto* submitted = event_as<CardSubmitted>(record.event)) {
    rows_.add(record, card_row(record, *submitted));
    return {};
  }
  const auto changed = TRY(rows_.change(record));
  CardRow& row = changed->row;
  TRY(signalbox::apply(row, record));
  changed->add_position(record.position);
  if (const auto* started = event_as<CardStarted>(record.event)) {
    positions_.insert_or_assign(card_run_key(started->run_id), row.submitted_position);
  } else if (const auto* merging = event_as<CardMergeStarted>(record.event)) {
    positions_.insert_or_assign(card_run_key(merging->run_id), row.submitted_position);
  }
  return {};
}

Stored<void> CardIndex::put(TableBatch& out) {
  std::map<std::string, CardCounts> counts;
  for (const ChangedRow<CardRow>& changed : rows_.changed()) {
    rows_.put(changed, out);
    if (!changed.has_new_status()) continue;
    const auto [place, inserted] = counts.try_emplace(changed.row.project);
    if (inserted) {
      const auto known = TRY(this->counts(changed.row.project));
      place->second = known;
    }
    ++place->second.of(changed.row.status);
    if (changed.status_before) --place->second.of(*changed.status_before);
  }
  for (const auto& [project, each] : counts) out.put(keys::text('g', project), encode_row(each));
  for (const auto& [key, position] : positions_) out.put(key, keys::number_bytes(position));
  return {};
}

Stored<std::optional<CardRow>> CardIndex::find(const CardId& id) const { return rows_.find(id); }

Stored<std::optional<CardRow>> CardIndex::find_by_run(const RunId& id) const {
  return rows_.find_by(card_run_key(id));
}

Stored<std::vector<CardId>> CardIndex::find_by_tail(std::string_view tail, std::size_t limit,
                                                    std::size_t visited_max) const {
  return rows_.find_by_tail(tail, limit, visited_max);
}

Stored<CardPage> CardIndex::list(const CardFilter& filter, std::size_t limit,
                                 Position cursor) const {
  PageRange range{list_for(filter)};
  range.limit = limit;
  range.end_before(cursor);
  // The card's status may have changed between the reads of the list and of the row.
  return rows_.list(range, [&filter](const CardRow& row) { return filter.takes(row.status); });
}

Stored<std::vector<Position>> CardIndex::positions(const CardId& id) const {
  return rows_.positions(id);
}

Stored<CardCounts> CardIndex::counts(std::string_view project) const {
  return read_row<CardCounts>(table_, keys::text('g', project))
      .map([](const std::optional<CardCounts>& counts) { return counts.value_or(CardCounts{}); });
}

Stored<Position> CardIndex::policy_refused(std::string_view project) const {
  return read_position(table_, keys::text('f', project));
}
Stored<Position> CardIndex::policy_adopted(std::string_view project) const {
  return read_position(table_, keys::text('z', project));
}

}  // namespace signalbox
