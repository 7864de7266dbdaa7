// The redactions of a cell, as each of its servers finishes them. The write that has followed a
// PayloadRedacted has replaced the payload in this server's log, too, and notes the redaction as
// due (store/replica_log.h). What is left:
//
//   each server     takes the text out of its state, read models, snapshots and files, as it does
//                   for a redaction of its own (Redactions::renew()), and reports that
//   the writer      takes it out of the shared log, then ends the command once the others have
//                   erased it; after a takeover the next writer does
//   a standby       forgets the redaction once the writer has reported so much
//
// Following, commands and queries go on meanwhile. A kill leaves it due; the next start erases the
// files before it serves anything.
//
// All calls come from the engine thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/platform/blocking_pool.h"
#include "server/platform/clock.h"
#include "server/scheduler/redactions.h"
#include "store/replicated_event_log.h"

namespace signalbox {

namespace limits {
// For how long the command of a redaction waits for the other servers of the cell that are there.
inline constexpr std::int64_t redaction_servers_ms_max = 60'000;
}  // namespace limits

class FollowedRedactions {
 public:
  struct Parts {
    ReplicatedEventLog& log;
    Redactions& redactions;
    const Clock& clock;
    BlockingPool blocking;  // the lane of retentions
    std::string own;        // name of this server
    // Returns whether this server writes the cell's log, as far as is known.
    std::function<bool()> is_writer;
    // Takes out of the shared log what the PayloadRedacted at that position erased. Blocks; on the
    // lane.
    std::function<Stored<void>(Position redacted_at)> erase_from_chain;
    // Returns what the servers of the cell have reported lately.
    std::function<std::vector<ReplicaReport>()> servers;
    // Has this server report soon.
    std::function<void()> report_soon;
    // For the log of the service; `ok` is false for troubles.
    std::function<void(bool ok, const std::string& text)> note;
  };

  explicit FollowedRedactions(Parts parts);

  // Begins what is due, unless something is under way. Called often.
  void look();
  // Calls `done` once this redaction of the writer is finished everywhere, or what isn't there is
  // known: see RedactionOutcome. One at a time.
  void await_others(RedactionOutcome outcome, std::function<void(RedactionOutcome)> done);
  // Returns why the first redaction that is due isn't finished yet, and is tried again; empty: it
  // goes on.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  // Called when the service stops: cancels what is under way.
  void stop() { *stopped_ = true; }

 private:
  struct Waiting {
    RedactionOutcome outcome;
    std::function<void(RedactionOutcome)> done;
    std::int64_t until_ns = 0;  // monotonic
  };

  void renew();
  // Takes what the PayloadRedacted at `redacted_at` erased out of the shared log.
  void erase(Position redacted_at);
  // Forgets the redactions that the writer has finished.
  void settle_reported(const PendingRedactions& pending);
  // Runs `step` on the lane, and goes on with what is due then.
  void run(std::function<Stored<void>()> step);
  void note_outcome(const Stored<void>& made);
  void answer_if_done();

  const Parts parts_;
  bool under_way_ = false;
  std::int64_t retry_at_ns_ = 0;  // monotonic
  std::string trouble_;
  std::optional<Waiting> waiting_;
  const std::shared_ptr<std::atomic<bool>> stopped_;
};

}  // namespace signalbox
