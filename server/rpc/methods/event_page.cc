#include "server/rpc/methods/event_page.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "domain/try.h"
#include "server/engine/dropped_history.h"
#include "server/engine/moment.h"
#include "server/rpc/record_json.h"
#include "server/text/described_json.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Records that one page may read. A page whose filter skips many has fewer events, and `next_from`
// says where to continue.
constexpr Position read_scan_max = 20'000;
constexpr std::size_t read_bytes_max = 512 * 1024;
// Records that are read at once by a page that goes backwards.
constexpr Position backward_records = 256;

// Returns about how many bytes the value takes as text.
std::size_t text_bytes(const json::value& value) {
  constexpr std::size_t of_number = 8;
  constexpr std::size_t of_escape = 5;  // more than the character itself
  std::size_t bytes = of_number;
  if (const auto* text = value.if_string()) {
    const auto escaped = std::count_if(text->begin(), text->end(), [](char each) {
      return static_cast<unsigned char>(each) < 0x20;
    });
    bytes += text->size() + of_escape * static_cast<std::size_t>(escaped);
  } else if (const auto* array = value.if_array()) {
    for (const json::value& each : *array) bytes += text_bytes(each);
  } else if (const auto* object = value.if_object()) {
    for (const auto& each : *object) bytes += each.key().size() + text_bytes(each.value());
  }
  return bytes;
}

// The events of a page, which ends with its limit or its bytes.
class PageEvents {
 public:
  explicit PageEvents(const EventPage& page) : page_(page) {}

  [[nodiscard]] bool full() const {
    return events_.size() >= page_.limit || bytes_ >= read_bytes_max;
  }
  [[nodiscard]] bool wants(const Record& record) const { return page_.filter.matches(record); }
  void add(const Record& record) {
    events_.push_back(record_to_json(record));
    bytes_ += text_bytes(events_.back());
  }
  [[nodiscard]] json::array take() { return std::move(events_); }

 private:
  const EventPage& page_;
  json::array events_;
  std::size_t bytes_ = 0;
};

Rejection unreadable_page(const EventLog& log, const StoreError& error) {
  if (error.kind == StoreError::Kind::dropped) {  // since the horizon was read
    return history_dropped(log, error.position);
  }
  return {ErrorCode::STORAGE_DAMAGED, error.message, {}, {"signalbox replay"}};
}

// Returns the records up to `tail`, in ranges without gaps, that the log still has and that lie in
// one of the page's places.
std::vector<PositionRange> ranges_to_read(const Horizon& horizon, Position tail,
                                          const EventPage& page) {
  std::vector<PositionRange> present = horizon.kept;
  if (tail > horizon.position) present.push_back({horizon.position + 1, tail});
  if (page.places.empty()) return present;
  std::vector<PositionRange> both;
  for (const PositionRange& place : page.places) {
    for (const PositionRange& range : present) {
      const PositionRange part{std::max(place.first, range.first),
                               std::min(place.last, range.last)};
      if (part.first <= part.last) both.push_back(part);
    }
  }
  return both;
}

// Adds events from `from` on. Returns the first position that was not looked at.
Stored<Position> read_forwards(const EventLog& log, const std::vector<PositionRange>& ranges,
                               Position from, Position tail, PageEvents& events) {
  Position left = read_scan_max;
  for (const PositionRange& range : ranges) {
    if (range.last < from) continue;
    Position next = std::max(from, range.first);
    if (events.full() || left == 0) return next;
    const Position last = std::min(range.last, next + left - 1);
    left -= last + 1 - next;
    TRY(log.scan(next, last, [&](Record&& record) {
      next = record.position + 1;
      if (events.wants(record)) events.add(record);
      return !events.full();
    }));
    if (next <= range.last) return next;
  }
  return std::max(from, tail + 1);
}

// Adds events from `from` on, the newest first. Returns the last position that was not looked at;
// 0 if none is left.
Stored<Position> read_backwards(const EventLog& log, const std::vector<PositionRange>& ranges,
                                Position from, PageEvents& events) {
  Position left = read_scan_max;
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
    Position last = std::min(range->last, from);
    while (last >= range->first) {
      if (events.full() || left == 0) return last;
      const Position records = std::min({backward_records, left, last + 1 - range->first});
      const Position first = last + 1 - records;
      std::vector<Record> found;
      TRY(log.scan(first, last, [&](Record&& record) {
        if (events.wants(record)) found.push_back(std::move(record));
        return true;
      }));
      for (auto record = found.rbegin(); record != found.rend(); ++record) {
        if (events.full()) return record->position;
        events.add(*record);
      }
      left -= records;
      last = first - 1;
    }
  }
  return 0;
}

// Returns the position that a page begins with.
Stored<Position> first_position(const EventLog& log, Position tail, const EventPage& page) {
  const EventPageStart& start = page.start;
  if (start.position) {
    return page.backwards ? std::min(*start.position, tail)
                          : std::max<Position>(*start.position, 1);
  }
  if (!start.time_ns) return page.backwards ? tail : Position{1};
  if (page.backwards) {
    const auto before = TRY(position_at(log, *start.time_ns));
    return std::min(before, tail);
  }
  const auto before = TRY(position_at(log, *start.time_ns - 1));
  return before + 1;
}

Stored<json::object> read_page(const EventLog& log, Position tail, const EventPage& page) {
  const Horizon horizon = log.horizon();
  const auto from = TRY(first_position(log, tail, page));
  const std::vector<PositionRange> ranges = ranges_to_read(horizon, tail, page);
  PageEvents events(page);
  const auto next = TRY(page.backwards ? read_backwards(log, ranges, from, events)
                                       : read_forwards(log, ranges, from, tail, events));
  json::object result;
  result["events"] = events.take();
  result["next_from"] = to_json(next);
  result["more"] = page.backwards ? next > 0 : next <= tail;
  if (horizon.position > 0) result["history_from"] = to_json(horizon.position + 1);
  return result;
}

}  // namespace

Decided<EventPageStart> read_page_start(const std::optional<std::string>& from, bool backwards,
                                        std::int64_t now_ns) {
  EventPageStart start;
  if (!from) return start;
  start.position = whole_number<Position>(*from);
  if (start.position) {
    if (!backwards) start.position = std::max<Position>(*start.position, 1);
    return start;
  }
  start.time_ns = parse_time_or_age(*from, now_ns);
  if (start.time_ns) return start;
  return reject(ErrorCode::INVALID_PARAMS,
                "from must be a position, a time such as 2026-01-31T23:59:59Z or an age such as 8h",
                {{"field", std::string("from")}, {"value", *from}});
}

std::vector<PositionRange> places_of_run(const RunIndex& index, const RunId& run_id) {
  const Position applied = index.applied();
  const auto row = index.find(run_id);
  if (!row || !*row) return {};
  const Position last = is_terminal((*row)->status) ? (*row)->last_position : applied;
  return {{(*row)->started_position, last}, {applied + 1, std::numeric_limits<Position>::max()}};
}

Decided<json::object> read_event_page(const EventLog& log, Position tail, const EventPage& page) {
  auto read = read_page(log, tail, page);
  if (!read) return tl::unexpected(unreadable_page(log, read.error()));
  return std::move(*read);
}

}  // namespace signalbox
