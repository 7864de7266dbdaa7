#include "server/cell/cell_join.h"

#include <utility>

#include "domain/try.h"
#include "server/cell/cell_mark.h"
#include "server/limits.h"
#include "store/base64.h"
#include "store/replicated_event_log.h"

namespace signalbox {
namespace {

constexpr std::int64_t note_again_ms = 30'000;

bool passes(const StoreError& error) {
  return error.kind == StoreError::Kind::away || error.kind == StoreError::Kind::io;
}

// Returns the cell's state, after it was made if there was none. A cell that this server was one of
// isn't made again: its log would be the one of whichever server starts first.
Stored<CellState> find_or_make(const CellJoin& join, const std::string& own_key) {
  auto state = join.shared.state();
  if (state || state.error().kind != StoreError::Kind::not_found) return state;
  if (const auto seen = TRY(read_seen(join.data, join.settings.name))) {
    const std::string file = seen_file(join.data).string();
    return store_failure(
        StoreError::Kind::damaged,
        state.error().message + ", and this server was one of the cell " + join.settings.name +
            ", up to " + std::to_string(*seen) +
            ": the database is another one, or lost the cell. Correct cell.engine, or restore the "
            "database. To make the cell anew, from the server whose log reaches furthest, remove " +
            file + " there and start it first",
        file);
  }
  TRY(join.shared.create(first_link(join.replica), to_base64(own_key)));
  join.note(true, "made the cell " + join.settings.name + "; its log begins at " +
                      std::to_string(join.replica.tail()));
  return join.shared.state();
}

// Only here can it be found that the database lost what this server never had, as its replica was
// behind when it stopped.
Stored<void> compare_with_seen(const CellJoin& join, const CellState& state) {
  const auto seen = TRY(read_seen(join.data, join.settings.name));
  const Position last = TRY(join.shared.last()).last;
  if (seen && last < *seen) {
    const std::string file = seen_file(join.data).string();
    return store_failure(
        StoreError::Kind::damaged,
        "the cell's log ends at " + std::to_string(last) + ", and this server has seen " +
            std::to_string(*seen) +
            " acknowledged: the database lost acknowledged records, or is another cell's. "
            "`signalbox cell repair`, at the server whose log reaches furthest, puts them back. If "
            "no server has them any more, remove " +
            file + " to go on without",
        file);
  }
  if (seen && state.acked <= *seen) return {};
  return note_seen(join.data, join.settings.name, state.acked);
}

Stored<std::string> try_to_join(const CellJoin& join, const std::string& own_key) {
  const CellState state = TRY(find_or_make(join, own_key));
  auto key = from_base64(state.secret);
  if (!key) {
    return store_failure(StoreError::Kind::damaged, "the secret of the cell " + join.settings.name +
                                                        " in its database isn't one");
  }
  TRY(compare_with_seen(join, state));
  return *std::move(key);
}

}  // namespace

Stored<std::optional<std::string>> join_cell(const CellJoin& join, const std::string& own_key) {
  std::optional<std::int64_t> noted_ms;
  do {
    auto key = try_to_join(join, own_key);
    if (key) return *std::move(key);
    if (!passes(key.error())) return tl::unexpected(key.error());
    const std::int64_t now_ms = join.now_ms();
    if (!noted_ms || now_ms - *noted_ms >= note_again_ms) {
      noted_ms = now_ms;
      join.note(false, "waiting for the log of the cell " + join.settings.name + ": " +
                           key.error().message);
    }
  } while (join.wait(limits::cell_beat_ms_default));
  return std::nullopt;
}

}  // namespace signalbox
