// `timeline.get`: many runs, or who held which lock, as bars over a span of time, merged to a
// resolution.
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

// A bar of a timeline has the part of the span that it takes, the number of what it stands for, and
// counted(), the name of that; kind(): those of other kinds are never joined; join(), which takes
// over another bar of its kind; and describe(), which adds the rest of its fields.

struct RunBar {
  std::int64_t from_ns = 0;
  std::int64_t until_ns = 0;
  RunStatus status = RunStatus::queued;
  RunId run_id{};  // of the first one
  std::size_t count = 1;

  static constexpr const char* counted = "runs";
  [[nodiscard]] RunStatus kind() const { return status; }
  void join(const RunBar& next) { count += next.count; }
  void describe(json::object& shown) const {
    if (count == 1) shown["run_id"] = to_string(run_id);
  }
};

struct HoldBar {
  std::int64_t from_ns = 0;
  std::int64_t until_ns = 0;
  LockHoldStatus status = LockHoldStatus::held;
  std::string owner;  // empty: more than one
  Token token = 0;    // of the first one
  // A hold that a screen can show is told apart from those of others, of which there can't be more
  // at a time: who gives a lock to whom is what is looked for.
  bool is_visible = false;
  std::size_t count = 1;

  static constexpr const char* counted = "holds";
  [[nodiscard]] std::pair<LockHoldStatus, std::string> kind() const {
    return {status, is_visible ? owner : std::string()};
  }
  void join(const HoldBar& next) {
    count += next.count;
    if (next.owner != owner) owner.clear();
  }
  void describe(json::object& shown) const {
    if (!owner.empty()) shown["owner"] = owner;
    if (count == 1) shown["token"] = token;
  }
};

template <class Bar>
struct TimelineRow {
  std::string name;
  std::string goal;     // of a single run
  Position latest = 0;  // start of its latest run or hold
  std::size_t count = 0;
  // Before they are merged: one for each run or hold.
  std::map<decltype(Bar().kind()), std::vector<Bar>> bars;
};

// Widens bars to the resolution and joins those that overlap or touch.
template <class Bar>
std::vector<Bar> merged(std::vector<Bar> bars, const TimelineRequest& request) {
  const std::int64_t from_ns = request.span.from_ns;
  const std::int64_t step_ns = request.resolution_ns;
  std::sort(bars.begin(), bars.end(),
            [](const Bar& left, const Bar& right) { return left.from_ns < right.from_ns; });
  std::vector<Bar> found;
  for (Bar& bar : bars) {
    bar.from_ns = from_ns + (bar.from_ns - from_ns) / step_ns * step_ns;
    bar.until_ns = from_ns + ((bar.until_ns - from_ns) / step_ns + 1) * step_ns;
    bar.until_ns = std::min(bar.until_ns, request.span.until_ns);
    if (!found.empty() && bar.from_ns <= found.back().until_ns) {
      found.back().until_ns = std::max(found.back().until_ns, bar.until_ns);
      found.back().join(bar);
    } else {
      found.push_back(std::move(bar));
    }
  }
  return found;
}

template <class Bar>
class Timeline {
 public:
  explicit Timeline(const TimelineRequest& request) : request_(request) {}

  // Adds a bar, cut to the span, to the row of this name, unless it is outside the span. Returns
  // the row; nullptr without one. `began` is the position of its beginning.
  TimelineRow<Bar>* add(std::string name, Position began, Bar bar) {
    const TimeSpan& span = request_.span;
    if (bar.from_ns >= span.until_ns || bar.until_ns < span.from_ns) return nullptr;
    bar.from_ns = std::max(bar.from_ns, span.from_ns);
    bar.until_ns = std::min(bar.until_ns, span.until_ns);
    TimelineRow<Bar>& row = rows_[name];
    if (row.count == 0) row.name = std::move(name);
    row.latest = std::max(row.latest, began);
    ++row.count;
    row.bars[bar.kind()].push_back(std::move(bar));
    ++count_;
    return &row;
  }

  [[nodiscard]] json::object to_object() const {
    std::vector<const TimelineRow<Bar>*> rows;
    for (const auto& [name, row] : rows_) rows.push_back(&row);
    std::sort(rows.begin(), rows.end(),
              [](const auto* left, const auto* right) { return left->latest > right->latest; });
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
    result[std::string(Bar::counted) + "_total"] = count_;
    return result;
  }

