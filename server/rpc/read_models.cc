#include "server/rpc/read_models.h"

#include <algorithm>
#include <utility>

#include "server/engine/engine.h"
#include "server/followers/projector.h"

namespace signalbox {

bool refuse_stuck(const Api& api, const Responder& responder, Position position) {
  if (!api.engine.is_stuck() || position <= api.engine.durable_position()) return false;
  responder.refuse_at_once(api.engine.unproved_refusal());
  return true;
}

void take_turn(const Api& api, const Responder& responder, QueryTurns::Begin begin) {
  if (api.query_turns == nullptr || responder.caller().empty()) return begin(nullptr);
  api.query_turns->run(responder, std::move(begin));
}

namespace {

using ReadModelQuery = std::function<std::function<void()>(const RunIndex& index)>;

void query_in_turn(Api& api, const Responder& responder, Position position, ReadModelQuery query,
                   const QueryTurn& turn) {
  if (refuse_stuck(api, responder, position)) return;
  api.projector.query(
      position,
      [&api, responder, position, query, turn](const RunIndex& index) {
        const bool is_short = index.applied() < position;
        if (is_short && !responder.asks()) {  // a command decides on all that the world has
          return api.post([&api, responder, position, query, turn] {
            query_in_turn(api, responder, std::min(position, api.engine.world().position), query,
                          turn);
          });
        }
        api.post([responder, is_short, answer = query(index)] {
          if (is_short && responder.may_be_old()) return responder.ask_again();
          answer();
        });
      },
      [&api, responder](const StoreError& why) {
        api.post([&api, responder, why] { responder.reject(read_models_behind(api, why)); });
      });
}

void answer_moment_in_turn(Api& api, const Responder& responder,
                           const std::function<RowsView()>& capture, const QueryTurn& turn) {
  const Position moment = api.engine.world().position;
  query_in_turn(
      api, responder, moment,
      [&api, responder, moment, capture, turn,
       view = capture()](const RunIndex& index) -> std::function<void()> {
        if (index.applied() != moment) {
          return [&api, responder, capture, turn] {
            answer_moment_in_turn(api, responder, capture, turn);
          };
        }
        return responder.prepare(view(index), moment);
      },
      turn);
}

}  // namespace

void query_read_models(Api& api, const Responder& responder, Position position,
                       ReadModelQuery query) {
  take_turn(api, responder,
            [&api, responder, position, query = std::move(query)](const QueryTurn& turn) {
              query_in_turn(api, responder, position, query, turn);
            });
}

void answer_from_read_models(Api& api, const Responder& responder, RowsView view) {
  query_read_models(api, responder, api.engine.world().position,
                    [responder, view = std::move(view)](const RunIndex& index) {
                      const Position shown = index.applied();
                      return responder.prepare(view(index), shown);
                    });
}

void answer_from_moment(Api& api, const Responder& responder, std::function<RowsView()> capture) {
  take_turn(api, responder, [&api, responder, capture = std::move(capture)](const QueryTurn& turn) {
    answer_moment_in_turn(api, responder, capture, turn);
  });
}

Rejection read_models_rebuilding(const std::string& why) {
  return {ErrorCode::READ_MODELS_REBUILDING,
          "the read models are being computed from the log again; try again soon",
          {{"reason", why}},
          {"signalbox status"}};
}

Rejection read_models_behind(const Api& api) {
  if (const auto rebuilding = api.projector.rebuilding()) {
    return read_models_rebuilding(rebuilding->reason);
  }
  StoreError why;
  why.message = api.projector.held().value_or("");
  return read_models_behind(api, why);
}

Rejection read_models_behind(const Api& api, const StoreError& why) {
  if (why.kind == StoreError::Kind::rebuilding) return read_models_rebuilding(why.message);
  return {ErrorCode::STORAGE_FULL,
          "the disk doesn't take the read models, and they stay behind the log; the log itself and "
          "what is open can be read",
          {{"read_models_position", static_cast<std::int64_t>(api.projector.applied())},
           {"durable_position", static_cast<std::int64_t>(api.engine.durable_position())},
           {"disk_error", why.message}},
          {"df -h", "signalbox status"}};
}

}  // namespace signalbox
