#include "server/followers/run_root/tick_marker.h"

#include <algorithm>
#include <optional>

#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "domain/service_loops.h"
#include "server/text/json_text.h"
#include "server/text/time_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::optional<std::string> string_at(const json::object& object, const char* key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return std::string(value->get_string());
}

// Returns the marker's token, or 0. It may be a string, as JSON numbers beyond 2^53 often are.
Token token_at(const json::object& object) {
  const json::value* value = object.if_contains("token");
  if (value == nullptr) return 0;
  json::error_code error;
  if (value->is_number()) {
    const Token token = value->to_number<Token>(error);
    return error ? 0 : token;
  }
  const auto text = string_at(object, "token");
  if (!text || text->empty() || text->size() > 19) return 0;
  Token token = 0;
  for (const char each : *text) {
    if (each < '0' || each > '9') return 0;
    token = token * 10 + static_cast<Token>(each - '0');
  }
  return token;
}

// Returns the loop of the record at the marker's token, if that started a tick of the marker's loop
// at `ts_ns`. The service's own loops write no markers: one that names a tick of theirs is forged.
std::optional<std::string> known_loop(const EventLog& log, const json::object& marker,
                                      std::int64_t ts_ns) {
  const Token token = token_at(marker);
  if (token == 0 || token > log.tail()) return std::nullopt;
  const auto records = log.read(token, 1);
  if (!records || records->empty()) return std::nullopt;
  const auto* started = event_as<TickStarted>(records->front().event);
  const bool is_known = started != nullptr && started->loop == string_at(marker, "loop") &&
                        !is_service_loop(started->loop) && records->front().recorded_at_ns == ts_ns;
  return is_known ? std::optional<std::string>(started->loop) : std::nullopt;
}

// Returns the age in milliseconds, or -1 for a time in the future, which gives no age: waiting
// until it has passed could take for ever. Clocks of machines that share a disk differ a little.
std::int64_t age_ms(std::int64_t since_ns, std::int64_t wall_ns) {
  const std::int64_t ms = (wall_ns - since_ns) / ns_per_ms;
  return ms < -limits::clock_difference_ms_max ? -1 : std::max<std::int64_t>(ms, 0);
}

TickMarker unreadable(TickMarker marker, std::string problem) {
  marker.found.kind = FoundMarker::Kind::unreadable;
  marker.problem = std::move(problem);
  return marker;
}

}  // namespace

std::filesystem::path tick_marker_path(const std::filesystem::path& run_root) {
  return run_root / "logs" / "tick-in-progress.json";
}

TickMarker read_tick_marker(const std::filesystem::path& run_root, const EventLog& log,
                            std::int64_t wall_ns, const ReadFoundFile& read_file) {
  TickMarker marker;
  const std::filesystem::path path = tick_marker_path(run_root);
  marker.found.path = path.string();
  const FoundFile file = read_file(path, limits::marker_bytes_max);
  if (file.kind == FoundFile::Kind::none) return marker;
  if (file.modified_at_ns != 0) marker.found.age_ms = age_ms(file.modified_at_ns, wall_ns);
  if (file.kind == FoundFile::Kind::unreadable) {
    return unreadable(std::move(marker), file.problem);
  }
  marker.found.text = utf8_prefix(with_replacements(file.content), limits::marker_bytes_max);
  const auto value = parse_json(file.content);
  if (!value) return unreadable(std::move(marker), value.error().message);
  const json::object* object = value->if_object();
  if (object == nullptr) return unreadable(std::move(marker), "it isn't a JSON object");
  const auto ts = string_at(*object, "ts");
  if (!ts || !string_at(*object, "stage") || !string_at(*object, "reason")) {
    return unreadable(std::move(marker), "it lacks ts, stage or reason");
  }
  marker.found.kind = FoundMarker::Kind::foreign;
  if (const auto ts_ns = parse_time(*ts)) {
    if (const auto loop = known_loop(log, *object, *ts_ns)) {
      marker.found.kind = FoundMarker::Kind::known;
      marker.found.loop = *loop;
      marker.found.token = token_at(*object);
    }
    marker.found.age_ms = age_ms(*ts_ns, wall_ns);
  }
  return marker;
}

}  // namespace signalbox
