// Ends a rewriting of files that takes as long as the history is: RocksDB looks at one flag only,
// and more than one thing can end it.
//
// Internal: only sources include it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace signalbox {

class PurgeWatch {
 public:
  // Sets ended() soon after `canceled` (nullptr: it can't be) or `wanted` is set, and at once if
  // one of them is by now. Both outlive this object and are only read.
  PurgeWatch(const std::atomic<bool>* canceled, const std::atomic<bool>& wanted);
  ~PurgeWatch();
  PurgeWatch(const PurgeWatch&) = delete;
  PurgeWatch& operator=(const PurgeWatch&) = delete;

  [[nodiscard]] std::atomic<bool>* ended() { return &ended_; }

 private:
  [[nodiscard]] bool is_ended() const { return wanted_ || (canceled_ != nullptr && *canceled_); }
  void run();

  const std::atomic<bool>* const canceled_;
  const std::atomic<bool>& wanted_;
  std::atomic<bool> ended_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;  // last: it uses the members above
};

}  // namespace signalbox
