// `run.list`: pages of runs, filtered and in an order, with totals.
#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "domain/try.h"
#include "server/engine/engine.h"
#include "server/platform/clock.h"
#include "server/rpc/methods/query_params.h"
#include "server/rpc/methods/run_methods.h"
#include "server/rpc/methods/timeline_json.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/read_models.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

Decided<RunFilter> run_filter_from(const ListRuns& params, std::int64_t now_ns) {
  RunFilter filter;
  // The list of one status is stored as such.
  filter.statuses = distinct(params.status);
  if (filter.statuses.size() == 1) {
    filter.status = filter.statuses.front();
    filter.statuses.clear();
  }
  filter.waiting_for = distinct(params.waiting_for);
  filter.project = params.project;
  filter.station = params.station;
  filter.error_code = params.code;
  filter.text = params.text;
  if (params.label) {
    const std::size_t equals = params.label->find('=');
    if (equals == std::string::npos) {
      return reject(ErrorCode::INVALID_PARAMS, "label must be \"name=value\"",
                    {{"field", std::string("label")}, {"value", *params.label}});
    }
    filter.label = {params.label->substr(0, equals), params.label->substr(equals + 1)};
  }
  if (params.since) {
    const auto time = TRY(read_time_or_age("since", *params.since, now_ns));
    filter.started_from_ns = time;
  }
  if (params.until) {
    const auto time = TRY(read_time_or_age("until", *params.until, now_ns));
    filter.started_until_ns = time;
  }
  return filter;
}

struct RunListing {
  RunFilter filter;
  RunOrder order = RunOrder::started;
  std::size_t limit = 0;
  Position cursor = 0;
  bool totals = false;
};

// When the attempts of stalled runs made progress last, UTC.
using LastProgress = std::unordered_map<RunId, std::int64_t, UuidHash>;

bool asks_stalled(const RunFilter& filter) {
  return std::ranges::find(filter.waiting_for, WaitReason::stalled) != filter.waiting_for.end();
}

LastProgress last_progress(const World& world) {
  LastProgress progress;
  for (const auto& [id, run] : world.runs) {
    const StationState& station = run->station();
    if (run->attempt && station.status == StationStatus::waiting &&
        station.waiting == WaitReason::stalled) {
      progress[id] = run->attempt->last_progress_at_ns;
    }
  }
  return progress;
}

Decided<json::object> run_list_view(const RunIndex& index, const RunListing& listing,
                                    const LastProgress& progress) {
  const auto page = index.list_by(listing.order, listing.filter, listing.limit, listing.cursor,
                                  run_list_looked_at_max);
  if (!page) return unreadable(page.error());
  if (!*page) return tl::unexpected(too_many_runs());
  json::array runs;
  for (const RunRow& row : (*page)->rows) {
    json::object run = row_to_json(row);
    if (const auto found = progress.find(row.run_id); found != progress.end()) {
      run["last_progress_at"] = format_time(found->second);
    }
    runs.push_back(std::move(run));
  }
  json::object result;
  result["runs"] = std::move(runs);
  result["next_cursor"] = (*page)->next_cursor != 0
                              ? json::value(std::to_string((*page)->next_cursor))
                              : json::value(nullptr);
  if (!listing.totals) return result;
  const auto counts = index.counts(listing.filter, run_list_looked_at_max);
  if (!counts) return unreadable(counts.error());
  if (!*counts) return tl::unexpected(too_many_runs());
  result["totals"] = to_json(**counts);
  return result;
}

}  // namespace

Rejection too_many_runs() {
  return {ErrorCode::LIMIT_EXCEEDED,
          "more runs than " + std::to_string(run_list_looked_at_max) +
              " would have to be read; narrow the list by since, status or project",
          {{"limit", std::string("run_list_looked_at_max")},
           {"max", static_cast<std::int64_t>(run_list_looked_at_max)}},
          {"signalbox run list --since 24h"}};
}

void list_runs(Api& api, Call& call) {
  split_list(call.params, "status");
  split_list(call.params, "waiting_for");
  read_flag(call.params, "totals");
  const auto params = from_json<ListRuns>(call.params);
  if (!params) return call.responder.reject(params.error());
  auto filter = run_filter_from(*params, api.clock.wall_ns());
  if (!filter) return call.responder.reject(filter.error());
  const auto limit = page_limit(params->limit, 50, run_list_rows_max);
  if (!limit) return call.responder.reject(limit.error());
  const RunListing listing{std::move(*filter), params->order_by.value_or(RunOrder::started), *limit,
                           params->cursor.value_or(0), params->totals};
  if (!asks_stalled(listing.filter)) {
    return answer_from_read_models(api, call.responder, [listing](const RunIndex& index) {
      return run_list_view(index, listing, {});
    });
  }
  // A row doesn't have the latest progress, but the world does.
  answer_from_moment(api, call.responder, [&api, listing]() -> RowsView {
    return [listing, progress = last_progress(api.engine.world())](const RunIndex& index) {
      return run_list_view(index, listing, progress);
    };
  });
}

}  // namespace signalbox
