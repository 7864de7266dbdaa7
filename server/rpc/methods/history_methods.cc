// `events.histogram` and `log.marks`: when how much happened, for a bar of the whole log.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/platform/clock.h"
#include "server/rpc/command_call.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/methods/query_params.h"
#include "server/rpc/methods/run_methods.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/read_models.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"
#include "store/codec.h"

namespace signalbox {
namespace {

namespace json = boost::json;

enum class HistogramKind : std::uint8_t { outcome = 1, noun = 2, type = 3 };
BOOST_DESCRIBE_ENUM(HistogramKind, outcome, noun, type)

struct GetHistogram {
  std::optional<std::string> from;  // a position, a time or an age
  std::optional<std::string> to;
  std::optional<std::uint32_t> buckets;
  std::optional<HistogramKind> by;
};
BOOST_DESCRIBE_STRUCT(GetHistogram, (), (from, to, buckets, by))

struct ListMarks {
  std::optional<std::string> from;
  std::optional<std::string> to;
  std::vector<LogMarkKind> kinds;
  bool backwards = false;
  std::optional<std::uint32_t> limit;
  std::optional<Position> cursor;
};
BOOST_DESCRIBE_STRUCT(ListMarks, (), (from, to, kinds, backwards, limit, cursor))

// Returns what an event counts as; "" for nothing.
std::string_view counted_as(HistogramKind by, std::uint16_t number, std::string_view name) {
  static constexpr std::array<std::string_view, 10> nouns = {
      "server", "run", "station", "lock", "tick", "plan", "project", "card", "access", "runner"};
  switch (by) {
    case HistogramKind::type:
      return name;
    case HistogramKind::noun: {
      const std::size_t noun = number / 100U;
      return noun >= 1 && noun <= nouns.size() ? nouns[noun - 1] : "";
    }
    case HistogramKind::outcome:
      if (number == RunSucceeded::tag.number) return "succeeded";
      if (number == RunFailed::tag.number) return "failed";
      if (number == RunCanceled::tag.number) return "canceled";
      return "";
  }
  return "";
}

class HistoryHistogram {
 public:
  HistoryHistogram(HistogramKind by, const TimeSpan& span, std::int64_t bucket_ns)
      : by_(by), span_(span), bucket_ns_(bucket_ns) {
    for (const EventTag& tag : event_tags()) names_[tag.number] = tag.name;
  }

  void add(std::int64_t start_ns, const CalendarCell& cell) {
    buckets_[(start_ns - span_.from_ns) / bucket_ns_].add(cell);
  }
  [[nodiscard]] json::array to_array() const {
    json::array buckets;
    for (const auto& [number, cell] : buckets_) {
      json::object shown;
      shown["at"] = format_time(span_.from_ns + number * bucket_ns_);
      std::uint64_t events = 0;
      std::map<std::string_view, std::uint64_t> counts;
      for (const auto& [type, count] : cell.counts) {
        events += count;
        const auto name = names_.find(type);
        const auto counted =
            counted_as(by_, type, name == names_.end() ? std::string_view() : name->second);
        if (!counted.empty()) counts[counted] += count;
      }
      shown["events"] = events;
      shown["first_position"] = signalbox::to_json(cell.first);
      shown["last_position"] = signalbox::to_json(cell.last);
      json::object& by = shown["counts"].emplace_object();
      for (const auto& [name, count] : counts) by[name] = count;
      buckets.push_back(std::move(shown));
    }
    return buckets;
  }

