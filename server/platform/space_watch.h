// Waits for space on a full disk by checking once a second.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace signalbox {

class SpaceWatch {
 public:
  // Larger than one batch of commits, so that the server doesn't leave the full state and enter it
  // again at once.
  static constexpr std::uint64_t mebibytes_needed = 64;
  // Returns whether the directory's file system has as much now.
  static bool has_space(const std::filesystem::path& directory);

  SpaceWatch(boost::asio::io_context& io, std::filesystem::path directory)
      : timer_(io), directory_(std::move(directory)) {}

  // Calls `enough` once, on the io_context's thread, when the directory's file system has
  // mebibytes_needed. This object must outlive the wait.
  void wait(std::function<void()> enough);
  // Cancels the wait: `enough` isn't called any more.
  void cancel() { timer_.cancel(); }

 private:
  boost::asio::steady_timer timer_;
  const std::filesystem::path directory_;
};

}  // namespace signalbox
