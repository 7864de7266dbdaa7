#include "projections/retention_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "domain/check.h"
#include "domain/evolve.h"
#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "domain/service_loops.h"
#include "domain/try.h"
#include "projections/history_base.h"
#include "projections/row_codec.h"
#include "projections/run_index.h"
#include "store/entry.h"
#include "store/log_prefix.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

constexpr std::size_t index_records_at_once = 32 * 1024;

// Returns the end of the last command such that its records, and all before them, were written by
// until_ns. A record without a plausible time goes with the next one that has one: else it would
// keep all after it for as long as the clock was ahead.
Stored<Position> horizon_of(const EventLog& log, std::int64_t until_ns, std::int64_t now_ns) {
  Position old = 0;
  Position younger = log.tail() + 1;
  TRY(log.scan(log.horizon().position + 1, log.tail(), [&](Record&& record) {
    if (!has_plausible_time(record, now_ns)) return true;
    const bool is_old = record.recorded_at_ns <= until_ns;
    (is_old ? old : younger) = record.position;
    return is_old;
  }));
  if (old == 0) return log.horizon().position;
  return log.read_commit(old).map([younger](const Commit& commit) {
    const Position last = commit.back().position;
    return last < younger ? last : commit.front().position - 1;
  });
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
  TRY(applied);
  return world;
}

// The nouns that are open at the horizon or have records after it, and single records to keep.
struct Retained {
  KeptNouns nouns;
  std::set<Position> positions;  // of records that the state refers to
  std::set<Uuid> tokens;         // access tokens in the world
  std::set<std::string> projects;
  std::uint64_t failed_runs = 0;
  std::optional<AuditKey> audit_key;  // at the tail
};

// Keeps the records that gave what is still in the world: a repeated command finds its first result
// there, and their texts can be redacted.
void keep_grants(const World& world, Retained& retained) {
  for (const auto& [key, lock] : world.locks) {
    retained.positions.insert({lock.token, lock.renewed_at});
  }
  for (const auto& [loop, tick] : world.ticks) {
    retained.positions.insert({tick.token, tick.halted_at});
  }
  for (const AccessToken& token : world.access.tokens) {
    retained.positions.insert(token.issued_at);
    retained.tokens.insert(token.id);
  }
  for (const auto& [name, project] : world.projects) retained.projects.insert(name);
  for (const auto& [runner, decision] : world.runners) {
    retained.positions.insert(decision.decided_at);
  }
  if (world.server.pause) retained.positions.insert(world.server.pause->position);
}

// Keeps the runs that failed after `failed_until_ns` and can be retried. A card's runs can't.
Stored<void> keep_failed_runs(const Table& table, std::int64_t failed_until_ns,
                              Retained& retained) {
  const CardIndex cards(table);
  Stored<void> outcome;
  TRY(table.scan("r", "r", ScanOrder::ascending, [&](std::string_view, std::string_view value) {
    const auto row = decode_row<RunRow>(value);
    if (!row) {
      outcome = tl::unexpected(row.error());
      return false;
    }
    if (row->status != RunStatus::failed || row->ended_at_ns <= failed_until_ns) return true;
    const auto card = cards.find_by_run(row->run_id);
    if (!card) {
      outcome = tl::unexpected(card.error());
      return false;
    }
    if (!*card && retained.nouns.runs.insert(row->run_id).second) ++retained.failed_runs;
    return true;
  }));
  return outcome;
}

Stored<Retained> find_retained(const EventLog& log, const World& world, const Table& table,
                               std::int64_t failed_until_ns) {
  Retained retained;
  retained.audit_key = world.access.audit_key;
  keep_grants(world, retained);
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
    if (const auto* adopted = event_as<AuditKeyAdopted>(record.event)) {
      retained.audit_key = AuditKey{adopted->name, adopted->verifier_key, record.position};
    }
    return true;
  }));
  TRY(keep_failed_runs(table, failed_until_ns, retained));
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
  std::map<std::string, Position> latest_puts;  // the latest ProjectPut of each project
  std::uint64_t records = 0;
  const auto visit = [&](Record&& record) {
    const RunId& id = record.stream.run_id;
    bool is_retained = retained.positions.contains(record.position);
    if (record.stream.kind == StreamKind::run) {
      const bool kept = retained.nouns.runs.contains(id);
      (kept ? runs_kept : runs_dropped).insert(id);
      is_retained = is_retained || kept;
    } else if (record.stream.kind == StreamKind::card) {
      const bool kept = retained.nouns.cards.contains(id);
      (kept ? cards_kept : plan.dropped_nouns).insert(id);
      is_retained = is_retained || kept;
    }
    if (const auto* revoked = event_as<AccessTokenRevoked>(record.event)) {
      is_retained = is_retained || retained.tokens.contains(revoked->id);
    }
    if (event_as<ProjectPut>(record.event) != nullptr &&
        retained.projects.contains(record.stream.name)) {
      latest_puts[record.stream.name] = record.position;
    }
    if (is_retained) wanted.push_back(record.position);
    if (!is_retained && record.position >= plan.from) {
      ++(is_housekeeping(record) ? plan.housekeeping_records : plan.work_records);
    }
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
  TRY(scanned);
  for (const auto& [project, position] : latest_puts) {
    wanted.insert(std::upper_bound(wanted.begin(), wanted.end(), position), position);
  }
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
  plan.dropped_nouns.merge(runs_dropped);
  plan.cards_kept = cards_kept.size();
  plan.failed_runs_kept = retained.failed_runs;
  plan.audit_key = retained.audit_key;
  return {};
}

