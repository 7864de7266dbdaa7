// Group commit: makes the commits that the engine has gathered durable, in one write, on another
// thread than the engine's.
#pragma once

#include <condition_variable>
#include <deque>
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

// Writes one commit in another way than EventLog::append(), e.g. together with a drop. Called on
// the thread that appends; the result is as of append().
using LogWrite = std::function<AppendResult(Position expected_tail, const Commit& commit)>;

// Commits one batch at a time: start() may be called again only after `done` of the previous batch.
class Committer {
 public:
  using Done = std::function<void(CommitOutcome)>;

  virtual ~Committer() = default;
  // Begins to append `batch` to a log that ends at `expected_tail`. Doesn't block.
  virtual void start(Position expected_tail, std::vector<Commit> batch) = 0;
  // The same for one commit that `write` writes. Not every committer can.
  virtual void start_write(Position expected_tail, Commit commit, LogWrite write);
};

// Appends on a thread of its own and calls `done` on that thread. The destructor calls stop().
class CommitThread final : public Committer {
 public:
  CommitThread(EventLog& log, Done done);
  ~CommitThread() override;

  void start(Position expected_tail, std::vector<Commit> batch) override;
  void start_write(Position expected_tail, Commit commit, LogWrite write) override;

  // Blocks until the batch under way is finished, and ends the thread. Afterwards nothing may be
  // started, but other threads may still call run_between().
  void stop();

  // Runs `step` on the commit thread, between two batches: they wait for it, so it must be short.
  // Steps run in the order of the calls; those that were not begun are dropped by stop(), and those
  // that come after it at once. Any thread.
  void run_between(std::function<void()> step);

  // Calls `passed` on the commit thread after the batch under way, which proves that the thread
  // isn't stuck. Only one probe is pending at a time: a later one replaces it.
  void probe(std::function<void()> passed);

 private:
  struct Work {
    Position expected_tail = 0;
    std::vector<Commit> batch;
    LogWrite write;  // empty: append()
  };

  void begin(Work work);
  void run();

  EventLog& log_;
  Done done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Work> work_;
  std::deque<std::function<void()>> steps_;
  std::function<void()> probe_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace signalbox
