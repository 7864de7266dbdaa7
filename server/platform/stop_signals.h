// SIGTERM and SIGINT while the start waits for something, before a Server handles them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

namespace signalbox {

class StopSignals {
 public:
  // Handles the signals as long as this object lives. `stop` is called at the first one, on this
  // object's thread, and shall end what blocks.
  explicit StopSignals(std::function<void()> stop);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Blocks for `ms`. Returns false, at once, if a signal came or comes. Any thread.
  bool wait(std::int64_t ms);
  // Returns what the signal that came is called; empty: none came. Any thread.
  [[nodiscard]] std::string received() const;

 private:
  boost::asio::io_context io_{1};
  boost::asio::signal_set signals_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string received_;
  std::thread thread_;
};

}  // namespace signalbox
