// `strategy.*`: the statistics of which strategy succeeded after which class of error.
#include "domain/limits.h"
#include "domain/refusals.h"
#include "server/rpc/command_call.h"
#include "server/rpc/method.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/page_cursor.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/read_models.h"
#include "server/text/described_json.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct ListStrategies {
  std::optional<std::string> project;
  std::optional<std::string> station;
  std::optional<std::uint32_t> limit;
  std::optional<std::string> cursor;
};
BOOST_DESCRIBE_STRUCT(ListStrategies, (), (project, station, limit, cursor))

Decided<json::object> strategies_view(const RunIndex& index, const ListStrategies& params,
                                      std::uint32_t limit, const std::string& cursor) {
  const auto page = index.strategies().list({params.project, params.station}, limit, cursor);
  if (!page) return unreadable(page.error());
  json::array rows;
  for (const StrategyRow& row : page->rows) {
    rows.push_back({{"project", row.project},
                    {"station", row.station},
                    {"error_class", to_json(row.error_class)},
                    {"strategy", to_json(row.strategy)},
                    {"tried", row.counts.tried},
                    {"succeeded", row.counts.succeeded}});
  }
  json::object result;
  result["strategies"] = std::move(rows);
  result["next_cursor"] = page->next_cursor.empty() ? json::value(nullptr)
                                                    : json::value(cursor_text(page->next_cursor));
  return result;
}

void list_strategies(Api& api, Call& call) {
  const auto params = from_json<ListStrategies>(call.params);
  if (!params) return call.responder.reject(params.error());
  for (const auto* text : {&params->project, &params->station}) {
    if (auto ok = require_at_most(text == &params->project ? "project" : "station",
                                  text->value_or(""), limits::name_bytes_max);
        !ok) {
      return call.responder.reject(ok.error());
    }
  }
  const auto limit = page_limit(params->limit, 100, strategy_list_rows_max);
  if (!limit) return call.responder.reject(limit.error());
  const auto cursor = read_cursor(params->cursor, "signalbox strategy list");
  if (!cursor) return call.responder.reject(cursor.error());
  answer_from_read_models(
      api, call.responder,
      [params = *params, limit = *limit, cursor = *cursor](const RunIndex& index) {
        return strategies_view(index, params, limit, cursor);
      });
}

}  // namespace

std::vector<Method> strategy_methods() {
  return {{"strategy.list", false, Role::viewer, params_of<ListStrategies>(), list_strategies}};
}

}  // namespace signalbox
