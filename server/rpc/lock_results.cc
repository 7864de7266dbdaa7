#include "server/rpc/lock_results.h"

#include "server/engine/engine.h"
#include "server/text/time_text.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string expiry(const Record& record, std::int64_t lease_ms) {
  return format_time(record.recorded_at_ns + lease_ms * 1'000'000);
}

// What the grant of a lock that was extended said: from the world, or, for a repeated answer about
// a lock that has ended, from the log.
void add_grant(const Api& api, json::object& result, const std::string& key, Token token) {
  if (const Lock* lock = api.engine.world().find_lock(key);
      lock != nullptr && lock->token == token) {
    result["acquired_at"] = format_time(lock->acquired_at_ns);
    result["reason"] = lock->reason;
    return;
  }
  const auto records = api.log.read(token, 1);
  if (!records || records->empty()) return;
  if (const auto* acquired = event_as<LockAcquired>(records->front().event)) {
    result["acquired_at"] = format_time(records->front().recorded_at_ns);
    result["reason"] = acquired->reason;
  }
}

}  // namespace

json::object acquire_result(const Api& api, std::span<const Record> records) {
  json::object result;
  for (const Record& record : records) {
    if (const auto* acquired = event_as<LockAcquired>(record.event)) {
      result["key"] = acquired->key;
      result["owner"] = acquired->owner;
      result["token"] = record.position;
      result["lease_ms"] = acquired->lease_ms;
      result["acquired_at"] = format_time(record.recorded_at_ns);
      result["expires_at"] = expiry(record, acquired->lease_ms);
      result["reason"] = acquired->reason;
      result["extended"] = false;
    } else if (const auto* refreshed = event_as<LockRefreshed>(record.event)) {
      result["key"] = refreshed->key;
      result["owner"] = refreshed->owner;
      result["token"] = refreshed->token;
      result["lease_ms"] = refreshed->lease_ms;
      add_grant(api, result, refreshed->key, refreshed->token);
      result["expires_at"] = expiry(record, refreshed->lease_ms);
      result["extended"] = true;
    }
  }
  return result;
}

json::object refresh_result(const Api&, std::span<const Record> records) {
  json::object result;
  for (const Record& record : records) {
    if (const auto* refreshed = event_as<LockRefreshed>(record.event)) {
      result["key"] = refreshed->key;
      result["owner"] = refreshed->owner;
      result["token"] = refreshed->token;
      result["lease_ms"] = refreshed->lease_ms;
      result["expires_at"] = expiry(record, refreshed->lease_ms);
    }
  }
  return result;
}

json::object release_result(const Api&, std::span<const Record> records) {
  json::object result;
  result["released"] = false;
  for (const Record& record : records) {
    if (const auto* released = event_as<LockReleased>(record.event)) {
      result["key"] = released->key;
      result["owner"] = released->owner;
      result["token"] = released->token;
      result["released"] = true;
    }
  }
  return result;
}

}  // namespace signalbox
