#include "server/cell/cell_join.h"

#include <utility>

#include "domain/try.h"
#include "server/limits.h"
#include "store/base64.h"
#include "store/replicated_event_log.h"

namespace signalbox {
namespace {

constexpr std::int64_t note_again_ms = 30'000;

bool passes(const StoreError& error) {
  return error.kind == StoreError::Kind::away || error.kind == StoreError::Kind::io;
}

// Returns the cell's state, after it was made if there was none.
Stored<CellState> find_or_make(const CellJoin& join, const std::string& own_key) {
  auto state = join.shared.state();
  if (state || state.error().kind != StoreError::Kind::not_found) return state;
  TRY(join.shared.create(first_link(join.replica), to_base64(own_key)));
  join.note(true, "made the cell " + join.settings.name + "; its log begins at " +
                      std::to_string(join.replica.tail()));
  return join.shared.state();
}

Stored<std::string> try_to_join(const CellJoin& join, const std::string& own_key) {
  const CellState state = TRY(find_or_make(join, own_key));
  auto key = from_base64(state.secret);
  if (key) return *std::move(key);
  return store_failure(StoreError::Kind::damaged, "the secret of the cell " + join.settings.name +
                                                      " in its database isn't one");
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
