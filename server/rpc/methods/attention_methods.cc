// `attention.list`: what waits for a person, in the world and in the service itself.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/describe/enum_to_string.hpp>
#include <boost/json/array.hpp>

#include "projections/attention.h"
#include "projections/run_history.h"
#include "server/engine/engine.h"
#include "server/followers/projector.h"
#include "server/rpc/command_call.h"
#include "server/rpc/methods/attention_views.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/methods/timeline_json.h"
#include "server/rpc/page_limit.h"
#include "server/text/described_json.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// The first approvals whose patch is looked for: that reads all records of the run.
constexpr std::size_t patches_shown_max = 32;

struct ListAttention {
  std::vector<AttentionKind> kinds;
  std::optional<std::uint32_t> limit;
};
BOOST_DESCRIBE_STRUCT(ListAttention, (), (kinds, limit))

// What the engine's thread knows, and what was asked for.
struct AttentionMoment {
  std::vector<AttentionItem> items;
  json::array service;  // items, as they are shown
  std::size_t limit = 0;
};

bool is_wanted(const std::vector<AttentionKind>& kinds, AttentionKind kind) {
  return kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

struct AttentionQuestion {
  std::vector<AttentionKind> kinds;
  std::size_t limit = 0;
};

AttentionMoment attention_moment(const Api& api, const std::vector<StatusPart>& status_parts,
                                 const AttentionQuestion& question) {
  AttentionMoment moment;
  moment.items = attention_of(api.engine.world(), attention_bounds(api));
  std::erase_if(moment.items,
                [&](const AttentionItem& item) { return !is_wanted(question.kinds, item.kind); });
  if (is_wanted(question.kinds, AttentionKind::service)) {
    moment.service = service_conditions(api, status_parts);
  }
  moment.limit = question.limit;
  return moment;
}

// Returns the size of the run's newest change.patch; nullopt if it has none.
std::optional<std::uint64_t> patch_bytes(const Api& api, const RunIndex& index, const RunId& id) {
  const auto timeline = read_timeline(api.log, index, id);
  if (!timeline || !*timeline) return std::nullopt;
  const auto current = current_artifacts(**timeline);
  const auto patch = current.find("change.patch");
  if (patch == current.end()) return std::nullopt;
  return patch->second->bytes;
}

// Returns the answer. `index` is nullptr while the read models can't be asked.
json::object attention_view(const Api& api, const RunIndex* index, const AttentionMoment& moment) {
  json::array items;
  std::map<AttentionKind, std::uint64_t> counts;
  for (const json::value& condition : moment.service) {
    ++counts[AttentionKind::service];
    if (items.size() < moment.limit) items.push_back(condition);
  }
  std::size_t total = moment.service.size();
  std::size_t patches = 0;
  for (AttentionItem item : moment.items) {
    if (index != nullptr && is_failed_run_of_card(*index, item)) continue;
    ++total;
    ++counts[item.kind];
    if (items.size() >= moment.limit) continue;
    if (index != nullptr) add_attention_details(api, *index, item);
    json::object shown = attention_item_to_json(item);
    if (index != nullptr && item.kind == AttentionKind::approval && patches++ < patches_shown_max) {
      if (const auto bytes = patch_bytes(api, *index, item.run_id)) shown["patch_bytes"] = *bytes;
    }
    items.push_back(std::move(shown));
  }
  json::object result;
  result["items"] = std::move(items);
  result["total"] = total;
  json::object& kinds = result["counts"].emplace_object();
  for (const auto& [kind, count] : counts) {
    kinds[boost::describe::enum_to_string(kind, "")] = count;
  }
  return result;
}

// That the read models can't be asked is one of the conditions: the rest is shown all the same.
void answer_attention(Api& api, const Responder& responder, const AttentionQuestion& question,
                      const std::vector<StatusPart>& status_parts) {
  const Position position = api.engine.world().position;
  const auto moment =
      std::make_shared<const AttentionMoment>(attention_moment(api, status_parts, question));
  api.projector.query(
      position,
      [&api, responder, question, &status_parts, moment, position](const RunIndex& index) {
        if (index.applied() != position) {  // the rows were computed anew meanwhile
          return api.post([&api, responder, question, &status_parts] {
            answer_attention(api, responder, question, status_parts);
          });
        }
        api.post([responder, position, view = attention_view(api, &index, *moment)] {
          responder.result(view, position);
        });
      },
      [&api, responder, moment, position](const StoreError&) {
        api.post([&api, responder, moment, position] {
          responder.result(attention_view(api, nullptr, *moment), position);
        });
      });
}

void list_attention(Api& api, Call& call, const std::vector<StatusPart>& status_parts) {
  const auto params = from_json<ListAttention>(call.params);
  if (!params) return call.responder.reject(params.error());
  const auto limit = page_limit(params->limit, 100, attention_list_rows_max);
  if (!limit) return call.responder.reject(limit.error());
  answer_attention(api, call.responder, {params->kinds, *limit}, status_parts);
}

}  // namespace

std::vector<Method> attention_methods(std::vector<StatusPart> status_parts) {
  // Shared: a question that is asked again refers to it.
  auto parts = std::make_shared<const std::vector<StatusPart>>(std::move(status_parts));
  return {
      {"attention.list", false, Role::viewer, field_names<ListAttention>(),
       [parts = std::move(parts)](Api& api, Call& call) { list_attention(api, call, *parts); }}};
}

}  // namespace signalbox
