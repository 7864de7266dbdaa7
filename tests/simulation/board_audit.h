// Audits the board by its records in the register: which card may be worked on, which column each
// is in, and whether its runs agree with that. A second implementation of the promises that shares
// no code with domain/admission and evolve(). H1 H3 H4 H5 H8 H11
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "domain/card.h"
#include "domain/policy.h"
#include "store/event_log.h"
#include "tests/simulation/audited_run.h"
#include "tests/simulation/command_book.h"
#include "tests/simulation/simulated_repositories.h"

namespace signalbox::simulation {

class BoardAudit {
 public:
  // `is_decided_only` returns whether only a person's decision is left of a run, and no agent.
  BoardAudit(Environment& environment, const CommandBook& book,
             const SimulatedRepositories& repositories, std::int64_t prune_after_ns,
             std::function<bool(const RunId&)> is_decided_only)
      : environment_(environment),
        book_(book),
        repositories_(repositories),
        is_decided_only_(std::move(is_decided_only)),
        prune_after_ns_(prune_after_ns) {}

  // Audits the next durable commit.
  void read(const Commit& commit);

  // Returns true while the register has the run as open.
  [[nodiscard]] bool is_open(const RunId& run_id) const { return open_runs_.contains(run_id); }
  // Returns how long the cards that aren't at their end take for that, at most, without faults.
  [[nodiscard]] std::int64_t rest_ns_max() const;
  // Checks, once all is at rest, that each card is merged or failed and each worktree is accounted
  // for.
  void finished() const;

 private:
  struct AuditedCard {
    std::string project;
    std::string key;
    std::int32_t priority = 0;
    Position submitted_at = 0;
    CardStatus column = CardStatus::backlog;
    std::uint32_t runs = 0;
    RunId run{};    // the latest run
    RunId merge{};  // the merge under way, or nil
    std::int64_t retry_at_ns = 0;
    std::int64_t blocked_at_ns = 0;
    Position verified_at = 0;
    std::uint32_t merges = 0;  // begun since it was verified or unblocked
    Position deferred_at = 0;  // of the latest merge that was deferred
    std::int64_t deferred_at_ns = 0;
    bool needs_look = false;           // its latest run failed for what its worktree holds
    bool has_only_to_propose = false;  // its latest run failed at create_pr, and may go on

    [[nodiscard]] bool in_work() const {
      return column == CardStatus::running || column == CardStatus::verifying;
    }
    [[nodiscard]] bool has_ended() const {
      return column == CardStatus::merged || column == CardStatus::failed;
    }
    // Its merges were deferred so often that there is time between them.
    [[nodiscard]] bool merges_slowly() const { return merges >= limits::card_merges_max; }
  };
  struct AuditedProject {
    std::string repository;
    Policy policy;
    Digest digest;
    Digest refused;
    bool file_seen = false;

    // A8: without a policy that was understood nothing is started or merged.
    [[nodiscard]] bool is_held() const { return digest.is_zero() && !refused.is_zero(); }
  };
  struct EndedRun {
    Position position = 0;
    std::int64_t at_ns = 0;
    bool keyed = false;
  };

  void read_project(const Record& record);
  void read_policy(const Record& record, AuditedProject& project);
  void read_run(const Record& record);
  void read_server(const Record& record);
  void read_recovery(const Record& record, const RecoveryFinished& finished);
  void read_tick(const Record& record);
  void read_card(const Record& record);
  void read_card(const Record& record, AuditedCard& card, const CardEvent& event);
  void submit(const Record& record, const CardSubmitted& submitted);
  void start(const Record& record, AuditedCard& card, const CardStarted& started);
  void start_run(const Record& record, AuditedCard& card, const RunId& run_id);
  void start_merge(const Record& record, AuditedCard& card, const CardMergeStarted& started);
  void block(const Record& record, AuditedCard& card, const CardBlocked& blocked);
  void fail(const Record& record, AuditedCard& card, const CardFailed& failed);
  void unblock(const Record& record, AuditedCard& card, const CardUnblocked& unblocked);
  // Checks that an event which follows the end of the card's run (or of its merge) fits that end.
  void after_run(const Record& record, const AuditedCard& card, const RunId& run_id, bool merge,
                 bool succeeded);
  void finish_commit(Position position);
  // Returns whether `other`, which is verified as well, has to be merged before `card`.
  [[nodiscard]] static bool is_merged_before(const AuditedCard& other, const AuditedCard& card);
  // Returns whether the run failed for what passes, so that its push is done again.
  [[nodiscard]] bool failed_for_what_passes(const RunId& run_id) const;
  // Returns whether the checks of the merge failed for what may pass, after so many merges that the
  // work may be the reason.
  [[nodiscard]] bool failed_in_checks_for_long(const AuditedCard& card, const RunId& run_id) const;
  // Returns whether the merge failed for what isn't in the work, so that it is merged again.
  [[nodiscard]] bool is_merged_again(const AuditedCard& card, const RunId& run_id) const;
  // Returns whether `other` comes before `card` in the backlog.
  [[nodiscard]] static bool is_worked_on_before(const AuditedCard& other, const AuditedCard& card);
  // Returns whether the card, or one before it in its lane, waits until the worktree of its latest
  // run was removed: its next run gets what is kept of that.
  [[nodiscard]] bool waits_for_worktree(const AuditedCard& card) const;
  // Returns what keeps the card from being started now, or empty.
  [[nodiscard]] std::string obstacle(const AuditedCard& card) const;
  void wrong(const Record& record, const std::string& what) {
    report_contradiction(environment_, record, what);
  }

  Environment& environment_;
  const CommandBook& book_;
  const SimulatedRepositories& repositories_;
  const std::function<bool(const RunId&)> is_decided_only_;
  const std::int64_t prune_after_ns_;
  std::map<std::string, AuditedProject> projects_;
  std::map<CardId, AuditedCard> cards_;
  std::map<RunId, CardId> card_of_run_;  // every run and merge of a card
  std::set<RunId> worktrees_;            // of runs of cards: nothing says yet what became of them
  std::map<RunId, bool> open_runs_;      // true: started under an idempotency key
  std::map<Position, EndedRun> ended_runs_;
  std::set<std::string> beating_;  // loops whose tick is under way
  bool service_paused_ = false;
  Digest policies_of_tick_;       // digest in the latest tick of the heartbeat
  bool policies_changed_ = true;  // since that tick
  // State of the commit that is being read.
  std::optional<RunId> about_to_start_;
  std::map<RunId, bool> ended_;  // true: it succeeded
  std::map<RunId, RunFailed> failed_;
  std::set<CardId> touched_;
};

}  // namespace signalbox::simulation
