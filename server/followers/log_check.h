// Reads the tables of the log at the start and then once a day, on a thread of its own with the
// lowest priority: a start reads what is after the newest snapshot, and nobody may ask for the rest
// in years. Damage there is better known while a whole copy is still kept. The service goes on with
// all that can be read.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "store/rocks_event_log.h"

namespace signalbox {

class LogCheck {
 public:
  // `log` outlives it. `note` is called on its thread with trouble that the check before didn't
  // have.
  LogCheck(const RocksEventLog& log, std::function<void(const std::string& text)> note);
  ~LogCheck();

  // Starts the thread; the destructor ends it.
  void start();

  // Returns which file the latest check found damaged, or couldn't read, and what to do, for a
  // person; nullopt for none. Any thread.
  [[nodiscard]] std::optional<std::string> trouble() const;

 private:
  void run();
  void set_trouble(const std::optional<std::string>& trouble);
  // Returns false if the thread is to stop.
  bool pause(std::chrono::milliseconds time);

  const RocksEventLog& log_;
  const std::function<void(const std::string& text)> note_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::optional<std::string> trouble_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace signalbox
