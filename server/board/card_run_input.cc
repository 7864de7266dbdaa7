#include "server/board/card_run_input.h"

#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "server/git/run_branch.h"

namespace signalbox {

std::optional<std::string> input_of_card_run(const Card& card) {
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
