// Waits for space on a full disk by checking once a second.
#pragma once

#include <filesystem>
#include <functional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace signalbox {

class SpaceWatch {
 public:
  SpaceWatch(boost::asio::io_context& io, std::filesystem::path directory)
      : timer_(io), directory_(std::move(directory)) {}

  // Calls `enough` once, on the io_context's thread, when the directory's file system has space
  // again. This object must outlive the wait.
  void wait(std::function<void()> enough);
  // Cancels the wait: `enough` isn't called any more.
  void cancel() { timer_.cancel(); }

 private:
  boost::asio::steady_timer timer_;
  const std::filesystem::path directory_;
};

}  // namespace signalbox
