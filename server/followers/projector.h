// Keeps the read models up with the log, on a thread of its own.
//
// It follows by reading the log, so catching up after a start and following live are one thing, and
// a burst never piles up in memory. It applies at most once a second, or sooner when a query needs
// it: many events of one run then cost one write.
//
// The log is the truth and read models are disposable. So a disk that doesn't take them, because it
// is full or fails, ends nothing: the latest rows are held in memory
// (projections/buffering_table.h), past that the projector holds its place, and it tries again
// until it has caught up.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "projections/run_index.h"
#include "store/event_log.h"

namespace signalbox {

class Projector {
 public:
  // `failed` is called (on the projector's thread) when the log can't be read or the read models
  // are damaged; the projector stops then. `note` when the disk stops taking rows, and when it
  // takes them again (ok).
  using Note = std::function<void(bool ok, const std::string& text)>;
  Projector(const EventLog& log, RunIndex& index, std::function<void(const StoreError&)> failed,
            Note note = {});
  ~Projector();

  // Applies everything up to the log's tail before it returns, or up to where the disk takes no
  // more, and answers who waits for it. For the start, and for those who never start the thread and
  // so follow at moments of their own.
  Stored<void> catch_up();
  void start();

  // The log's tail has moved. Cheap, any thread.
  void notify();

  // Calls `query` on the projector's thread once everything up to `position` is applied, or
  // `refused` if the projector holds its place before that. Any thread. Queries are answered in
  // order.
  using Query = std::function<void(const RunIndex& index)>;
  using Refused = std::function<void(const StoreError& why)>;
  void query(Position position, Query query, Refused refused);

  // What was decided after `tail` won't be in the log: nobody has to wait for it any more. Any
  // thread.
  void roll_back(Position tail);

  // Waits until everything up to `position` is applied; false if the projector has failed or holds
  // its place before that.
  bool wait_for(Position position);

  [[nodiscard]] Position applied() const { return applied_.load(); }
  // What the disk doesn't take, for a person; nothing if all is well. Any thread.
  [[nodiscard]] std::optional<std::string> held() const;
  // Its point look-ups are safe from any thread.
  [[nodiscard]] const RunIndex& index() const { return index_; }

 private:
  struct Waiting {
    Position position;
    Query query;
    Refused refused;
  };

  void run();
  // False: it is to stop.
  bool wait_for_work();
  Stored<void> begin();
  Stored<void> apply_up_to(Position tail);
  void set_applied(Position position);
  void hold_place(std::optional<StoreError> why);
  void try_again();
  void tell();
  void answer_queries();

  const EventLog& log_;
  RunIndex& index_;
  std::function<void(const StoreError&)> failed_;
  const Note note_;
  bool begun_ = false;                                   // the projector's thread
  bool told_ = false;                                    // of what is held; the projector's thread
  std::chrono::steady_clock::time_point tried_at_ = {};  // likewise
  std::atomic<Position> applied_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable applied_changed_;
  std::deque<Waiting> queries_;
  Position wanted_ = 0;  // somebody waits for this
  bool stopping_ = false;
  bool broken_ = false;
  std::optional<StoreError> place_held_;  // why nothing after applied_ is applied
  std::thread thread_;
};

}  // namespace signalbox
