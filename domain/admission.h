// Admission control: whether anything new may begin, which card is started or merged next, and why
// the others wait. Pure functions of the world. decide() checks against them, and the scheduler
// asks them.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "domain/decide.h"
#include "domain/world.h"

namespace signalbox {

enum class CardWaitReason : std::uint8_t {
  none = 1,         // admitted: the next tick of the heartbeat loop starts it
  concurrency = 2,  // the concurrency limit of `scope` is used up by `holders`
  policy = 3,       // its project's policy doesn't process the backlog, or the project is held
  order = 4,        // another card precedes it
  worktree = 5,     // its run goes on with the work of the one before, whose worktree is there yet
  service_paused = 6,  // the service is paused: nothing new begins
};
BOOST_DESCRIBE_ENUM(CardWaitReason, none, concurrency, policy, order, worktree, service_paused)

// Why a card of the backlog isn't started yet.
struct CardWait {
  CardWaitReason reason = CardWaitReason::none;
  std::string scope;            // concurrency: "all", "project", "key" or "held"
  std::int64_t limit = 0;       // concurrency: cards that may have an agent at a time, or be held
  std::vector<CardId> holders;  // concurrency: those cards; order: the card ahead of it

  friend bool operator==(const CardWait&, const CardWait&) = default;
};

// Returns whether stations' attempts, cards' runs and merges may begin: not while the service is
// paused. An attempt under way goes on to its end, with all of its steps, whoever does them:
// without them its job could never end.
inline bool admits_work(const World& world) { return !world.server.pause.has_value(); }

// Returns who paused the service and why, e.g. "uid:1000 paused the service: an upgrade".
std::string pause_text(const ServicePause& pause);

// The command that ends a pause of the service.
inline constexpr const char* resume_service_command = "signalbox resume --all";

// Returns the card to start now, or nullptr, as if those of `left_out` weren't in the backlog. The
// cost grows with the lanes that are blocked by a limit or a key and with `left_out`, not with the
// length of the backlog.
const Card* next_to_start(const World& world, const std::set<CardId>& left_out = {});

// Returns whether the card's next run is to go on with what its latest run left in its worktree,
// and maybe in no commit: a person had to look into it, or has given up on proposing what it holds.
bool hands_on_worktree(const Card& card);

// Returns whether a card of the backlog hands its worktree on, and that isn't removed yet: only
// then is there the ref that the next run is given. Meanwhile it holds up the cards behind it that
// have the same key, or that have none, either.
bool waits_for_worktree(const World& world, const Card& card);

// Returns whether the worktree of an ended run stays because a person has yet to look into it: its
// card is blocked or failed because of what that holds, until somebody unblocks it.
bool waits_for_look(const World& world, const RunId& run_id);

// Returns whether a card that isn't worked on goes on with its latest run once it is started: all
// work of that run is done, only its create_pr failed, for its push, for what may pass or for what
// a person mends, and its worktree is kept, of the repository that the project still has. A run
// that can't be reopened is replaced by another one (StartCard).
bool goes_on_with_run(const World& world, const Card& card);

// Returns the repository that has the work of the card's latest run, which would go on if that were
// still the project's: another run replaces it. Returns an empty text for other cards.
std::string former_repository(const World& world, const Card& card);

struct FailedProposal {
  std::string code;  // PUSH_FAILED or NOT_PROPOSED
  std::string message;
};
// Returns why the work of the card's latest run, which is done, couldn't be proposed, with the
// reason of a person who has blocked the card since; nullopt if that isn't why the card stopped.
std::optional<FailedProposal> failed_proposal(const Card& card);

// Returns whether the card would forget that its push failed if its message, which is `message`,
// were another text: its next run wouldn't know of the work that is done.
bool depends_on_message(const Card& card, const std::string& message);

// Returns how a person's block follows on what the card has been. What its latest run left is still
// to be handed on to the next one, so the message of that stays before the reason, and so does the
// code if a person has to look into its worktree. A block of work that couldn't be proposed has the
// usual code: the card doesn't go on with that run, and another one takes over.
CardBlocked block_by_person(const Card& card, const std::string& reason);

// Returns the command that unblocks the card, as long as it isn't stopped anew before that.
std::string unblock_command(const Card& card);

// Returns the command with which a card gets another run once it is unblocked, though it would go
// on with its latest one (goes_on_with_run()).
std::string command_for_another_run(const CardId& card_id);

// Returns those of the cards whose agent may still work. A card that has an agent by its status
// doesn't count if the run's work is done and waits for a person's decision, or until it can be
// proposed: nobody knows for how long, and other cards needn't wait as well.
std::set<CardId> still_working(const World& world, const std::set<CardId>& cards);

// Returns what the policy says about work of the run that changes what checks it; nullopt if the
// run does no card's work: then nothing is merged by it.
std::optional<ChecksChanged> rule_for_changed_checks(const World& world, const Run& run);

// Returns the remote of the run's current station. That of a card's run is the one that the project
// has for such a station by now: somebody may have corrected it since the run began.
std::string remote_of_station(const World& world, const Run& run);

// Returns what a card of the backlog waits for.
CardWait why_waiting(const World& world, const Card& card);
// Does the same, where next_to_start() is known: it is that of all cards.
CardWait why_waiting(const World& world, const Card& card, const Card* next);

// Returns the project's verified card to merge at `now_ns` (UTC). Cards that wait because their
// merges were deferred often come after all others, the longest wait first. Returns nullptr if
// there is none, if a merge is under way, or if the policy doesn't merge.
const Card* next_to_merge(const World& world, const std::string& project, std::int64_t now_ns);

// Returns when (ns, UTC) a card that waits for its next merge is merged again: after the time that
// the present policy gives a blocked card. Returns 0 if it doesn't wait.
std::int64_t merge_due_ns(const World& world, const Card& card);

// Returns when (ns, UTC) a blocked card is retried automatically: after the time that the present
// policy gives, which may have changed since the card was blocked. Returns 0 if it never is, or if
// the card isn't blocked.
std::int64_t retry_due_ns(const World& world, const Card& card);

// Returns whether the time of merge_due_ns() or retry_due_ns() has come at `now_ns` (UTC). It has
// if the card changed in the future: then the clock was ahead, and nobody knows for how long it
// waits.
bool is_due(std::int64_t due_ns, const Card& card, std::int64_t now_ns);

// Returns the command that starts a card's run: goal, project, label, repository, base and
// pipeline. In that pipeline the policy's agent timeout replaces the timeout of each coding agent's
// station that has the default one, and a create_pr whose retries nobody wrote has
// limits::create_pr_retries_max and more. The caller fills in the id and the digests.
StartRun run_of_card(const Project& project, const Card& card);

// Returns the command that starts the run which merges a verified card: `merge`, the project's
// checks, `push`. The caller fills in the id, the digests and the input.
StartRun run_of_merge(const Project& project, const Card& card);

}  // namespace signalbox
