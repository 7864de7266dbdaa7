// Keeps the read models up with the log, on a thread of its own.
//
// It follows by reading the log, so catching up after a start and following live are one thing, and
// a burst never piles up in memory. It applies at most once a second, or sooner when a query needs
// it: many events of one run then cost one write.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "projections/run_index.h"
#include "store/event_log.h"

namespace signalbox {

class Projector {
 public:
  // `failed` is called (on the projector's thread) when the log or the read models can't be read
  // or written; the projector stops then.
  Projector(const EventLog& log, RunIndex& index, std::function<void(const StoreError&)> failed);
  ~Projector();

  // Applies everything up to the log's tail before it returns, and answers who waits for it. For
  // the start, and for those who never start the thread and so follow at moments of their own.
  Stored<void> catch_up();
  void start();

  // The log's tail has moved. Cheap, any thread.
  void notify();

  // Calls `query` on the projector's thread once everything up to `position` is applied. Any
  // thread. Queries are answered in order.
  using Query = std::function<void(const RunIndex& index)>;
  void query(Position position, Query query);

  // What was decided after `tail` won't be in the log: nobody has to wait for it any more. Any
  // thread.
  void roll_back(Position tail);

  // Waits until everything up to `position` is applied; false if the projector has failed.
  bool wait_for(Position position);

  [[nodiscard]] Position applied() const { return applied_.load(); }
  // Its point look-ups are safe from any thread.
  [[nodiscard]] const RunIndex& index() const { return index_; }

 private:
  struct Waiting {
    Position position;
    Query query;
  };

  void run();
  Stored<void> apply_up_to(Position tail);
  void answer_queries();

  const EventLog& log_;
  RunIndex& index_;
  std::function<void(const StoreError&)> failed_;
  std::atomic<Position> applied_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable applied_changed_;
  std::deque<Waiting> queries_;
  Position wanted_ = 0;  // somebody waits for this
  bool stopping_ = false;
  bool broken_ = false;
  std::thread thread_;
};

}  // namespace signalbox
