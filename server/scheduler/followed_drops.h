// The drops of records that another server of the cell has recorded, made here. When its
// HistoryDropped is followed, the drop is due (store/replica_log.h):
//
//   retention lane   plans the drop anew, from the records before the event, and compares it with
//                    what the event says; reads what it will store; writes it, in short steps
//                    beside whoever appends or follows; then computes the read models from the new
//                    base, and rewrites the files of the log
//
// Following, commands and queries go on meanwhile. Whether this server stands by or takes the cell
// makes no difference. A stop or a kill leaves the drop due, or made; the next start finishes it.
// A text that the cell has redacted since in a record that the drop keeps isn't in the base any
// more that the event says: then the drop is made as the later event says that renews it, and waits
// for that if it isn't here yet. A plan that differs is one of another version, or a fault: the
// records are proven to be those of the writer when they are followed. Nothing is dropped then, the
// drop stays due, which keeps this server from dropping anything else, and it goes on serving.
//
// All calls come from the engine thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/platform/blocking_pool.h"
#include "server/platform/clock.h"
#include "server/scheduler/rewriting_turn.h"
#include "store/replicated_event_log.h"

namespace signalbox {

class FollowedDrops {
 public:
  struct Parts {
    ReplicatedEventLog& log;
    const Clock& clock;
    RewritingTurn& turn;
    std::filesystem::path data;
    BlockingPool blocking;  // the lane of retentions
    // As in RetentionLoop::Parts.
    std::function<bool(Position)> follow_to;
    std::function<Stored<void>(const std::atomic<bool>& stopped)> renew_rows;
    // Called after each drop, with its event's position.
    std::function<void(Position dropped_at)> dropped;
    // For the log of the service: why a drop has to wait, or can't be made.
    std::function<void(const std::string& why)> note;
  };

  explicit FollowedDrops(Parts parts);

  // Begins the first drop that is due, unless one is under way, or something else rewrites the log.
  // Called often.
  void look();
  // Returns the horizon of the latest drop that is due; 0 if none is. What it takes may still be
  // read here, and is gone at other servers.
  [[nodiscard]] Position due_horizon();
  // Returns why the first drop that is due can't be made before something is put right, and what to
  // do; empty: it can.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  // Returns trouble(), or else why a drop has failed several times, which is tried again; empty:
  // all goes on.
  [[nodiscard]] const std::string& undropped_because() const {
    return trouble_.empty() ? delay_ : trouble_;
  }
  // Called when the service stops: cancels what is under way.
  void stop() { *stopped_ = true; }

 private:
  // Returns whether the records have what a later redaction left, whose event isn't here yet: then
  // they lead to a base that only that one records.
  [[nodiscard]] bool awaits_redaction();
  // Makes the first drop of those that are due, see plan_due_drop(). Returns the position of its
  // HistoryDropped. On the lane.
  [[nodiscard]] Stored<Position> drop() const;
  // What can be repeated, and is by the next start. On the lane.
  Stored<void> finish_files() const;
  // `first`: of what was due; `made`: 0 for none.
  void conclude(Position first, const Stored<Position>& made, const Stored<void>& finished);
  // Has what failed tried again later.
  void delay(const std::string& what);

  const Parts parts_;
  bool under_way_ = false;
  bool is_unfinished_ = false;    // the files of a drop that was made aren't finished
  int failures_ = 0;              // since the latest success
  std::int64_t retry_at_ns_ = 0;  // monotonic
  std::string trouble_;
  std::string delay_;
  // Of due_horizon(), which is asked often: the event that it was read from.
  Position due_read_ = 0;
  Position due_horizon_ = 0;
  const std::shared_ptr<std::atomic<bool>> stopped_;
};

}  // namespace signalbox
