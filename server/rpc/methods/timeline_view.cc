// `timeline.get`: many runs as bars over a span of time, merged to a resolution.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "domain/nanoseconds.h"
#include "domain/refusals.h"
#include "domain/try.h"
#include "server/platform/clock.h"
#include "server/rpc/methods/query_params.h"
#include "server/rpc/methods/run_methods.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/read_models.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct TimelineRequest {
  TimeSpan span;
  std::int64_t resolution_ns = ns_per_ms;
  TimelineGroup group = TimelineGroup::run;
  std::size_t rows_max = 0;
  std::optional<std::string> project;
};

// Runs of one row that have the same status and follow each other within the resolution.
struct TimelineBar {
  std::int64_t from_ns = 0;
  std::int64_t until_ns = 0;
  std::size_t runs = 0;
  RunId run_id{};  // of the first one
};

struct TimelineRow {
  std::string name;     // of the group
  std::string goal;     // of a single run
  Position latest = 0;  // start of its latest run
  std::size_t runs = 0;
  std::map<RunStatus, std::vector<TimelineBar>> bars;  // before they are merged: one for each run
};

std::string group_of(TimelineGroup group, const RunRow& row) {
  switch (group) {
    case TimelineGroup::run:
      return to_string(row.run_id);
    case TimelineGroup::project:
      return row.project;
    case TimelineGroup::pipeline:
      return row.pipeline;
    case TimelineGroup::worker:
      return row.worker;
  }
  return {};
}

// Widens bars to the resolution and joins those that overlap or touch.
std::vector<TimelineBar> merged(std::vector<TimelineBar> bars, const TimelineRequest& request) {
  const std::int64_t from_ns = request.span.from_ns;
  const std::int64_t step_ns = request.resolution_ns;
  std::sort(bars.begin(), bars.end(), [](const TimelineBar& left, const TimelineBar& right) {
    return left.from_ns < right.from_ns;
  });
  std::vector<TimelineBar> found;
  for (TimelineBar& bar : bars) {
    bar.from_ns = from_ns + (bar.from_ns - from_ns) / step_ns * step_ns;
    bar.until_ns = from_ns + ((bar.until_ns - from_ns) / step_ns + 1) * step_ns;
    bar.until_ns = std::min(bar.until_ns, request.span.until_ns);
    if (!found.empty() && bar.from_ns <= found.back().until_ns) {
      found.back().until_ns = std::max(found.back().until_ns, bar.until_ns);
      found.back().runs += bar.runs;
    } else {
      found.push_back(bar);
    }
  }
  return found;
}

class Timeline {
 public:
  explicit Timeline(const TimelineRequest& request) : request_(request) {}

  void add(const RunRow& run) {
    const TimeSpan& span = request_.span;
    const std::int64_t ended_ns = run.ended_at_ns != 0 ? run.ended_at_ns : span.until_ns;
    if (run.started_at_ns >= span.until_ns || ended_ns < span.from_ns) return;
    std::string name = group_of(request_.group, run);
    TimelineRow& row = rows_[name];
    if (row.runs == 0) row.name = std::move(name);
    if (request_.group == TimelineGroup::run) row.goal = run.goal;
    row.latest = std::max(row.latest, run.started_position);
    ++row.runs;
    row.bars[run.status].push_back({std::max(run.started_at_ns, span.from_ns),
                                    std::min(ended_ns, span.until_ns), 1, run.run_id});
    ++runs_;
  }

  [[nodiscard]] json::object to_object() const {
    std::vector<const TimelineRow*> rows;
    for (const auto& [name, row] : rows_) rows.push_back(&row);
    std::sort(rows.begin(), rows.end(), [](const TimelineRow* left, const TimelineRow* right) {
      return left->latest > right->latest;
    });
    json::array shown;
    for (std::size_t each = 0; each < std::min(rows.size(), request_.rows_max); ++each) {
      shown.push_back(row_json(*rows[each]));
    }
    json::object result;
    result["from"] = format_time(request_.span.from_ns);
    result["to"] = format_time(request_.span.until_ns - 1);
    result["resolution_ms"] = request_.resolution_ns / ns_per_ms;
    result["rows"] = std::move(shown);
    result["rows_total"] = rows.size();
    result["runs_total"] = runs_;
    return result;
  }

