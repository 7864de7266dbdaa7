// Queries to the read models, which run on the projector's thread and lag behind the log.
#pragma once

#include <functional>

#include "projections/run_index.h"
#include "server/followers/projector.h"
#include "server/rpc/api.h"
#include "server/rpc/responder.h"

namespace signalbox {

// Calls `query` on the projector's thread once the read models have reached `position`, and then
// the function that it returned on the engine's thread. If they can't reach it, because the disk
// doesn't take their rows, `responder` rejects with STORAGE_FULL instead.
void query_read_models(Api& api, const Responder& responder, Position position,
                       std::function<std::function<void()>(const RunIndex& index)> query);

// Calls `view` on the projector's thread once the read models have reached the engine's present
// position, and answers with what it returned.
void answer_from_read_models(Api& api, const Responder& responder,
                             std::function<Decided<boost::json::object>(const RunIndex&)> view);

// Returns STORAGE_FULL for a query that needs rows that the disk doesn't take or can't deliver.
Rejection read_models_behind(const Api& api, const std::string& why);

// Returns STORAGE_DAMAGED for rows that can't be read.
inline tl::unexpected<Rejection> unreadable(const StoreError& error) {
  return reject(ErrorCode::STORAGE_DAMAGED, error.message, {}, {"signalbox replay --verify"});
}

}  // namespace signalbox