Stored<RetentionPlan> plan_to_horizon(const EventLog& log, Position horizon, Table& scratch,
                                      std::int64_t failed_until_ns) {
  RetentionPlan plan;
  plan.from = log.horizon().position + 1;
  plan.horizon = horizon;
  plan.drop.position = horizon;
  if (plan.horizon < plan.from) return plan;
  const auto world = TRY(evolve_to_horizon(log, plan.horizon, scratch));
  const auto retained = TRY(find_retained(log, world, scratch, failed_until_ns));
  TRY(choose_entries(log, retained, plan));
  auto base = TRY(encode_base(world, scratch, retained.nouns));
  plan.drop.base = std::move(base);
  return plan;
}

StoreError differs(const HistoryDropped& event, Position dropped_at, const std::string& how) {
  return damaged_at(dropped_at, "it says that the records up to " + std::to_string(event.horizon) +
                                    " were dropped, and this log isn't that of its writer: " + how);
}

// A log from which `drop` was dropped, as far as a plan reads it.
class DroppedView final : public ReadOnlyLog {
 public:
  DroppedView(const EventLog& log, HistoryDrop drop, Position dropped_at)
      : ReadOnlyLog(log), base_(std::move(drop.base)) {
    horizon_.position = drop.position;
    horizon_.dropped_at = dropped_at;
    horizon_.kept = std::move(drop.kept);
  }

  [[nodiscard]] Stored<Commit> read_commit(Position position) const override {
    if (horizon_.first_dropped(position, position)) {
      return tl::unexpected(dropped_record(position, horizon_));
    }
    return log_.read_commit(position);
  }
  [[nodiscard]] Horizon horizon() const override { return horizon_; }
  [[nodiscard]] Stored<std::string> base() const override { return base_; }

 private:
  const std::string base_;
  Horizon horizon_;
};

// Plans the drop of `event`, which is at `dropped_at`. Fails with `damaged` if it differs from what
// the event says, the base excepted.
Stored<RetentionPlan> plan_as_recorded(const EventLog& log, const HistoryDropped& event,
                                       Position dropped_at, Table& scratch) {
  const LogPrefix prefix(log, dropped_at - 1);
  RetentionPlan plan = TRY(plan_to_horizon(prefix, event.horizon, scratch, event.failed_until_ns));
  if (plan.from == event.from && plan.records_dropped == event.records &&
      plan.records_kept == event.records_kept) {
    return plan;
  }
  return tl::unexpected(
      differs(event, dropped_at,
              std::to_string(plan.records_dropped) + " records would go and " +
                  std::to_string(plan.records_kept) + " stay here, where its writer had " +
                  std::to_string(event.records) + " and " + std::to_string(event.records_kept)));
}

Stored<HistoryDropped> drop_recorded_at(const EventLog& log, Position dropped_at) {
  const Commit commit = TRY(log.read_commit(dropped_at));
  const auto* event = event_as<HistoryDropped>(commit.front().event);
  if (event != nullptr && commit.front().position == dropped_at) return *event;
  return tl::unexpected(damaged_at(dropped_at, "it isn't a HistoryDropped"));
}

}  // namespace

bool is_housekeeping(const Record& record) {
  if (record.stream.kind == StreamKind::server) return true;
  return record.stream.kind == StreamKind::tick && is_service_loop(record.stream.name);
}

bool has_plausible_time(const Record& record, std::int64_t now_ns) {
  return record.recorded_at_ns - limits::clock_difference_ms_max * ns_per_ms <= now_ns;
}

Stored<RetentionPlan> plan_retention(const EventLog& log, std::int64_t until_ns, Table& scratch,
                                     std::int64_t failed_until_ns, std::int64_t now_ns) {
  const Position horizon = TRY(horizon_of(log, until_ns, now_ns));
  return plan_to_horizon(log, horizon, scratch, failed_until_ns);
}

Stored<DueDropPlan> plan_due_drop(const EventLog& log, std::span<const Position> due,
                                  const PlanWithScratch& with_scratch) {
  SIGNALBOX_CHECK(!due.empty());
  DueDropPlan planned;
  std::optional<DroppedView> view;  // the log after the drops that were planned before
  std::optional<StoreError> first_difference;
  for (const Position dropped_at : due) {
    const HistoryDropped event = TRY(drop_recorded_at(log, dropped_at));
    // Otherwise it only renews the base of the drop before it.
    if (planned.dropped_at == 0 || event.horizon != planned.plan.horizon) {
      if (planned.dropped_at != 0) {
        view.emplace(log, std::move(planned.plan.drop), planned.dropped_at);
      }
      const EventLog& before = view ? static_cast<const EventLog&>(*view) : log;
      const Position horizon = before.horizon().position;
      if (event.horizon <= horizon || event.horizon >= dropped_at) {
        return tl::unexpected(differs(event, dropped_at,
                                      "the log begins after " + std::to_string(horizon) + " here"));
      }
      planned.plan = TRY(with_scratch(
          [&](Table& scratch) { return plan_as_recorded(before, event, dropped_at, scratch); }));
    }
    planned.dropped_at = dropped_at;
    if (sha256(planned.plan.drop.base) == event.base) return planned;
    if (!first_difference) {
      first_difference =
          differs(event, dropped_at, "the state that the records lead to is another one here");
    }
  }
  return tl::unexpected(*std::move(first_difference));
}

}  // namespace signalbox