 private:
  const HistogramKind by_;
  const TimeSpan span_;
  const std::int64_t bucket_ns_;
  std::map<std::uint16_t, std::string_view> names_;
  std::map<std::int64_t, CalendarCell> buckets_;
};

// Returns the time that the params name; without them, from the log's first counted event to now.
// Both moments belong to it.
Decided<TimeSpan> span_of(const Api& api, const RunIndex& index, std::int64_t now_ns,
                          const std::optional<std::string>& from,
                          const std::optional<std::string>& to) {
  const auto begin = index.calendar().begin_ns();
  if (!begin) return unreadable(begin.error());
  const TimeSpan whole{std::min(begin->value_or(now_ns), now_ns), now_ns + 1};
  return read_time_span(api.log, whole, from, to, now_ns);
}

Decided<json::object> histogram_view(const Api& api, const RunIndex& index,
                                     const GetHistogram& params, std::uint32_t buckets,
                                     std::int64_t now_ns) {
  auto span = TRY(span_of(api, index, now_ns, params.from, params.to));
  const std::int64_t wanted_ns = (span.until_ns - span.from_ns + buckets - 1) / buckets;
  const std::int64_t width_ns = LogCalendar::width_for(wanted_ns);
  // Buckets are whole intervals of the calendar.
  const std::int64_t bucket_ns = (wanted_ns + width_ns - 1) / width_ns * width_ns;
  span.from_ns -= (span.from_ns % width_ns + width_ns) % width_ns;
  HistoryHistogram histogram(params.by.value_or(HistogramKind::outcome), span, bucket_ns);
  const auto read =
      index.calendar().for_each_cell(width_ns, span.from_ns, span.until_ns,
                                     [&histogram](std::int64_t start_ns, const CalendarCell& cell) {
                                       histogram.add(start_ns, cell);
                                     });
  if (!read) return unreadable(read.error());
  json::object result;
  result["from"] = format_time(span.from_ns);
  result["to"] = format_time(span.until_ns - 1);
  result["bucket_ms"] = bucket_ns / ns_per_ms;
  result["buckets"] = histogram.to_array();
  return result;
}

Decided<json::object> marks_view(const Api& api, const RunIndex& index, const ListMarks& params,
                                 std::uint32_t limit, std::int64_t now_ns) {
  const auto span = TRY(span_of(api, index, now_ns, params.from, params.to));
  const LogMarkFilter filter{distinct(params.kinds), span.from_ns, span.until_ns};
  const auto order = params.backwards ? ScanOrder::descending : ScanOrder::ascending;
  const auto page = index.calendar().marks(filter, order, limit, params.cursor.value_or(0));
  if (!page) return unreadable(page.error());
  json::array marks;
  for (const LogMark& mark : page->rows) {
    json::object shown;
    shown["kind"] = to_json(mark.kind);
    shown["position"] = to_json(mark.position);
    shown["at"] = format_time(mark.at_ns);
    if (!mark.run_id.is_nil()) shown["run_id"] = to_string(mark.run_id);
    if (!mark.text.empty()) shown["text"] = mark.text;
    marks.push_back(std::move(shown));
  }
  json::object result;
  result["from"] = format_time(span.from_ns);
  result["to"] = format_time(span.until_ns - 1);
  result["marks"] = std::move(marks);
  result["next_cursor"] = page->next_cursor != 0 ? json::value(std::to_string(page->next_cursor))
                                                 : json::value(nullptr);
  return result;
}

void get_histogram(Api& api, Call& call) {
  read_moment(call.params, "from");
  read_moment(call.params, "to");
  const auto params = from_json<GetHistogram>(call.params);
  if (!params) return call.responder.reject(params.error());
  const std::uint32_t buckets = params->buckets.value_or(100);
  if (auto ok = require_between("buckets", buckets, 1, histogram_buckets_max); !ok) {
    return call.responder.reject(ok.error());
  }
  answer_from_read_models(
      api, call.responder,
      [&api, params = *params, buckets, now_ns = api.clock.wall_ns()](const RunIndex& index) {
        return histogram_view(api, index, params, buckets, now_ns);
      });
}

void list_marks(Api& api, Call& call) {
  read_moment(call.params, "from");
  read_moment(call.params, "to");
  split_list(call.params, "kinds");
  const auto params = from_json<ListMarks>(call.params);
  if (!params) return call.responder.reject(params.error());
  const auto limit = page_limit(params->limit, 100, log_marks_rows_max);
  if (!limit) return call.responder.reject(limit.error());
  answer_from_read_models(
      api, call.responder,
      [&api, params = *params, limit = *limit, now_ns = api.clock.wall_ns()](
          const RunIndex& index) { return marks_view(api, index, params, limit, now_ns); });
}

}  // namespace

std::vector<Method> history_methods() {
  return {
      {"events.histogram", false, Role::viewer, params_of<GetHistogram>(), get_histogram},
      {"log.marks", false, Role::viewer, params_of<ListMarks>(), list_marks},
      {"timeline.get", false, Role::viewer, params_of<GetTimeline>(), get_timeline},
  };
}

}  // namespace signalbox
