// `run.find` and `card.find`: find the whole id for what a person types instead of it, the end of
// an id or `last`. All other methods take whole ids only.
#pragma once

#include <string>

#include <boost/describe/class.hpp>

#include "server/rpc/method.h"

namespace signalbox {

// The params of both methods.
struct FindId {
  std::string id;  // its last digits, or "last"
};
BOOST_DESCRIBE_STRUCT(FindId, (), (id))

// Handles `run.find`. INVALID_PARAMS for a text that can't end an id, RUN_NOT_FOUND, AMBIGUOUS_ID.
void find_run(Api& api, Call& call);

// Handles `card.find`. INVALID_PARAMS, CARD_NOT_FOUND, AMBIGUOUS_ID.
void find_card(Api& api, Call& call);

}  // namespace signalbox
