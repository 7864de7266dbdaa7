// The input of the runs that work on a card: what they get beside the card's texts.
#pragma once

#include <optional>
#include <string>

#include "domain/card.h"

namespace signalbox {

struct World;

// Returns the input of the card's next run as JSON. If the merge of its work ended with a conflict,
// that is {"merge_conflict": {branch, message, task}}, so that whoever does the work again
// sees which places conflicted and can read the earlier work. After another failure of its merge it
// is {"failed_merge": {reason, branch, message, task}}. If the run before failed because of
// what its worktree holds, it is {"earlier_work": {ref, message, task}}. If its work was refused or
// cut off, or couldn't be proposed, also if a person has blocked the card after a failed push, it
// is {"earlier_work": {reason, message, branches, ref, task}}, with `repository` if that isn't the
// project's any more. Otherwise returns nullopt.
std::optional<std::string> input_of_card_run(const World& world, const Card& card);

// Returns whether an unblocked card only has the push of its work left to do, by its latest run
// (goes_on_with_run()), as far as the project's pipeline says.
bool has_only_to_propose(const World& world, const Card& card);

// Returns where the work is of a card whose work is done and couldn't be pushed, as a sentence that
// follows the reason; empty for other cards.
std::string place_of_done_work(const World& world, const Card& card);

}  // namespace signalbox
