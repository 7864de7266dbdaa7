#include "server/board/card_run_input.h"

#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "domain/attempt_end.h"
#include "server/git/run_branch.h"
#include "server/git/unsaved_work.h"

namespace signalbox {
namespace {

// A person has looked into the worktree of the run before, and it was removed (left_worktrees.h).
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

}  // namespace

std::optional<std::string> input_of_card_run(const Card& card) {
  if (needs_look_at_worktree(card.code) && !card.run_id.is_nil()) return input_after_look(card);
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
