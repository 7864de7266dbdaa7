#include "server/rpc/lock_views.h"

#include <algorithm>
#include <vector>

#include <boost/json/array.hpp>

#include "server/engine/engine.h"
#include "server/engine/timers.h"
#include "server/platform/clock.h"
#include "server/rpc/due_leases.h"
#include "server/rpc/lock_queue.h"
#include "server/rpc/page_cursor.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

json::object held_lock(const Api& api, const LockQueue& queue, const Lock& lock) {
  const bool is_over =
      api.timers.expired_lock(api.engine.world(), lock.key, api.clock.monotonic_ns()).has_value();
  json::object object;
  object["key"] = lock.key;
  // A lock whose lease is over remains until it is taken over, but its holder has lost it.
  object["status"] = is_over ? "expired" : "held";
  object["owner"] = lock.owner;
  object["token"] = lock.token;
  object["lease_ms"] = lock.lease_ms;
  object["acquired_at"] = format_time(lock.acquired_at_ns);
  object["expires_at"] = format_time(lease_end_utc_ns(api, lock));
  object["reason"] = lock.reason;
  object["run_root"] = text_or_null(lock.run_root);
  json::array runs;
  for (const RunId& id : lock.runs) runs.emplace_back(to_string(id));
  object["runs"] = std::move(runs);
  object["loops"] = json::array(lock.loops.begin(), lock.loops.end());
  object["waiting"] = queue.waiting_for(lock.key);
  return object;
}

}  // namespace

std::int64_t lease_end_utc_ns(const Api& api, const Lock& lock) {
  const auto end_ns = api.timers.lease_end_ns(lock.key);
  if (!end_ns) return lock.expires_at_ns;
  const std::int64_t utc_ns = api.clock.wall_ns() + (*end_ns - api.clock.monotonic_ns());
  return recorded_if_same(utc_ns, lock.expires_at_ns);
}

Rejection with_lease_end(const Api& api, const std::string& key, Rejection rejection) {
  const Lock* lock = api.engine.world().find_lock(key);
  if (rejection.code != ErrorCode::LOCK_HELD || lock == nullptr) return rejection;
  for (Detail& detail : rejection.details) {
    if (detail.key == "expires_at_ns") detail.value = lease_end_utc_ns(api, *lock);
  }
  return rejection;
}

json::object lock_view(const Api& api, const LockQueue& queue, const std::string& key) {
  const World& world = api.engine.world();
  json::object result;
  result["key"] = key;
  const Lock* lock = world.find_lock(key);
  result["lock"] =
      lock == nullptr ? json::value(nullptr) : json::value(held_lock(api, queue, *lock));
  const EndedLock* ended = world.ended_locks.find(key);
  if (ended == nullptr) {
    result["last"] = nullptr;
  } else {
    json::object last;
    last["owner"] = ended->owner;
    last["token"] = ended->token;
    last["ended"] = ended->expired ? "expired" : "released";
    last["ended_position"] = ended->ended_at;
    result["last"] = std::move(last);
  }
  result["waiting"] = queue.waiting_for(key);
  return result;
}

json::object lock_list_view(const Api& api, const LockQueue& queue, const LockFilter& filter) {
  std::vector<const Lock*> found;
  for (const auto& [key, lock] : api.engine.world().locks) {
    if (key > filter.cursor && key.starts_with(filter.prefix) &&
        (!filter.owner || *filter.owner == lock.owner)) {
      found.push_back(&lock);
    }
  }
  const std::size_t size = std::min(filter.limit, found.size());
  const auto by_key = [](const Lock* a, const Lock* b) { return a->key < b->key; };
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(size), found.end(),
                    by_key);
  json::object result;
  json::array locks;
  for (std::size_t index = 0; index < size; ++index) {
    locks.push_back(held_lock(api, queue, *found[index]));
  }
  result["locks"] = std::move(locks);
  result["next_cursor"] =
      size < found.size() ? json::value(cursor_text(found[size - 1]->key)) : json::value(nullptr);
  return result;
}

namespace {

namespace json = boost::json;

// Adds the fields of the original grant of an extended lock: from the world or, when an answer
// about an ended lock is repeated, from the log.
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
      result["expires_at"] = lease_end_text(record.recorded_at_ns, acquired->lease_ms);
      result["reason"] = acquired->reason;
      result["extended"] = false;
    } else if (const auto* refreshed = event_as<LockRefreshed>(record.event)) {
      result["key"] = refreshed->key;
      result["owner"] = refreshed->owner;
      result["token"] = refreshed->token;
      result["lease_ms"] = refreshed->lease_ms;
      add_grant(api, result, refreshed->key, refreshed->token);
      result["expires_at"] = lease_end_text(record.recorded_at_ns, refreshed->lease_ms);
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
      result["expires_at"] = lease_end_text(record.recorded_at_ns, refreshed->lease_ms);
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
