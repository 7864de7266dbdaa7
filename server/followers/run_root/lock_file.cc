#include "server/followers/run_root/lock_file.h"

#include <limits>
#include <optional>

#include <boost/json/object.hpp>

#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "server/text/json_text.h"
#include "server/text/time_text.h"
#include "server/text/utf8_text.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

namespace json = boost::json;

FoundLockFile stale(std::string problem) {
  FoundLockFile found;
  found.kind = FoundLockFile::Kind::stale;
  found.problem = utf8_prefix(problem, limits::reason_bytes_max);
  return found;
}

const json::string* text_in(const json::object& object, const char* name) {
  const json::value* value = object.if_contains(name);
  return value == nullptr ? nullptr : value->if_string();
}

std::optional<std::int64_t> time_in(const json::object& object, const char* name) {
  const json::string* text = text_in(object, name);
  return text == nullptr ? std::nullopt : parse_time(*text);
}

// The latest time in 64 bit UTC nanoseconds, in 2262. A longer lease, such as one for ever, ends
// then.
constexpr std::int64_t end_of_time_ns = std::numeric_limits<std::int64_t>::max();

bool is_after_end_of_time(const json::string* text) {
  if (text == nullptr || text->size() < 4) return false;
  const std::string_view year = std::string_view(*text).substr(0, 4);
  // The rest is checked with a year in range; 2000 has a 29th of February.
  return year >= "2262" && parse_time("2000" + std::string(std::string_view(*text).substr(4)));
}

std::optional<std::int64_t> expiry_in(const json::object& object) {
  if (const auto expires_at = time_in(object, "expires_at")) return expires_at;
  if (is_after_end_of_time(text_in(object, "expires_at"))) return end_of_time_ns;
  const auto acquired_at = time_in(object, "acquired_at");
  const bool has_ms = object.contains("lease_ms");
  const json::value* lease = object.if_contains(has_ms ? "lease_ms" : "lease_seconds");
  std::int64_t lease_ns = 0;
  std::int64_t expires_at = 0;
  if (!acquired_at || lease == nullptr || !lease->is_int64() || lease->get_int64() < 0) {
    return std::nullopt;
  }
  if (__builtin_mul_overflow(lease->get_int64(), has_ms ? ns_per_ms : ns_per_s, &lease_ns) ||
      __builtin_add_overflow(*acquired_at, lease_ns, &expires_at)) {
    return end_of_time_ns;
  }
  return expires_at;
}

// Returns whether the log accepts `text` as a name: not empty, bounded, without control characters.
bool is_name(std::string_view text) {
  if (text.empty() || text.size() > limits::name_bytes_max) return false;
  for (const char each : text) {
    if (static_cast<unsigned char>(each) < 0x20 || each == 0x7f) return false;
  }
  return true;
}

FoundLockFile read_object(const json::object& object) {
  const json::string* owner = text_in(object, object.contains("owner") ? "owner" : "owner_id");
  if (owner == nullptr || !is_name(*owner)) return stale("no lock: it names no owner");
  const auto expires_at_ns = expiry_in(object);
  if (!expires_at_ns) return stale("no lock: it doesn't say when its lease is over");
  FoundLockFile found;
  found.kind = FoundLockFile::Kind::foreign;
  found.owner = *owner;
  found.expires_at_ns = *expires_at_ns;
  if (const json::string* reason = text_in(object, "reason")) {
    found.reason = utf8_prefix(*reason, limits::reason_bytes_max);
  }
  return found;
}

// Sets file.key and file.token if the log has the grant that the file describes: at its token, with
// the same key, owner and time.
void match_with_log(const json::object& object, const EventLog& log, LockFile& file) {
  const json::string* key = text_in(object, "key");
  const json::string* acquired_at = text_in(object, "acquired_at");
  const json::value* token = object.if_contains("token");
  if (key == nullptr || acquired_at == nullptr || token == nullptr || !token->is_int64() ||
      token->get_int64() <= 0 || static_cast<Position>(token->get_int64()) > log.tail()) {
    return;
  }
  const auto position = static_cast<Position>(token->get_int64());
  const auto records = log.read(position, 1);
  if (!records || records->empty()) return;
  const auto* acquired = event_as<LockAcquired>(records->front().event);
  if (acquired == nullptr || acquired->key != std::string_view(*key) ||
      acquired->owner != file.found.owner ||
      format_time(records->front().recorded_at_ns) != std::string_view(*acquired_at)) {
    return;
  }
  file.key = acquired->key;
  file.token = position;
}

}  // namespace

FoundLockFile parse_lock_file(std::string_view text) {
  if (text.empty()) return stale("empty");
  const auto value = parse_json(text);
  if (!value) return stale("not JSON: " + value.error().message);
  if (!value->is_object()) return stale("no lock: not a JSON object");
  return read_object(value->get_object());
}

LockFile read_lock_file(const std::filesystem::path& run_root, const EventLog& log,
                        std::int64_t wall_ns, const ReadFoundFile& read_file) {
  const std::filesystem::path path = run_root / ".lock";
  const FoundFile found = read_file(path, lock_file_bytes_max);
  LockFile file;
  if (found.kind == FoundFile::Kind::none) return file;
  if (found.kind == FoundFile::Kind::content) {
    file.found = parse_lock_file(found.content);
    file.found.digest = sha256(found.content);
    if (file.found.kind == FoundLockFile::Kind::foreign) {
      const auto value = parse_json(found.content);
      match_with_log(value->get_object(), log, file);
      // A lock of this log counts by the log's own times, also after the clock was set.
      const auto acquired_at = time_in(value->get_object(), "acquired_at");
      // Another machine's clock may be ahead by more than that of a marker: its holder may live.
      const std::int64_t latest_ns = wall_ns + limits::foreign_lock_ahead_ms_max * ns_per_ms;
      if (file.token == 0 && acquired_at && *acquired_at > latest_ns) {
        const Digest digest = file.found.digest;
        file.found = stale("no lock: it was taken in the future");
        file.found.digest = digest;
      }
    }
  } else {
    file.found = stale(found.problem);
  }
  file.found.path = path.string();
  return file;
}

FoundLockFile classify_lock_file(const LockFile& file, const std::string& key, bool is_held) {
  FoundLockFile found = file.found;
  if (file.token != 0 && (file.key == key || !is_held)) found.kind = FoundLockFile::Kind::known;
  return found;
}

}  // namespace signalbox
