#include "server/board/card_run_input.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "domain/admission.h"
#include "domain/attempt_end.h"
#include "domain/refusals.h"
#include "domain/world.h"
#include "server/git/run_branch.h"
#include "server/git/unsaved_work.h"

namespace signalbox {
namespace {

// A person has looked into the worktree of the run before, and it was removed (worktree_keeper.h).
std::string input_after_look(const Card& card) {
  boost::json::object earlier;
  earlier["ref"] = rescue_ref_of(to_string(card.run_id));
  earlier["message"] = card.message;
  earlier["task"] =
      "The ref has earlier work on this card, which couldn't be committed as it was left, for the "
      "reason in the message. If the ref is there, take over from it what fits.";
  boost::json::object input;
  input["earlier_work"] = std::move(earlier);
  return boost::json::serialize(input);
}

// Returns whether a run with this failure may have done its work, which a person or the policy
// refused, or which couldn't be committed or written; or whether it was cut off at some
// station, which may have been create_pr. The world doesn't know which station failed.
bool may_have_done_work(std::string_view code) {
  constexpr std::array<std::string_view, 19> codes{
      rejected_code, checks_changed_code,
      // of create_pr
      "BASE_UNKNOWN", "COMMIT_FAILED", "GIT_FAILED", "REPOSITORY_AWAY", "REPOSITORY_BUSY",
      "REPOSITORY_DAMAGED", "REPOSITORY_INVALID", "STORAGE_FAILED",
      // of any job
      "COMMAND_NOT_STARTED", "EXIT_UNKNOWN", "JOB_LOST", "JOB_STORAGE", "KILLED_BY_SIGNAL",
      "LOCK_LOST", "SHIM_NOT_STARTED", "TIMEOUT", "USAGE_LIMIT"};
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

// A reviewer's reason is the message.
std::string input_after_done_work(const World& world, const Card& card, std::string_view reason,
                                  const std::string& message) {
  boost::json::object earlier;
  earlier["reason"] = reason;
  earlier["message"] = message;
  earlier["branches"] = branch_pattern_of(card.run_id);
  earlier["ref"] = rescue_ref_of(to_string(card.run_id));
  earlier["task"] =
      "Earlier work on this card was refused, was cut off, or couldn't be proposed, for the reason "
      "in the message. If it has commits, `git branch --list` finds their branch by the pattern in "
      "branches; what wasn't committed is under the ref, if that is there. Heed the message, and "
      "take over what fits.";
  if (std::string repository = former_repository(world, card); !repository.empty()) {
    earlier["repository"] = std::move(repository);  // the branch and the ref are there
  }
  boost::json::object input;
  input["earlier_work"] = std::move(earlier);
  return boost::json::serialize(input);
}

// The branch has the card's verified work, whose merge failed.
boost::json::object merge_of_branch(const Card& card, std::string_view task) {
  boost::json::object merge;
  merge["branch"] = branch_of(card.run_id, card.token);
  merge["message"] = card.message;
  merge["task"] = task;
  return merge;
}

std::string input_after_conflict(const Card& card) {
  boost::json::object input;
  input["merge_conflict"] = merge_of_branch(
      card,
      "The branch has earlier work on this card, whose merge conflicted. Do the work on the base "
      "that is checked out, so that it fits what was merged meanwhile. The branch may be read.");
  return boost::json::serialize(input);
}

std::string input_after_merge(const Card& card) {
  boost::json::object input;
  boost::json::object& merge = input["failed_merge"].emplace_object();
  merge = merge_of_branch(
      card,
      "The branch has earlier work on this card. It was verified by itself, but its merge with "
      "the base failed, for the reason in the message. Do the work on the base that is checked "
      "out, so that it stands beside what was merged meanwhile. The branch may be read.");
  merge["reason"] = card.code;
  return boost::json::serialize(input);
}

// Returns whether the card's latest run succeeded, so that a failure since then is of a merge.
bool was_verified(const World& world, const Card& card) {
  const EndedRun* const ended = world.ended_runs.find(card.run_id);
  return ended != nullptr && ended->status == RunStatus::succeeded;
}

}  // namespace

std::optional<std::string> input_of_card_run(const World& world, const Card& card) {
  if (card.run_id.is_nil() || card.code.empty()) return std::nullopt;
  const auto proposal = failed_proposal(card);
  // A person's block replaces the code: then another failure before it isn't why the card is back.
  // Work that was verified by then is told of all the same.
  if (card.code == blocked_by_person_code && !proposal) {
    if (card.token == 0 || !was_verified(world, card)) return std::nullopt;
    return input_after_done_work(world, card, card.code, card.message);
  }
  if (card.token != 0 && card.code == "MERGE_CONFLICT") return input_after_conflict(card);
  if (card.token != 0 && was_verified(world, card)) return input_after_merge(card);
  if (needs_look_at_worktree(card.code)) return input_after_look(card);
  if (proposal) return input_after_done_work(world, card, proposal->code, proposal->message);
  if (may_have_done_work(card.code))
    return input_after_done_work(world, card, card.code, card.message);
  return std::nullopt;
}

bool has_only_to_propose(const World& world, const Card& card) {
  if (!goes_on_with_run(world, card)) return false;
  const auto& stations = world.find_project(card.project)->pipeline.stations;
  return std::any_of(stations.begin(), stations.end(), [](const StationDefinition& station) {
    return builtin_of(station) == BuiltinStation::create_pr;
  });
}

std::string place_of_done_work(const World& world, const Card& card) {
  const Project* const project = world.find_project(card.project);
  const auto proposal = failed_proposal(card);
  if (!proposal || card.run_id.is_nil() || project == nullptr) return {};
  const auto worktree = world.worktrees.find(card.run_id);
  const std::string former = former_repository(world, card);
  if (!former.empty()) {
    return ". Its work is done, and is in " + former + ", on the branch that `git -C " +
           shell_word(former) + " branch --list " + shell_word(branch_pattern_of(card.run_id)) +
           "` names, or in its worktree. That isn't the project's repository any more: another run "
           "of an agent does the work in " +
           project->repository + " once the card is unblocked";
  }
  if (worktree != world.worktrees.end() && !worktree->second.runner.empty()) {
    return ". Its work is done, and is kept in its worktree at " + worktree->second.runner +
           (has_only_to_propose(world, card)
                ? ": its create_pr is tried again there once the card is unblocked"
                : std::string());
  }
  if (proposal->code != push_failed_code) {
    return has_only_to_propose(world, card)
               ? ". Its work is done, and is kept in its worktree: its create_pr is tried again "
                 "once the card is unblocked"
               : std::string(". Its work is done: another run of an agent can take it over");
  }
  return ". Its work is done, and is on the branch that `git -C " +
         shell_word(project->repository) + " branch --list " +
         shell_word(branch_pattern_of(card.run_id)) + "` names: " +
         (has_only_to_propose(world, card) ? "its create_pr pushes it once the card is unblocked"
                                           : "another run of an agent can take it over") +
         ", or somebody can push it by hand";
}

}  // namespace signalbox