 private:
  [[nodiscard]] json::object row_json(const TimelineRow<Bar>& row) const {
    json::object shown;
    shown["name"] = row.name;
    if (!row.goal.empty()) shown["goal"] = row.goal;
    shown[Bar::counted] = row.count;
    json::array& bars = shown["bars"].emplace_array();
    const std::int64_t last_ns = request_.span.until_ns - 1;
    for (const auto& [kind, of_kind] : row.bars) {
      for (const Bar& bar : merged(of_kind, request_)) {
        json::object object{{"from", format_time(bar.from_ns)},
                            {"to", format_time(std::min(bar.until_ns, last_ns))},
                            {"status", to_json(bar.status)},
                            {Bar::counted, bar.count}};
        bar.describe(object);
        bars.push_back(std::move(object));
      }
    }
    return shown;
  }

  const TimelineRequest request_;
  std::map<std::string, TimelineRow<Bar>> rows_;
  std::size_t count_ = 0;
};

std::string group_of(TimelineGroup group, const RunRow& row) {
  switch (group) {
    case TimelineGroup::project:
      return row.project;
    case TimelineGroup::pipeline:
      return row.pipeline;
    case TimelineGroup::worker:
      return row.worker;
    case TimelineGroup::run:
    case TimelineGroup::lock:
      break;
  }
  return to_string(row.run_id);
}

void add(Timeline<RunBar>& timeline, const TimelineRequest& request, const RunRow& run) {
  const std::int64_t ended_ns = run.ended_at_ns != 0 ? run.ended_at_ns : request.span.until_ns;
  auto* row = timeline.add(group_of(request.group, run), run.started_position,
                           {run.started_at_ns, ended_ns, run.status, run.run_id});
  if (row != nullptr && request.group == TimelineGroup::run) row->goal = run.goal;
}

Decided<void> add_runs(const RunIndex& index, const TimelineRequest& request,
                       const RunFilter& filter, Timeline<RunBar>& timeline) {
  const auto is_whole = index.for_each(filter, run_list_looked_at_max,
                                       [&](RunRow&& run) { add(timeline, request, run); });
  if (!is_whole) return unreadable(is_whole.error());
  if (!*is_whole) return tl::unexpected(too_many_runs());
  return {};
}

// Searches only the open ones among the runs that began long before: these are few.
Decided<json::object> runs_view(const RunIndex& index, const TimelineRequest& request) {
  Timeline<RunBar> timeline(request);
  RunFilter filter;
  filter.project = request.project;
  filter.started_from_ns = request.span.from_ns - timeline_run_ms_max * ns_per_ms;
  filter.started_until_ns = request.span.until_ns;
  TRY(add_runs(index, request, filter, timeline));
  filter.started_until_ns = std::exchange(filter.started_from_ns, std::nullopt);
  for (const RunStatus status : {RunStatus::queued, RunStatus::running, RunStatus::paused}) {
    filter.status = status;
    TRY(add_runs(index, request, filter, timeline));
  }
  return timeline.to_object();
}

Rejection too_many_holds() {
  return {ErrorCode::LIMIT_EXCEEDED,
          "locks were held more often than " + std::to_string(timeline_holds_max) +
              " times in this time; ask for a shorter one",
          {{"limit", std::string("timeline_holds_max")},
           {"max", static_cast<std::int64_t>(timeline_holds_max)}},
          {"signalbox timeline --group lock --from 1h"}};
}

Decided<json::object> holds_view(const RunIndex& index, const TimelineRequest& request) {
  Timeline<HoldBar> timeline(request);
  const auto is_whole = index.locks().for_each(
      request.span.from_ns, request.span.until_ns, timeline_holds_max, [&](const LockHold& hold) {
        const bool is_visible = hold.status == LockHoldStatus::held ||
                                hold.ended_at_ns - hold.acquired_at_ns >= request.resolution_ns;
        timeline.add(hold.key, hold.token,
                     {hold.acquired_at_ns, std::max(hold.acquired_at_ns, hold.ended_at_ns),
                      hold.status, hold.owner, hold.token, is_visible});
      });
  if (!is_whole) return unreadable(is_whole.error());
  if (!*is_whole) return tl::unexpected(too_many_holds());
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
  if (request.project && request.group == TimelineGroup::lock) {
    return reject(ErrorCode::INVALID_PARAMS, "a lock is of no project",
                  {{"field", std::string("project")}});
  }
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
                            return request.group == TimelineGroup::lock ? holds_view(index, request)
                                                                        : runs_view(index, request);
                          });
}

}  // namespace signalbox
