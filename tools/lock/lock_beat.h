// The heartbeat of a held lock: refreshes it from a thread of its own, and says when that fails.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "store/file_descriptor.h"
#include "tools/cli/client.h"

namespace signalbox {

class LockBeat {
 public:
  struct Settings {
    ServerAddress server;
    std::string key;
    std::uint64_t token = 0;
    std::int64_t lease_ms = 0;
    std::int64_t interval_ms = 0;
    std::int64_t failures_max = 1;
  };
  // Called on the beat's thread with each failed beat, and the failures in a row so far. What it
  // throws is ignored: it is the count that counts.
  using Report = std::function<void(const CallError& failure, std::int64_t failures)>;

  // Begins to beat; the first beat is due one interval from now.
  LockBeat(Settings settings, Report report);
  LockBeat(const LockBeat&) = delete;
  LockBeat& operator=(const LockBeat&) = delete;
  ~LockBeat() { stop(); }

  // Ends it; a beat under way is given up.
  void stop();

  // Readable once beating has stopped because of failures_max failures in a row.
  [[nodiscard]] int lost_descriptor() const { return lost_.get(); }

  // How long one beat may take: half of what is left of the lease when it is due, so that a server
  // that doesn't answer is noticed well before the lease ends.
  static std::chrono::milliseconds patience(const Settings& settings);

 private:
  void run();
  // Until then, or false if stop() comes first.
  bool sleep_until(std::chrono::steady_clock::time_point time);
  Called<void> beat();
  Called<void> refresh();
  Called<void> connect();

  const Settings settings_;
  const Report report_;
  FileDescriptor lost_;
  std::mutex mutex_;  // guards stopping_, and client_ against stop()
  std::condition_variable wake_;
  bool stopping_ = false;
  std::unique_ptr<Client> client_;
  std::thread thread_;
};

// What `--max-failures` says: a whole number, cut off after the point and at least 1; 1 for what is
// no number.
std::int64_t failures_max_from(std::string_view text);

}  // namespace signalbox
