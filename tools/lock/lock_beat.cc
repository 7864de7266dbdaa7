#include "tools/lock/lock_beat.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>

#include "domain/check.h"
#include "domain/try.h"

namespace signalbox {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::int64_t patience_ms_min = 10;
constexpr double failures_max_max = 1e9;

}  // namespace

std::int64_t failures_max_from(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size() || !std::isfinite(number)) {
    return 1;
  }
  return static_cast<std::int64_t>(std::clamp(number, 1.0, failures_max_max));
}

std::chrono::milliseconds LockBeat::patience(const Settings& settings) {
  return std::chrono::milliseconds(
      std::max(patience_ms_min, (settings.lease_ms - settings.interval_ms) / 2));
}

LockBeat::LockBeat(Settings settings, Report report)
    : settings_(std::move(settings)),
      server_(settings_.server),
      report_(std::move(report)),
      lost_(::eventfd(0, EFD_CLOEXEC)),
      thread_([this] { run(); }) {
  SIGNALBOX_CHECK(static_cast<bool>(lost_));
}

void LockBeat::stop() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
    if (client_) client_->interrupt();
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool LockBeat::sleep_until(SteadyClock::time_point time) {
  std::unique_lock guard(mutex_);
  return !wake_.wait_until(guard, time, [this] { return stopping_; });
}

void LockBeat::run() {
  const std::chrono::milliseconds interval(settings_.interval_ms);
  std::int64_t failures = 0;
  SteadyClock::time_point due = SteadyClock::now() + interval;
  while (sleep_until(due)) {
    due = SteadyClock::now() + interval;
    const auto done = beat();
    if (done) {
      failures = 0;
      continue;
    }
    {
      const std::lock_guard guard(mutex_);
      if (stopping_) return;  // interrupted by stop(), not failed
      client_.reset();
    }
    ++failures;
    try {
      report_(done.error(), failures);
    } catch (...) {  // NOLINT(bugprone-empty-catch)
    }
    if (failures >= settings_.failures_max) {
      const std::uint64_t one = 1;
      SIGNALBOX_CHECK(::write(lost_.get(), &one, sizeof one) == sizeof one);
      return;
    }
  }
}

Called<void> LockBeat::beat() {
  try {
    const bool was_connected = client_ != nullptr;
    auto done = refresh();
    // After a restart of the server the old connection is gone, but the lock may still be held.
    if (!done && was_connected && code_of(done.error()) == "NOT_REACHABLE") {
      {
        const std::lock_guard guard(mutex_);
        client_.reset();
      }
      done = refresh();
    }
    return done;
  } catch (const std::exception& thrown) {
    return tl::unexpected(from_rejection(
        {ErrorCode::INTERNAL, std::string("the beat threw: ") + thrown.what(), {}, {}}));
  } catch (...) {
    return tl::unexpected(from_rejection({ErrorCode::INTERNAL, "the beat threw", {}, {}}));
  }
}

Called<void> LockBeat::connect() {
  auto client = TRY(Client::connect(server_, patience(settings_)));
  server_ = server_.after(client.endpoint());  // for the time when this connection breaks
  const std::lock_guard guard(mutex_);
  client_ = std::make_unique<Client>(std::move(client));
  if (stopping_) client_->interrupt();
  return {};
}

Called<void> LockBeat::refresh() {
  if (!client_) {
    TRY(connect());
  }
  TRY(client_->call(
      "lock.refresh",
      {{"key", settings_.key}, {"token", settings_.token}, {"lease_ms", settings_.lease_ms}}));
  return {};
}

}  // namespace signalbox
