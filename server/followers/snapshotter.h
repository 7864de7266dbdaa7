// Makes a snapshot of the world every so many events, on a thread of its own with the lowest
// priority: it folds the log's tail onto the snapshot before, so the engine never stalls for one.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "store/event_log.h"

namespace signalbox {

class Snapshotter {
 public:
  // `note` is called on the snapshotter's thread with what was made or what went wrong; the next
  // one is tried in its turn, or a while after a failure.
  Snapshotter(const EventLog& log, std::filesystem::path directory, std::uint64_t every_events,
              Position newest, std::function<void(bool ok, const std::string& text)> note);
  ~Snapshotter();

  // The log is durable up to frontier.leaves. Starts a snapshot of that moment if one is due and
  // none is being made. Cheap.
  void offer(const MerkleFrontier& frontier);

  // Why there is no newer snapshot, where it isn't for want of events. Any thread.
  [[nodiscard]] std::optional<std::string> failure() const;

 private:
  void run();
  // What went wrong; nothing too where it was stopped.
  std::optional<std::string> make(const MerkleFrontier& frontier);

  const EventLog& log_;
  std::filesystem::path directory_;
  std::uint64_t every_events_;
  Position newest_;  // the engine's thread only
  std::function<void(bool ok, const std::string& text)> note_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<MerkleFrontier> wanted_;
  std::optional<std::string> failure_;
  bool busy_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace signalbox
