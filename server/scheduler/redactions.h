// Redactions while the service serves:
//
//   retention lane   plans, proves that the log still folds, folds the redacted world beside the
//                    living one, and removes the snapshots
//   engine thread    exchanges the worlds and applies PayloadRedacted
//   commit thread    writes the event and the record's entry in its new form as one batch
//   retention lane   has the read models computed anew and exchanged, and rewrites the files of the
//                    log
//
// Nobody waits longer than for one of these steps. The command is answered at the end: from then on
// nothing of the service shows the text. A crash or a stop before the batch leaves nothing; after
// it the next opening of the log removes what was derived from it, and rewrites its files.
//
// In a cell the batch is one of each server: whoever follows the event has redacted its log with
// it, and does the rest by renew() (followed_redactions.h), which also ends the command. There the
// base is renewed, too, if the record was kept before the horizon: a HistoryDropped before the
// PayloadRedacted says so, and the same batch replaces it.
//
// All calls come from the engine thread, unless they say otherwise.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/decide.h"
#include "domain/free_text.h"
#include "server/engine/engine.h"
#include "server/platform/blocking_pool.h"
#include "server/scheduler/rewriting_turn.h"
#include "store/random_source.h"
#include "store/redactable_log.h"

namespace signalbox {

class RocksEventLog;

namespace limits {
// Records that are applied to the redacted world on the engine thread, before it is exchanged. More
// than that are folded beside it first.
inline constexpr std::size_t redaction_lap_records_max = 4096;
// How often what was written meanwhile is folded before a redaction is given up.
inline constexpr int redaction_laps_max = 20;
}  // namespace limits

struct RedactionRequest {
  Position position = 0;
  std::vector<std::string> fields;  // none: all free text
  std::string reason;
};
BOOST_DESCRIBE_STRUCT(RedactionRequest, (), (position, fields, reason))

// A redaction that was planned and proved.
struct PlannedRedaction {
  Event replacement;
  PayloadRedacted event;          // without its digests
  std::vector<FoundText> erased;  // empty: all was blanked before
  // Of a record that was kept before the horizon: the log's base without the texts; empty: it
  // stays.
  std::string base;
  Position redacted_at = 0;  // of the earlier redaction then
};

struct RedactionOutcome {
  PlannedRedaction plan;
  Position redacted_at = 0;   // of the PayloadRedacted
  std::string erasure_error;  // why files may still have the text, see Redactions::unfinished()
  // In a cell: the servers that have the text yet, and why the shared log, or another server, may
  // have it.
  std::vector<std::string> unerased_servers;
  std::string shared_log_error;
};

// What a redaction has left undone: files may have its text.
struct UnfinishedErasure {
  Position position = 0;  // of the record whose redaction it was; 0: another server's
  std::string error;
};

class Redactions {
 public:
  // Plans a redaction of the log in the data directory `data` and proves, in a process of its own,
  // that the log folds with it. Without `may_renew_base` a record whose texts the base may have is
  // refused. Blocks; soon after `stopped` is set it fails. Any thread. The program passes in its
  // implementation of `audit redact`, so that there is only one.
  using Plan = std::function<Decided<PlannedRedaction>(
      const RocksEventLog& log, const std::filesystem::path& data, const RedactionRequest& request,
      bool may_renew_base, const std::atomic<bool>& stopped)>;
  struct Parts {
    Engine& engine;
    RedactableLog& log;
    RewritingTurn& turn;
    BlockingPool blocking;  // a lane of its own
    // Plan for this log.
    std::function<Decided<PlannedRedaction>(const RedactionRequest& request,
                                            const std::atomic<bool>& stopped)>
        plan;
    RandomSource random;  // of salts; called on the lane
    // Runs a short step on the commit thread, between two batches. Any thread.
    Post on_commit_thread;
    // Removes all snapshots and makes none until the next one. Blocks. Any thread.
    std::function<Stored<void>()> suspend_snapshots;
    std::function<void()> resume_snapshots;
    // Has the read models computed from the log, renews what else was derived from it, and blocks
    // until none of it is left. Any thread.
    std::function<Stored<void>(const std::atomic<bool>& stopped)> renew_derived;
    // Called after the engine's world was exchanged.
    std::function<void()> world_exchanged;
    // Called with why files may have the text yet, although it was redacted.
    std::function<void(const std::string& why)> erasure_failed;
    // Returns why the record mustn't be redacted now; nullopt: it may.
    std::function<std::optional<Rejection>(const RedactionRequest& request)> obstacle =
        [](const RedactionRequest&) { return std::nullopt; };
    // Erases a text of the shared log, and awaits the other servers; calls `done` then. Empty: in
    // no cell.
    std::function<void(RedactionOutcome outcome, std::function<void(RedactionOutcome)> done)>
        finish_in_cell = nullptr;
  };
  using Done = std::function<void(Decided<RedactionOutcome>)>;

  explicit Redactions(Parts parts);

  // Begins a redaction and calls `done` at its end, or at once with OVERLOADED if a redaction or a
  // retention is under way. `done` isn't called if the service stops before. Where the record has
  // nothing left to erase, it finishes the files of earlier redactions that couldn't be finished.
  void redact(const Origin& origin, RedactionRequest request, Done done);
  // Does for texts that were replaced in the log already what a redaction does after its batch, and
  // calls `done` with why that failed, unless the service stops before. Returns false if a
  // redaction or a retention is under way.
  bool renew(std::function<void(Stored<void>)> done);
  // Returns whether a redaction is under way.
  [[nodiscard]] bool is_redacting() const { return redacting_; }
  // Returns what the latest attempt to finish the files of a redaction has left; nullopt: nothing.
  [[nodiscard]] const std::optional<UnfinishedErasure>& unfinished() const { return unfinished_; }
  // Called with the records of each transaction, which are applied but not durable yet.
  void note_applied(std::span<const Record> records);
  // Called when the engine rolled back its world, which takes back records that were noted.
  void note_rolled_back();
  // Called when the service stops: cancels what is under way.
  void stop() { *stopped_ = true; }

 private:
  struct Attempt;

  void stage(Attempt& attempt) const;
  // Folds the world of a log in which the texts are replaced already.
  void stage_renewal(Attempt& attempt) const;
  Stored<void> stage_world(Attempt& attempt, Position through) const;
  // Writes the base that the plan has, for the batch to refer to.
  Stored<void> stage_base(Attempt& attempt) const;
  void begin(const std::shared_ptr<Attempt>& attempt);
  void begin_lap(const std::shared_ptr<Attempt>& attempt);
  void publish(const std::shared_ptr<Attempt>& attempt);
  void finish_files(const std::shared_ptr<Attempt>& attempt);
  void note_files(const Attempt& attempt);
  Stored<void> erase() const;
  void conclude(Attempt& attempt, Decided<RedactionOutcome> outcome);

  const Parts parts_;
  bool redacting_ = false;
  bool noting_ = false;
  bool rolled_back_ = false;
  std::vector<Record> noted_;  // applied since the present lap was begun
  std::optional<UnfinishedErasure> unfinished_;
  const std::shared_ptr<std::atomic<bool>> stopped_;
};

}  // namespace signalbox
