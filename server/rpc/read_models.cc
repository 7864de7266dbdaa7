#include "server/rpc/read_models.h"

#include <utility>

#include "server/engine/engine.h"
#include "server/followers/projector.h"

namespace signalbox {

void query_read_models(Api& api, const Responder& responder, Position position,
                       std::function<std::function<void()>(const RunIndex& index)> query) {
  api.projector.query(
      position, [&api, query = std::move(query)](const RunIndex& index) { api.post(query(index)); },
      [&api, responder](const StoreError& why) {
        api.post([&api, responder, text = why.message] {
          responder.reject(read_models_behind(api, text));
        });
      });
}

void answer_from_read_models(Api& api, const Responder& responder,
                             std::function<Decided<boost::json::object>(const RunIndex&)> view) {
  query_read_models(api, responder, api.engine.world().position,
                    [responder, view = std::move(view)](const RunIndex& index) {
                      return [responder, outcome = view(index)]() mutable {
                        responder.answer(std::move(outcome));
                      };
                    });
}

Rejection read_models_behind(const Api& api, const std::string& why) {
  return {ErrorCode::STORAGE_FULL,
          "the disk doesn't take the read models, and they stay behind the log; the log itself and "
          "what is open can be read",
          {{"read_models_position", static_cast<std::int64_t>(api.projector.applied())},
           {"durable_position", static_cast<std::int64_t>(api.engine.durable_position())},
           {"disk_error", why}},
          {"df -h", "signalbox status"}};
}

}  // namespace signalbox
