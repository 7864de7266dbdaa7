// `attention.list`: what waits for a person, in the world and in the service itself.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/engine/engine.h"
#include "server/followers/projector.h"
#include "server/rpc/command_call.h"
#include "server/rpc/methods/attention_views.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/methods/query_params.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/read_models.h"
#include "server/text/described_json.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct ListAttention {
  std::vector<AttentionKind> kinds;
  std::optional<std::uint32_t> limit;
  std::optional<std::string> cursor;
};
BOOST_DESCRIBE_STRUCT(ListAttention, (), (kinds, limit, cursor))

// That the read models can't be asked is one of the conditions: the rest is shown all the same.
void answer_attention(Api& api, const Responder& responder, const AttentionQuestion& question,
                      const ServiceSources& sources, const QueryTurn& turn) {
  const Position position = api.engine.world().position;
  if (refuse_stuck(api, responder, position)) return;
  const auto moment =
      std::make_shared<const AttentionMoment>(attention_moment(api, sources, question));
  api.projector.query(
      position,
      [&api, responder, question, &sources, moment, position, turn](const RunIndex& index) {
        if (index.applied() != position) {  // the rows were computed anew meanwhile
          return api.post([&api, responder, question, &sources, turn] {
            answer_attention(api, responder, question, sources, turn);
          });
        }
        api.post(responder.prepare(attention_page(api, &index, *moment, question), position));
      },
      [&api, responder, question, moment, position](const StoreError&) {
        api.post([&api, responder, question, moment, position] {
          responder.result(attention_page(api, nullptr, *moment, question), position);
        });
      });
}

void list_attention(Api& api, Call& call, const ServiceSources& sources) {
  const auto params = from_json<ListAttention>(call.params);
  if (!params) return call.responder.reject(params.error());
  const auto limit = page_limit(params->limit, 100, attention_list_rows_max);
  if (!limit) return call.responder.reject(limit.error());
  AttentionQuestion question{distinct(params->kinds), *limit};
  question.proposals_max = attention_proposals_max;
  if (params->cursor) {
    auto cursor = read_attention_cursor(*params->cursor);
    if (!cursor) return call.responder.reject(cursor.error());
    question.cursor = std::move(*cursor);
  }
  take_turn(api, call.responder,
            [&api, responder = call.responder, question, &sources](const QueryTurn& turn) {
              answer_attention(api, responder, question, sources, turn);
            });
}

}  // namespace

std::vector<Method> attention_methods(ServiceSources sources) {
  // Shared: a question that is asked again refers to it.
  auto shared = std::make_shared<const ServiceSources>(std::move(sources));
  return {{"attention.list", false, Role::viewer, params_of<ListAttention>(),
           [sources = std::move(shared)](Api& api, Call& call) {
             list_attention(api, call, *sources);
           }}};
}

}  // namespace signalbox