 private:
  [[nodiscard]] json::object row_json(const TimelineRow& row) const {
    json::object shown;
    shown["name"] = row.name;
    if (!row.goal.empty()) shown["goal"] = row.goal;
    shown["runs"] = row.runs;
    json::array& bars = shown["bars"].emplace_array();
    const std::int64_t last_ns = request_.span.until_ns - 1;
    for (const auto& [status, of_status] : row.bars) {
      for (const TimelineBar& bar : merged(of_status, request_)) {
        json::object object{{"from", format_time(bar.from_ns)},
                            {"to", format_time(std::min(bar.until_ns, last_ns))},
                            {"status", to_json(status)},
                            {"runs", bar.runs}};
        if (bar.runs == 1) object["run_id"] = to_string(bar.run_id);
        bars.push_back(std::move(object));
      }
    }
    return shown;
  }

  const TimelineRequest request_;
  std::map<std::string, TimelineRow> rows_;
  std::size_t runs_ = 0;
};

Decided<void> add_runs(const RunIndex& index, const RunFilter& filter, Timeline& timeline) {
  const auto is_whole = index.for_each(filter, run_list_looked_at_max,
                                       [&timeline](RunRow&& run) { timeline.add(run); });
  if (!is_whole) return unreadable(is_whole.error());
  if (!*is_whole) return tl::unexpected(too_many_runs());
  return {};
}

// Searches only the open ones among the runs that began long before: these are few.
Decided<json::object> timeline_view(const RunIndex& index, const TimelineRequest& request) {
  Timeline timeline(request);
  RunFilter filter;
  filter.project = request.project;
  filter.started_from_ns = request.span.from_ns - timeline_run_ms_max * ns_per_ms;
  filter.started_until_ns = request.span.until_ns;
  TRY(add_runs(index, filter, timeline));
  filter.started_until_ns = std::exchange(filter.started_from_ns, std::nullopt);
  for (const RunStatus status : {RunStatus::queued, RunStatus::running, RunStatus::paused}) {
    filter.status = status;
    TRY(add_runs(index, filter, timeline));
  }
  return timeline.to_object();
}

Decided<TimelineRequest> timeline_request(const Api& api, const GetTimeline& params,
                                          std::int64_t now_ns) {
  TimelineRequest request;
  const TimeSpan last_day{now_ns - 24 * 3600 * LogCalendar::second_ns, now_ns + 1};
  const auto span = TRY(read_time_span(api.log, last_day, params.from, params.to, now_ns));
  request.span = span;
  const std::int64_t length_ms = (span.until_ns - span.from_ns) / ns_per_ms + 1;
  const std::int64_t resolution_ms_min =
      (length_ms + timeline_columns_max - 1) / timeline_columns_max;
  const std::int64_t resolution_ms = params.resolution_ms.value_or(resolution_ms_min);
  TRY(require_between("resolution_ms", resolution_ms, resolution_ms_min, length_ms));
  request.resolution_ns = resolution_ms * ns_per_ms;
  request.group = params.group.value_or(TimelineGroup::run);
  const auto rows = params.max_rows.value_or(200);
  TRY(require_between("max_rows", rows, 1, timeline_rows_max));
  request.rows_max = rows;
  request.project = params.project;
  return request;
}

}  // namespace

void get_timeline(Api& api, Call& call) {
  read_moment(call.params, "from");
  read_moment(call.params, "to");
  const auto params = from_json<GetTimeline>(call.params);
  if (!params) return call.responder.reject(params.error());
  answer_from_read_models(api, call.responder,
                          [&api, params = *params, now_ns = api.clock.wall_ns()](
                              const RunIndex& index) -> Decided<json::object> {
                            const auto request = TRY(timeline_request(api, params, now_ns));
                            return timeline_view(index, request);
                          });
}

}  // namespace signalbox
