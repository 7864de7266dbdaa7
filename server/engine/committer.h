// Makes gathered commits durable, off the engine's thread: group commit.
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
  std::vector<Commit> batch;  // what was appended, given back
  MerkleFrontier frontier;    // of the log at result.tail
  std::int64_t took_ns = 0;   // of the append
};

// One batch at a time: start() is called again only after `done` of the batch before.
class Committer {
 public:
  using Done = std::function<void(CommitOutcome)>;

  virtual ~Committer() = default;
  virtual void start(Position expected_tail, std::vector<Commit> batch) = 0;
};

// Appends on a thread of its own and calls `done` there. The destructor finishes the batch under
// way.
class CommitThread final : public Committer {
 public:
  CommitThread(EventLog& log, Done done);
  ~CommitThread() override;

  void start(Position expected_tail, std::vector<Commit> batch) override;

  // Calls `passed` on the thread when it comes by, after the batch under way: the proof that it
  // isn't stuck in one. One at a time; a later one replaces one that waits.
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
