// Queries to the read models, which run on the projector's thread and lag behind the log.
#pragma once

#include <functional>

#include "projections/run_index.h"
#include "server/followers/projector.h"
#include "server/rpc/api.h"
#include "server/rpc/query_turns.h"
#include "server/rpc/responder.h"

namespace signalbox {

// Calls `query` on the projector's thread once the read models have reached `position`, and then
// the function that it returned on the engine's thread. If they can't reach it, `responder` rejects
// with STORAGE_FULL instead, because the disk doesn't take their rows, or with
// READ_MODELS_REBUILDING. A query waits for its caller's turn first (query_turns.h).
void query_read_models(Api& api, const Responder& responder, Position position,
                       std::function<std::function<void()>(const RunIndex& index)> query);

// Calls `begin` in a turn of the query's caller, which lasts as long as copies of it: what asks the
// projector keeps one until it is answered. Nobody waits where there are no turns.
void take_turn(const Api& api, const Responder& responder, QueryTurns::Begin begin);

// Makes an answer of rows. Called on the projector's thread.
using RowsView = std::function<Decided<boost::json::object>(const RunIndex&)>;

// Calls `view` on the projector's thread once the read models have reached the engine's present
// position, and answers with what it returned, as of the position of the rows.
void answer_from_read_models(Api& api, const Responder& responder, RowsView view);

// Does the same for an answer that is made of the world as well. Calls `capture`, which takes what
// the answer needs from the world and returns the view, for rows of the same position. Calls it
// again later if the rows were past that position, as after they were computed anew. All calls of
// `capture` are on the engine's thread.
void answer_from_moment(Api& api, const Responder& responder, std::function<RowsView()> capture);

// Returns STORAGE_FULL for a query that needs rows that the disk doesn't take or can't deliver, or
// READ_MODELS_REBUILDING if they are being rebuilt.
Rejection read_models_behind(const Api& api, const StoreError& why);
// Returns the same for a query that can't wait for the read models.
Rejection read_models_behind(const Api& api);

// Returns READ_MODELS_REBUILDING, which tells the caller to try again.
Rejection read_models_rebuilding(const std::string& why);

// Returns STORAGE_DAMAGED for rows that can't be read, or READ_MODELS_REBUILDING if they are being
// rebuilt.
inline tl::unexpected<Rejection> unreadable(const StoreError& error) {
  if (error.kind == StoreError::Kind::rebuilding) {
    return tl::unexpected(read_models_rebuilding(error.message));
  }
  // The rows of what a retention drops stay for some moments longer than the records.
  if (error.kind == StoreError::Kind::dropped) {
    return reject(ErrorCode::HISTORY_DROPPED, error.message,
                  {{"position", static_cast<std::int64_t>(error.position)}}, {"signalbox status"});
  }
  return reject(ErrorCode::STORAGE_DAMAGED, error.message, {}, {"signalbox replay --verify"});
}

// Refuses a request at once that would wait until the read models have `position`, if that waits
// for a log that is away, and may never be in it. Returns whether it did.
bool refuse_stuck(const Api& api, const Responder& responder, Position position);

}  // namespace signalbox
