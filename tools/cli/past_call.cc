#include "tools/cli/past_call.h"

#include <charconv>
#include <utility>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/engine/dropped_history.h"
#include "server/platform/clock.h"
#include "server/replay/past_service.h"
#include "server/text/time_text.h"
#include "store/event_log.h"
#include "store/rocks_event_log.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/short_id.h"

namespace signalbox {
namespace {

namespace json = boost::json;

CallError no_such_position(const EventLog& log, const std::string& moment) {
  return from_rejection(
      {ErrorCode::POSITION_NOT_FOUND,
       "the log has nothing at " + moment + "; it ends at " + std::to_string(log.tail()),
       {{"tail", static_cast<std::int64_t>(log.tail())}},
       {"signalbox events --limit 1", "signalbox replay"}});
}

}  // namespace

Called<Position> position_of_moment(const EventLog& log, const std::string& moment) {
  Position position = 0;
  const char* const end = moment.data() + moment.size();
  if (const auto read = std::from_chars(moment.data(), end, position);
      read.ec == std::errc() && read.ptr == end) {
    if (position > log.tail()) {
      return tl::unexpected(no_such_position(log, moment));
    }
    if (position != 0 && position < log.horizon().position) {
      return tl::unexpected(from_rejection(history_dropped(log, position)));
    }
    return position;
  }
  auto utc_ns = parse_time(moment);
  if (const auto age_ms = parse_duration_ms(moment); !utc_ns && age_ms) {
    utc_ns = SystemClock().wall_ns() - *age_ms * ns_per_ms;
  }
  if (!utc_ns) {
    return tl::unexpected(
        usage_error((moment.empty() ? "an empty text" : moment) +
                    " is not a position, a time like 2026-11-20T03:00:00Z or an age like "
                    "90m"));
  }
  const auto found = position_at(log, *utc_ns);
  if (!found) return tl::unexpected(from_store_error(found.error()));
  if (*found != 0 && *found == log.horizon().position) {
    // The moment may lie before the horizon's record, and the state at that time isn't known.
    return tl::unexpected(from_rejection(history_dropped(log, *found)));
  }
  return *found;
}

struct PastDirectory::Parts {
  std::unique_ptr<RocksEventLog> log;
  std::unique_ptr<PastService> service;  // reads the log
};

PastDirectory::PastDirectory(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
PastDirectory::~PastDirectory() = default;

Called<std::shared_ptr<PastDirectory>> PastDirectory::open(const Invocation& invocation) {
  const std::filesystem::path data = invocation.data_directory();
  const std::string moment = invocation.at.value_or("");
  auto log = RocksEventLog::open(data, {.read_only = true});
  if (!log) return tl::unexpected(from_store_error(log.error()));
  const auto at = TRY(position_of_moment(**log, moment));
  if (at == 0) return tl::unexpected(no_such_position(**log, moment));
  if (at <= (*log)->horizon().position) {
    return tl::unexpected(from_rejection(history_dropped(**log, at)));
  }
  auto service = PastService::open(**log, data, at);
  if (!service) return tl::unexpected(from_store_error(service.error()));
  auto parts = std::make_unique<Parts>();
  parts->log = std::move(*log);
  parts->service = std::move(*service);
  return std::shared_ptr<PastDirectory>(new PastDirectory(std::move(parts)));
}

Called<json::object> PastDirectory::call(std::string_view method, const json::object& params) {
  json::object answer = parts_->service->call(method, params);
  if (json::value* error = answer.if_contains("error")) {
    return tl::unexpected(refused_by_server(std::move(error->as_object())));
  }
  return std::move(answer.at("result").as_object());
}

Called<json::object> call_past(const Invocation& invocation, std::string_view method,
                               const json::object& params) {
  if (!invocation.past) {
    auto opened = TRY(PastDirectory::open(invocation));
    invocation.past = std::move(opened);
  }
  return invocation.past->call(method, params);
}

Called<std::string> whole_run_id(const Invocation& invocation, const std::string& id) {
  if (!is_short_id(id)) return id;
  Invocation present = invocation;
  present.past.reset();
  present.at = "0s";
  json::object params{{"run_id", id}};
  TRY(complete_ids(params, [&present](std::string_view method, const json::object& named) {
    return call_past(present, method, named);
  }));
  return text_at(params, "run_id");
}

}  // namespace signalbox
