// Runs work that may block off the engine's thread and returns to that thread with its result. The
// service passes functions that run work in lanes (lane_pool.h); a simulation passes its schedule;
// a test passes direct calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace signalbox {

// Runs an action later, or at once where that is the only possibility. The owner of the function
// decides on which thread. May be called on any thread.
using Post = std::function<void(std::function<void()> action)>;

// Why the result of a piece of work isn't waited for.
enum class LaneFailure {
  overloaded,  // too much work waits in its lane, or that lane hangs
  late,        // the deadline has passed
  unwanted,    // lane.unwanted was set before the work began
};

// Is set once nobody waits for a result any more; any thread may read it. nullptr: it is always
// wanted.
using Unwanted = std::shared_ptr<const std::atomic<bool>>;

// Where a piece of work runs, and for how long its result is waited for.
struct Lane {
  // What the work uses: a repository, an endpoint, a run root. Work of one name is done in order.
  std::string name = {};
  // Where the work touches a disk that may hang, an absolute path: others that touch the same disk
  // then fail before it takes all threads.
  std::string path = {};
  // From now on; 0: the result is waited for without end.
  std::int64_t deadline_ms = 0;
  // The deadline counts from the beginning of the work instead: others that are slow don't make it
  // late. Until it begins it is waited for, unless nothing says when a thread is free for it.
  bool counts_from_begin = false;
  // Work that has not begun when this is set fails, and gives its place in the lane to others.
  Unwanted unwanted = nullptr;
  // The lane belongs to a caller who can't come under many names: one piece may wait in it however
  // many wait in all others (waiting_max of lane_pool.h).
  bool has_place = false;
  // Called instead of the continuation. Without it any amount of work may wait in the lane, and
  // there is no deadline.
  std::function<void(LaneFailure why)> failed = nullptr;
};

class BlockingPool {
 public:
  // Runs on a thread that may block and returns the continuation, which runs on the engine's
  // thread.
  using Work = std::function<std::function<void()>()>;
  // Runs an action in a lane on a thread that may block. Calls lane.failed on any thread.
  using ToLanes = std::function<void(Lane lane, std::function<void()> action)>;

  // `to_lanes` runs an action on a thread that may block, `to_engine` on the engine's.
  BlockingPool(ToLanes to_lanes, Post to_engine)
      : to_lanes_(std::move(to_lanes)), to_engine_(std::move(to_engine)) {}
  // The same without lanes: no work fails.
  BlockingPool(Post to_threads, Post to_engine)
      : BlockingPool(ToLanes([to_threads = std::move(to_threads)](const Lane&,
                                                                  std::function<void()> action) {
                       to_threads(std::move(action));
                     }),
                     std::move(to_engine)) {}

  // Runs `work` on a thread that may block, then, on the engine's thread, either the continuation
  // that it returns or lane.failed.
  void run(Lane lane, Work work) const;
  // The same in a lane that everybody shares.
  void run(Work work) const { run(Lane{}, std::move(work)); }

 private:
  struct Piece {
    Work work;
    std::function<void(LaneFailure why)> failed;
    std::atomic<bool> begun = false;
    std::atomic<bool> answered = false;
  };

  ToLanes to_lanes_;
  Post to_engine_;
};

// Whatever the functions hold, such as connections, is destroyed on the engine's thread, whether
// the work was done in time, late or never.
inline void BlockingPool::run(Lane lane, Work work) const {
  const auto piece = std::make_shared<Piece>();
  piece->work = std::move(work);
  if (lane.failed) {
    piece->failed = std::move(lane.failed);
    lane.failed = [piece, to_engine = to_engine_](LaneFailure why) {
      if (piece->answered.exchange(true)) return;
      to_engine([piece, why] {
        const Work unbegun = piece->begun.exchange(true) ? Work() : std::move(piece->work);
        const auto failed = std::move(piece->failed);
        failed(why);
      });
    };
  }
  to_lanes_(std::move(lane), [piece, to_engine = to_engine_] {
    if (piece->begun.exchange(true)) return;
    Work begun = std::move(piece->work);
    std::function<void()> then = begun();
    const bool late = piece->answered.exchange(true);
    to_engine([begun = std::move(begun), then = std::move(then), late,
               failed = late ? nullptr : std::move(piece->failed)] {
      if (!late) then();
    });
  });
}

}  // namespace signalbox
