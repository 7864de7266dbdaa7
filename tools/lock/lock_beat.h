// The heartbeat of a held lock: refreshes the lease on its own thread and reports failures.
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
    std::uint64_t token = 0;  // fencing token
    std::int64_t lease_ms = 0;
    std::int64_t interval_ms = 0;
    std::int64_t failures_max = 1;  // in a row, after which the lock counts as lost
  };
  // Called on the heartbeat thread for each failed beat, with the failures in a row so far.
  // Exceptions are ignored: a failure counts whether or not it could be reported.
  using Report = std::function<void(const CallError& failure, std::int64_t failures)>;

  // Starts the thread; the first beat is due one interval from now.
  LockBeat(Settings settings, Report report);
  LockBeat(const LockBeat&) = delete;
  LockBeat& operator=(const LockBeat&) = delete;
  ~LockBeat() { stop(); }

  // Stops and joins the thread; a beat under way is interrupted.
  void stop();

  // Returns a descriptor that becomes readable when the thread has stopped after failures_max
  // failures in a row.
  [[nodiscard]] int lost_descriptor() const { return lost_.get(); }

  // Returns how long one beat may take: half of what is left of the lease when the beat is due, so
  // that an unresponsive server is noticed well before the lease ends.
  static std::chrono::milliseconds patience(const Settings& settings);

 private:
  void run();
  // Returns true at that time, or false as soon as stop() is called.
  bool sleep_until(std::chrono::steady_clock::time_point time);
  Called<void> beat();
  Called<void> refresh();
  Called<void> connect();

  const Settings settings_;
  ServerAddress server_;  // beginning with the endpoint that is tried next
  const Report report_;
  FileDescriptor lost_;
  std::mutex mutex_;  // guards stopping_, and client_ against stop()
  std::condition_variable wake_;
  bool stopping_ = false;
  std::unique_ptr<Client> client_;
  std::thread thread_;
};

// Parses `--max-failures`: a number, truncated to a whole one and at least 1; 1 if it is no number.
std::int64_t failures_max_from(std::string_view text);

}  // namespace signalbox
