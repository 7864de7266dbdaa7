// Questions to the read models, which answer on the projector's thread and lag behind the log.
#pragma once

#include <functional>

#include "projections/run_index.h"
#include "server/followers/projector.h"
#include "server/rpc/api.h"
#include "server/rpc/responder.h"

namespace signalbox {

// Calls `look` on the projector's thread once the read models are at `position`, and what it gives
// on the engine's thread. If they stay before that, because the disk doesn't take them, `responder`
// rejects instead.
void ask_read_models(Api& api, const Responder& responder, Position position,
                     std::function<std::function<void()>(const RunIndex& index)> look);

// The same as of this moment, and `responder` answers what `view` gives.
void answer_from_read_models(Api& api, const Responder& responder,
                             std::function<Decided<boost::json::object>(const RunIndex&)> view);

// The refusal where an answer would need rows that the disk doesn't take, or can't give.
Rejection read_models_behind(const Api& api, const std::string& why);

// The refusal where the rows can't be read.
inline tl::unexpected<Rejection> unreadable(const StoreError& error) {
  return reject(ErrorCode::STORAGE_DAMAGED, error.message, {}, {"signalbox replay --verify"});
}

}  // namespace signalbox
