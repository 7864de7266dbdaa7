#include "server/board/card_run_input.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "domain/attempt_end.h"
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
// refused, or which couldn't be pushed or written.
bool may_have_done_work(std::string_view code) {
  constexpr std::array codes{rejected_code,
                             checks_changed_code,
                             push_failed_code,
                             std::string_view("GIT_FAILED"),
                             std::string_view("STORAGE_FAILED"),
                             std::string_view("REPOSITORY_AWAY")};
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

// A reviewer's reason is the message.
std::string input_after_done_work(const Card& card) {
  boost::json::object earlier;
  earlier["reason"] = card.code;
  earlier["message"] = card.message;
  earlier["branches"] = branch_pattern_of(card.run_id);
  earlier["ref"] = rescue_ref_of(to_string(card.run_id));
  earlier["task"] =
      "Earlier work on this card was refused, or couldn't be proposed, for the reason in the "
      "message. If it has commits, `git branch --list` finds their branch by the pattern in "
      "branches; what wasn't committed is under the ref, if that is there. Heed the message, and "
      "take over what fits.";
  boost::json::object input;
  input["earlier_work"] = std::move(earlier);
  return boost::json::serialize(input);
}

}  // namespace

std::optional<std::string> input_of_card_run(const Card& card) {
  if (needs_look_at_worktree(card.code) && !card.run_id.is_nil()) return input_after_look(card);
  if (may_have_done_work(card.code) && !card.run_id.is_nil()) return input_after_done_work(card);
  // A person's block in between replaces the code: then the conflict isn't why the card is back.
  if (card.code != "MERGE_CONFLICT" || card.run_id.is_nil() || card.token == 0) return std::nullopt;
  boost::json::object conflict;
  conflict["branch"] = branch_of(card.run_id, card.token);
  conflict["message"] = card.message;
  conflict["task"] =
      "The branch has earlier work on this card, whose merge conflicted. Do the work on the base "
      "that is checked out, so that it fits what was merged meanwhile. The branch may be read.";
  boost::json::object input;
  input["merge_conflict"] = std::move(conflict);
  return boost::json::serialize(input);
}

}  // namespace signalbox
