// Queries that the read models answer, off the engine's thread.
#pragma once

#include <functional>
#include <utility>

#include <boost/json/object.hpp>

#include "server/rpc/api.h"
#include "server/rpc/method.h"

namespace signalbox {

// Asks the read models as of this moment; the answer comes back to the engine's thread.
inline void answer_from_index(
    Api& api, Call& call, std::function<Decided<boost::json::object>(const RunIndex& index)> view) {
  api.projector.query(api.engine.world().position, [&api, responder = call.responder,
                                                    view = std::move(view)](const RunIndex& index) {
    api.post(
        [responder, outcome = view(index)]() mutable { responder.answer(std::move(outcome)); });
  });
}

}  // namespace signalbox
