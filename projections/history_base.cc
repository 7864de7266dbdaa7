#include "projections/history_base.h"

#include <algorithm>
#include <map>
#include <utility>

#include "domain/check.h"
#include "domain/invariants.h"
#include "domain/placement.h"
#include "domain/station_turn.h"
#include "domain/try.h"
#include "projections/row_codec.h"
#include "projections/run_index.h"
#include "projections/run_index_keys.h"
#include "projections/world_codec.h"
#include "store/little_endian.h"
#include "store/pipeline_definition_v2.h"

namespace signalbox {
namespace {

namespace keys = run_index_keys;

// The encoding: format of the world and of the rows (u32 each), length of the world (u64) and the
// world, then for each row the lengths of key and value (u32 each), key and value; keys ascending.
// The log has the digest of all of it.
constexpr std::size_t base_header_bytes = 2 * sizeof(std::uint32_t) + sizeof(std::uint64_t);

tl::unexpected<StoreError> base_error(StoreError::Kind kind, std::string message) {
  return store_failure(kind, "the base at the log's horizon " + std::move(message));
}

struct BaseParts {
  std::string bytes;
  std::uint32_t world_format = 0;
  std::uint32_t rows_format = 0;
  std::size_t world_bytes = 0;

  [[nodiscard]] std::string_view world() const {
    return std::string_view(bytes).substr(base_header_bytes, world_bytes);
  }
  [[nodiscard]] std::string_view rows() const {
    return std::string_view(bytes).substr(base_header_bytes + world_bytes);
  }
};

Stored<BaseParts> parts_of(std::string bytes) {
  BaseParts parts;
  parts.bytes = std::move(bytes);
  if (parts.bytes.empty()) return parts;
  if (parts.bytes.size() < base_header_bytes) {
    return base_error(StoreError::Kind::damaged, "is cut short");
  }
  parts.world_format = read_integer<std::uint32_t>(parts.bytes.data());
  parts.rows_format = read_integer<std::uint32_t>(parts.bytes.data() + sizeof(std::uint32_t));
  const bool is_read =
      parts.world_format >= world_format_min && parts.world_format <= world_format &&
      parts.rows_format >= RunIndex::format_min && parts.rows_format <= RunIndex::format;
  if (!is_read) {
    return base_error(
        StoreError::Kind::unsupported,
        "was written by a version with other formats (" + std::to_string(parts.world_format) +
            ", " + std::to_string(parts.rows_format) + "): this one reads " +
            std::to_string(world_format_min) + " to " + std::to_string(world_format) + ", " +
            std::to_string(RunIndex::format_min) + " to " + std::to_string(RunIndex::format) +
            "; nothing was changed: start the version that dropped the records, or a "
            "later one that reads both");
  }
  parts.world_bytes = read_integer<std::uint64_t>(parts.bytes.data() + 2 * sizeof(std::uint32_t));
  if (parts.world_bytes > parts.bytes.size() - base_header_bytes) {
    return base_error(StoreError::Kind::damaged, "is cut short");
  }
  return parts;
}

Stored<BaseParts> read_parts(const EventLog& log) {
  auto bytes = TRY(log.base());
  return parts_of(std::move(bytes));
}

// Takes a row off the front of `rows`. Returns false if it is cut short.
bool take_row(std::string_view& rows, std::string_view& key, std::string_view& value) {
  constexpr std::size_t lengths = 2 * sizeof(std::uint32_t);
  if (rows.size() < lengths) return false;
  const std::size_t key_bytes = read_integer<std::uint32_t>(rows.data());
  const std::size_t value_bytes = read_integer<std::uint32_t>(rows.data() + sizeof(std::uint32_t));
  if (rows.size() - lengths < key_bytes + value_bytes) return false;
  key = rows.substr(lengths, key_bytes);
  value = rows.substr(lengths + key_bytes, value_bytes);
  rows.remove_prefix(lengths + key_bytes + value_bytes);
  return true;
}

// Calls `visit(key, value)` for each row, with the value in today's format.
template <class Visit>
Stored<void> for_each_base_row(const BaseParts& parts, Visit&& visit) {
  std::string_view rows = parts.rows();
  while (!rows.empty()) {
    std::string_view key;
    std::string_view value;
    if (!take_row(rows, key, value)) return base_error(StoreError::Kind::damaged, "is cut short");
    if (parts.rows_format > 5 || !keys::is_pipeline(key)) {
      visit(key, value);
      continue;
    }
    auto old = TRY(decode_row<PipelineDefinitionV2>(value));
    visit(key, encode_row(upcast(std::move(old))));
  }
  return {};
}

// Completes the state of a base of format 5, which has no holders: they are the actors of the
// records that granted the tokens, as far as those were kept.
Stored<void> find_holders(const EventLog& log, World& world) {
  std::vector<Token> tokens;
  for (const auto& [id, run] : world.runs) {
    if (run->attempt) tokens.push_back(run->attempt->token);
    if (!run->plan) continue;
    for (const StepState& step : run->plan->steps) tokens.push_back(step.token);
  }
  for (const auto& [key, lock] : world.locks) tokens.push_back(lock.token);
  for (const auto& [loop, tick] : world.ticks) tokens.push_back(tick.token);
  const Horizon horizon = log.horizon();
  for (const Token token : tokens) {
    if (token == 0 || horizon.first_dropped(token, token)) continue;
    TRY(log.scan(token, token, [&world](Record&& record) {
      world.holders.emplace(record.position, std::move(record.actor));
      return false;
    }));
  }
  index_lock_holders(world);
  return {};
}

// Completes the state of a base of format 5 or 6, which doesn't say which question is open: it is
// the latest one of its run. The records of an open run are kept.
Stored<void> find_questions(const EventLog& log, World& world) {
  const auto note = [&world](const Record& record) {
    const auto* held = event_as<StationHeld>(record.event);
    const bool asks = event_as<StationApprovalRequested>(record.event) != nullptr ||
                      (held != nullptr && held->reason == WaitReason::approval);
    if (!asks) return;
    Run* const run = world.find_run(record.stream.run_id);
    if (run != nullptr && waits_for_decision(*run)) run->asked_at = record.position;
  };
  const bool any = std::any_of(world.runs.begin(), world.runs.end(),
                               [](const auto& entry) { return waits_for_decision(*entry.second); });
  if (!any) return {};
  const Horizon horizon = log.horizon();
  for (const PositionRange& range : horizon.kept) {
    TRY(log.scan(range.first, range.last, [&note](Record&& record) {
      note(record);
      return true;
    }));
  }
  return {};
}

// Completes the state of a base up to format 10, which doesn't say where the runs' workspaces are:
// where their latest jobs were given to. The records of an open run are kept.
Stored<void> find_machines(const EventLog& log, World& world) {
  const Horizon horizon = log.horizon();
  for (const PositionRange& range : horizon.kept) {
    TRY(log.scan(range.first, range.last, [&world](Record&& record) {
      const auto* intended = event_as<StationSubmitIntended>(record.event);
      Run* const run = intended == nullptr ? nullptr : world.find_run(record.stream.run_id);
      const auto station = run == nullptr ? std::nullopt : run->find_station(intended->station);
      if (station && has_job(run->pipeline->stations[*station])) run->machine = intended->machine;
      return true;
    }));
  }
  index_ready_stations(world);
  return {};
}

Stored<World> world_of(const BaseParts& parts, const EventLog& log) {
  auto world = decode_world(parts.world(), parts.world_format);
  if (world && parts.world_format < 6) TRY(find_holders(log, *world));
  if (world && parts.world_format < 7) TRY(find_questions(log, *world));
  if (world && parts.world_format < 11) TRY(find_machines(log, *world));
  return world;
}

std::string encoded_parts(const World& world, const std::map<std::string, std::string>& rows) {
  const std::string state = encode_world(world);
  std::string bytes;
  append_integer(bytes, world_format);
  append_integer(bytes, RunIndex::format);
  append_integer(bytes, static_cast<std::uint64_t>(state.size()));
  bytes += state;
  for (const auto& [key, value] : rows) {
    append_integer(bytes, static_cast<std::uint32_t>(key.size()));
    append_integer(bytes, static_cast<std::uint32_t>(value.size()));
    bytes.append(key).append(value);
  }
  return bytes;
}

}  // namespace

Stored<std::string> encode_base(const World& world, const Table& table, const KeptNouns& kept) {
  std::map<std::string, std::string> rows;
  const auto is_remembered = [&world](const std::string& key) {
    return world.run_by_idempotency_key.contains(key);
  };
  TRY(for_each_kept_row(table, kept, is_remembered,
                        [&rows](std::string_view key, auto value) { rows.emplace(key, value); }));
  return encoded_parts(world, rows);
}

Stored<HistoryBase> read_history_base(const EventLog& log) {
  const auto parts = TRY(read_parts(log));
  if (parts.bytes.empty()) return base_error(StoreError::Kind::damaged, "is missing");
  HistoryBase base;
  auto world = TRY(world_of(parts, log));
  base.world = std::move(world);
  TRY(for_each_base_row(parts, [&base](std::string_view key, std::string_view value) {
    base.rows.emplace(key, value);
  }));
  return base;
}

std::string encode_history_base(const HistoryBase& base) {
  return encoded_parts(base.world, base.rows);
}

Stored<World> world_in_base(std::string_view base) {
  const auto parts = TRY(parts_of(std::string(base)));
  return decode_world(parts.world(), parts.world_format);
}
Stored<World> initial_world(const EventLog& log) {
  const auto parts = TRY(read_parts(log));
  if (parts.bytes.empty()) return World{};
  auto world = world_of(parts, log);
  if (!world) return world;
  const Position horizon = log.horizon().position;
  if (world->position != horizon) {
    return base_error(StoreError::Kind::damaged,
                      "is the state at " + std::to_string(world->position));
  }
  if (const auto broken = broken_invariants(*world); !broken.empty()) {
    return base_error(StoreError::Kind::damaged, "isn't a state: " + broken.front());
  }
  return world;
}

Stored<bool> matches_base(const Table& table, const EventLog& log) {
  const auto begun = TRY(table.get(keys::base_position));
  return (begun ? keys::trailing_number(*begun) : 0) == log.horizon().dropped_at;
}

Stored<void> load_base_rows(Table& table, const EventLog& log) {
  SIGNALBOX_CHECK(table.applied() == 0);
  const auto parts = TRY(read_parts(log));
  if (parts.bytes.empty()) return {};
  const Horizon horizon = log.horizon();
  TableBatch batch;
  const World world = TRY(decode_world(parts.world(), parts.world_format));
  for (const auto& [key, lock] : world.locks) LockLedger::put_held(lock, batch);
  // The world forgets them one day.
  world.ended_runs.for_each([&batch](const RunId&, const EndedRun& ended) {
    if (ended.idempotency_key.empty()) return;
    batch.put(keys::idempotency_key(ended.idempotency_key), keys::number_bytes(ended.ended_at));
  });
  // These are of kept runs as well, and replace those.
  TRY(for_each_base_row(
      parts, [&batch](std::string_view key, std::string_view value) { batch.put(key, value); }));
  std::string begun;
  keys::append_big_endian(begun, horizon.dropped_at);
  batch.put(keys::base_position, begun);
  return table.write(batch, horizon.position);
}

}  // namespace signalbox
