#include "projections/retention_plan.h"

#include <algorithm>
#include <set>
#include <vector>

#include "domain/evolve.h"
#include "domain/try.h"
#include "projections/history_base.h"
#include "projections/run_index.h"

namespace signalbox {
namespace {

constexpr std::size_t index_records_at_once = 32 * 1024;

// Returns the end of the last command such that its records, and all before them, were written by
// until_ns.
Stored<Position> horizon_of(const EventLog& log, std::int64_t until_ns) {
  Position younger = log.tail() + 1;
  TRY(log.scan(log.horizon().position + 1, log.tail(), [&](Record&& record) {
    if (record.recorded_at_ns > until_ns) younger = record.position;
    return record.recorded_at_ns <= until_ns;
  }));
  if (younger > log.tail()) return log.tail();
  return log.read_commit(younger).map(
      [](const Commit& commit) { return commit.front().position - 1; });
}

// Evolves the world to the horizon, and builds the read models at the horizon in `table`.
Stored<World> evolve_to_horizon(const EventLog& log, Position horizon, Table& table) {
  auto world = initial_world(log);
  if (!world) return world;
  RunIndex index(table);
  TRY(index.begin(log));
  std::vector<Record> records;
  Stored<void> applied;
  const auto apply_records = [&] {
    applied = index.apply(records);
    records.clear();
    return applied.has_value();
  };
  TRY(log.scan(world->position + 1, horizon, [&](Record&& record) {
    evolve(*world, record);
    records.push_back(std::move(record));
    return records.size() < index_records_at_once || apply_records();
  }));
  if (applied) apply_records();
  if (!applied) return tl::unexpected(applied.error());
  return world;
}

// The nouns that are open at the horizon or have records after it, and single records to keep.
struct Retained {
  KeptNouns nouns;
  std::set<Position> positions;  // of records that the state of a project refers to
};

Stored<Retained> find_retained(const EventLog& log, const World& world, const Table& table) {
  Retained retained;
  for (const auto& [id, run] : world.runs) retained.nouns.runs.insert(id);
  for (const auto& [id, card] : world.board.cards()) retained.nouns.cards.insert(id);
  for (const auto& [loop, tick] : world.ticks) retained.nouns.ticks.insert(tick.token);
  for (const auto& [digest, pinned] : world.pipelines) {
    retained.nouns.pipelines.insert(digest);
  }
  TRY(log.scan(world.position + 1, log.tail(), [&](Record&& record) {
    const Stream& stream = record.stream;
    if (stream.kind == StreamKind::run) retained.nouns.runs.insert(stream.run_id);
    if (stream.kind == StreamKind::card) retained.nouns.cards.insert(stream.run_id);
    return true;
  }));
  // A card's row shows its latest run, so that run is kept with it.
  const CardIndex cards(table);
  for (const CardId& id : retained.nouns.cards) {
    const auto row = TRY(cards.find(id));
    if (!row) continue;
    if (!row->run_id.is_nil()) retained.nouns.runs.insert(row->run_id);
    if (!row->merge_run_id.is_nil()) retained.nouns.runs.insert(row->merge_run_id);
  }
  for (const auto& [name, project] : world.projects) {
    const auto refused = cards.policy_refused(name);
    const auto adopted = cards.policy_adopted(name);
    if (!refused || !adopted) return tl::unexpected((refused ? adopted : refused).error());
    retained.positions.insert({*refused, *adopted});
  }
  return retained;
}

// Reads all records up to the horizon that are still there, chooses the entries to keep, and
// counts. Entries are kept as a whole.
Stored<void> choose_entries(const EventLog& log, const Retained& retained, RetentionPlan& plan) {
  std::set<RunId> runs_kept;
  std::set<RunId> runs_dropped;
  std::set<CardId> cards_kept;
  std::vector<Position> wanted;
  // Position of a redacted record, position of its PayloadRedacted.
  std::vector<std::pair<Position, Position>> redactions;
  std::uint64_t records = 0;
  const auto visit = [&](Record&& record) {
    const RunId& id = record.stream.run_id;
    bool is_retained = retained.positions.contains(record.position);
    if (record.stream.kind == StreamKind::run) {
      const bool kept = retained.nouns.runs.contains(id);
      (kept ? runs_kept : runs_dropped).insert(id);
      is_retained = is_retained || kept;
    } else if (record.stream.kind == StreamKind::card && retained.nouns.cards.contains(id)) {
      cards_kept.insert(id);
      is_retained = true;
    }
    if (is_retained) wanted.push_back(record.position);
    if (const auto* redacted = event_as<PayloadRedacted>(record.event)) {
      redactions.emplace_back(redacted->redacted_position, record.position);
    }
    ++records;
    plan.has_new_records =
        plan.has_new_records ||
        (record.position >= plan.from && event_as<HistoryDropped>(record.event) == nullptr);
    return true;
  };
  Stored<Position> scanned = 0;
  for (const PositionRange& range : log.horizon().kept) {
    if (scanned) scanned = log.scan(range.first, range.last, visit);
  }
  if (scanned) scanned = log.scan(plan.from, plan.horizon, visit);
  if (!scanned) return tl::unexpected(scanned.error());
  // The event that authenticates a redaction is kept if the redacted record is. Entries are kept as
  // a whole, so any kept record of the entry suffices.
  for (const auto& [redacted, event_position] : redactions) {
    const auto commit = log.read_commit(redacted);
    if (!commit) continue;  // the redacted record was dropped earlier
    const auto place = std::lower_bound(wanted.begin(), wanted.end(), commit->front().position);
    if (place == wanted.end() || *place > commit->back().position) continue;
    wanted.insert(std::upper_bound(wanted.begin(), wanted.end(), event_position), event_position);
  }
  for (const Position position : wanted) {
    if (!plan.drop.kept.empty() && position <= plan.drop.kept.back().last) continue;
    const auto commit = TRY(log.read_commit(position));
    append_range(plan.drop.kept, {commit.front().position, commit.back().position});
    plan.records_kept += commit.size();
  }
  plan.records_dropped = records - plan.records_kept;
  plan.runs_kept = runs_kept.size();
  plan.runs_dropped = runs_dropped.size();
  plan.cards_kept = cards_kept.size();
  return {};
}

}  // namespace

Stored<RetentionPlan> plan_retention(const EventLog& log, std::int64_t until_ns, Table& scratch) {
  RetentionPlan plan;
  plan.from = log.horizon().position + 1;
  const auto horizon = TRY(horizon_of(log, until_ns));
  plan.horizon = horizon;
  plan.drop.position = horizon;
  if (plan.horizon < plan.from) return plan;
  const auto world = TRY(evolve_to_horizon(log, plan.horizon, scratch));
  const auto retained = TRY(find_retained(log, world, scratch));
  TRY(choose_entries(log, retained, plan));
  auto base = TRY(encode_base(world, scratch, retained.nouns));
  plan.drop.base = std::move(base);
  return plan;
}

}  // namespace signalbox
