// How the events of locks change the world.
#include <algorithm>
#include <utility>

#include "domain/check.h"
#include "domain/evolve.h"
#include "domain/nanoseconds.h"

namespace signalbox {
namespace {

Lock& held(World& world, const Record& record) {
  const auto place = world.locks.find(record.stream.name);
  SIGNALBOX_CHECK(place != world.locks.end());
  return place->second;
}

void evolve(World& world, const Record& record, const LockAcquired& event) {
  Lock lock;
  lock.key = event.key;
  lock.owner = event.owner;
  lock.token = record.position;
  lock.lease_ms = event.lease_ms;
  lock.renewed_at = record.position;
  lock.acquired_at_ns = record.recorded_at_ns;
  lock.expires_at_ns = record.recorded_at_ns + event.lease_ms * ns_per_ms;
  lock.reason = event.reason;
  lock.run_root = event.run_root;
  // The failing streaks of other owners continue; the new holder's streak is over.
  if (const EndedLock* ended = world.ended_locks.find(event.key)) {
    lock.failing_owners = ended->failing_owners;
    std::erase(lock.failing_owners, event.owner);
  }
  world.lock_by_token.emplace(lock.token, lock.key);
  world.holders.emplace_hint(world.holders.end(), record.position, record.actor);
  ++world.locks_of_holder[record.actor];
  SIGNALBOX_CHECK(world.locks.emplace(event.key, std::move(lock)).second);
}

void evolve(World& world, const Record& record, const LockRefreshed& event) {
  Lock& lock = held(world, record);
  SIGNALBOX_CHECK(lock.token == event.token);
  lock.lease_ms = event.lease_ms;
  lock.renewed_at = record.position;
  lock.expires_at_ns = record.recorded_at_ns + event.lease_ms * ns_per_ms;
}

void forget_holder(World& world, Token token) {
  const auto holder = world.holders.find(token);
  if (holder == world.holders.end()) return;
  const auto count = world.locks_of_holder.find(holder->second);
  if (--count->second == 0) world.locks_of_holder.erase(count);
  world.holders.erase(holder);
}

void end_lock(World& world, const Record& record, Token token, bool expired) {
  Lock& lock = held(world, record);
  SIGNALBOX_CHECK(lock.token == token);
  world.ended_locks.put(lock.key, EndedLock{lock.owner, lock.token, record.position, expired,
                                            std::move(lock.failing_owners)});
  world.lock_by_token.erase(token);
  forget_holder(world, token);
  world.locks.erase(record.stream.name);
}

void evolve(World& world, const Record& record, const LockReleased& event) {
  end_lock(world, record, event.token, /*expired=*/false);
}
void evolve(World& world, const Record& record, const LockExpired& event) {
  end_lock(world, record, event.token, /*expired=*/true);
}

void add_failing(std::vector<std::string>& owners, const std::string& owner) {
  if (owners.size() == limits::failing_owners_max) owners.erase(owners.begin());
  owners.push_back(owner);
}

void evolve(World& world, const Record& record, const LockRefreshFailed& event) {
  const auto place = world.locks.find(record.stream.name);
  if (place != world.locks.end()) return add_failing(place->second.failing_owners, event.owner);
  const EndedLock* known = world.ended_locks.find(record.stream.name);
  SIGNALBOX_CHECK(known != nullptr);
  EndedLock ended = *known;
  add_failing(ended.failing_owners, event.owner);
  world.ended_locks.put(record.stream.name, std::move(ended));
}

void evolve(World&, const Record&, const LockFileReplaced&) {}

template <class Member, class Value>
void forget(World& world, Token lock_token, Member member, const Value& value) {
  const auto key = world.lock_by_token.find(lock_token);
  if (key == world.lock_by_token.end()) return;
  std::erase(world.locks.find(key->second)->second.*member, value);
}

template <class Member, class Value>
void add(World& world, Token lock_token, Member member, const Value& value) {
  const auto key = world.lock_by_token.find(lock_token);
  SIGNALBOX_CHECK(key != world.lock_by_token.end());
  auto& values = world.locks.find(key->second)->second.*member;
  values.insert(std::upper_bound(values.begin(), values.end(), value), value);
}

}  // namespace

void evolve_noun(World& world, const Record& record, const LockEvent& noun) {
  const LockStatus status =
      world.locks.contains(record.stream.name) ? LockStatus::held : LockStatus::free;
  const std::uint16_t number = std::visit([](const auto& event) { return event.tag.number; }, noun);
  SIGNALBOX_CHECK(next_status(status, number).has_value());
  std::visit([&](const auto& event) { evolve(world, record, event); }, noun);
}

void forget_dependent(World& world, Token lock_token, const RunId& run_id) {
  forget(world, lock_token, &Lock::runs, run_id);
}
void forget_dependent(World& world, Token lock_token, const std::string& loop) {
  forget(world, lock_token, &Lock::loops, loop);
}
void add_dependent(World& world, Token lock_token, const RunId& run_id) {
  add(world, lock_token, &Lock::runs, run_id);
}
void add_dependent(World& world, Token lock_token, const std::string& loop) {
  add(world, lock_token, &Lock::loops, loop);
}

}  // namespace signalbox
