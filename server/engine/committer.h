// Group commit: makes the commits that the engine has gathered durable, in one write, on another
// thread than the engine's.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "store/event_log.h"

namespace signalbox {

struct CommitOutcome {
  AppendResult result;
  std::vector<Commit> batch;  // the batch that start() got
  MerkleFrontier frontier;    // of the log at result.tail; set only if the append succeeded
  std::int64_t took_ns = 0;   // duration of the append
};

// Commits one batch at a time: start() may be called again only after `done` of the previous batch.
class Committer {
 public:
  using Done = std::function<void(CommitOutcome)>;

  virtual ~Committer() = default;
  // Begins to append `batch` to a log that ends at `expected_tail`. Doesn't block.
  virtual void start(Position expected_tail, std::vector<Commit> batch) = 0;
};

// Appends on a thread of its own and calls `done` on that thread. The destructor blocks until the
// batch under way is finished.
class CommitThread final : public Committer {
 public:
  CommitThread(EventLog& log, Done done);
  ~CommitThread() override;

  void start(Position expected_tail, std::vector<Commit> batch) override;

  // Calls `passed` on the commit thread after the batch under way, which proves that the thread
  // isn't stuck. Only one probe is pending at a time: a later one replaces it.
  void probe(std::function<void()> passed);

 private:
  struct Work {
    Position expected_tail = 0;
    std::vector<Commit> batch;
  };

  void run();

  EventLog& log_;
  Done done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Work> work_;
  std::function<void()> probe_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace signalbox
