#include "tests/simulation/lock_client.h"

#include <array>

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

constexpr std::int64_t lock_patience_ms = 700;

struct SharedLock {
  const char* key;
  const char* run_root;  // where the lock is mirrored, or nullptr
};
// Two of the locks share one run root.
constexpr std::array shared_locks{
    SharedLock{"deploy", "/roots/release"}, SharedLock{"main", "/roots/release"},
    SharedLock{"nightly", "/roots/nightly"}, SharedLock{"release notes", nullptr}};

const char* run_root_of(const std::string& key) {
  for (const SharedLock& lock : shared_locks) {
    if (lock.key == key) return lock.run_root;
  }
  return nullptr;
}

}  // namespace

void LockClient::acquire() {
  if (calm()) return;
  if (key_.empty() || one_in(2)) key_ = environment_.random.any_of(shared_locks).key;
  lease_ms_ = between(100, 3000);
  json::object params{{"key", key_}, {"owner", name()}, {"lease_ms", lease_ms_}};
  if (const char* run_root = run_root_of(key_)) params["run_root"] = run_root;
  std::int64_t wait_ms = 0;
  if (one_in(3)) params["wait_ms"] = wait_ms = between(1, 2500);
  ask("lock.acquire", params, wait_ms + lock_patience_ms, &LockClient::on_acquired);
}

void LockClient::rely_on(std::int64_t lease_ms) {
  context_.held_locks.hold(key_, name(), token_, asked_at_ns_ + lease_ms * ns_per_ms);
}

void LockClient::on_acquired(const Reply& reply) {
  expect_code(reply, {"LOCK_HELD"});
  if (reply.code == "LOCK_HELD") {
    const std::string owner(reply.details.at("owner").as_string());
    environment_.expect(
        !owner.empty() && owner != name(),
        "lock " + key_ + " is refused to " + name() + " as held by '" + owner + "'");
  }
  if (!reply.code.empty()) return later(between(20, 800), &LockClient::acquire);
  token_ = reply.result.at("token").to_number<Token>();
  rely_on(lease_ms_);
  beats_left_ = between(0, 6);
  go_on();
}

void LockClient::go_on() {
  if (environment_.faults.strikes(Fault::zombie)) {
    environment_.note(name() + " stops for a while");
    return later(lease_ms_ * between(1, 4) + 50,
                 one_in(2) ? &LockClient::refresh : &LockClient::release);
  }
  later(between(1, lease_ms_ / 3 + 1),
        beats_left_-- > 0 ? &LockClient::refresh : &LockClient::release);
}

void LockClient::forget() { context_.held_locks.stop_relying(key_, name()); }

void LockClient::refresh() {
  ask("lock.refresh", {{"key", key_}, {"token", token_}, {"lease_ms", lease_ms_}}, lock_patience_ms,
      &LockClient::on_refreshed);
}

void LockClient::on_refreshed(const Reply& reply) {
  expect_code(reply, {"LOCK_NOT_OWNED"});
  if (reply.code == "LOCK_NOT_OWNED") {
    context_.held_locks.stop_relying(key_, name());
    return later(between(20, 800), &LockClient::acquire);
  }
  if (reply.code.empty()) rely_on(lease_ms_);
  go_on();
}

void LockClient::release() {
  context_.held_locks.stop_relying(key_,
                                   name());  // from here on the client doesn't rely on the lock
  ask("lock.release", {{"key", key_}, {"token", token_}}, lock_patience_ms,
      &LockClient::on_released);
}

void LockClient::on_released(const Reply& reply) {
  expect_code(reply, {"LOCK_NOT_OWNED"});
  later(between(20, 2000), &LockClient::acquire);
}

}  // namespace signalbox::simulation
