// `card.why`: why a card isn't moving, since which event, and what to do about it.
#pragma once

#include "server/rpc/method.h"

namespace signalbox {

void why_card(Api& api, Call& call);

}  // namespace signalbox
