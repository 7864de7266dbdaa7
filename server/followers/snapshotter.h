// Makes a snapshot of the world after every `every_events` events, on a thread of its own with the
// lowest priority. It folds the log's tail onto the previous snapshot instead of copying the
// engine's world, so the engine never waits for it.
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
  // Starts the thread. `directory` holds the snapshots, `newest` is the position of the newest one.
  // `note` is called on the snapshotter's thread with each snapshot that was made (ok) and with
  // each new failure. After a failure the snapshot is retried every few seconds.
  Snapshotter(const EventLog& log, std::filesystem::path directory, std::uint64_t every_events,
              Position newest, std::function<void(bool ok, const std::string& text)> note);
  ~Snapshotter();

  // Starts a snapshot at position frontier.leaves, up to which the log is durable, if one is due
  // and none is being made. Cheap. Called on the engine thread.
  void offer(const MerkleFrontier& frontier);

  // Removes all snapshots, and makes none until resume(): a text that they may have is about to be
  // redacted. Blocks until the one that is being made is given up. Fails with `io`, and makes none
  // even so. Any thread but the engine's.
  [[nodiscard]] Stored<void> suspend();
  // Makes snapshots again. Called on the engine thread.
  void resume();

  // Returns why the latest snapshot failed; nullopt if it didn't. Any thread.
  [[nodiscard]] std::optional<std::string> failure() const;

 private:
  void run();
  // Returns what went wrong; nullopt on success and if it was stopped.
  std::optional<std::string> make(const MerkleFrontier& frontier);

  const EventLog& log_;
  std::filesystem::path directory_;
  std::uint64_t every_events_;
  Position newest_;  // the latest one made or begun; engine thread only
  std::function<void(bool ok, const std::string& text)> note_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::optional<MerkleFrontier> wanted_;
  std::optional<std::string> failure_;
  bool busy_ = false;
  bool suspended_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace signalbox
