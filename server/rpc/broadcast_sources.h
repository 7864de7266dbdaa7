// Where broadcasts find what events don't tell: the board, and the read models for what has left
// it.
#pragma once

#include "server/rpc/api.h"
#include "server/rpc/broadcasts.h"

namespace signalbox {

// For the engine's thread; `api` outlives it. Point look-ups only.
BroadcastSources broadcast_sources(const Api& api);

// Broadcasts of a subscription from `from` on, which know the events just before it: so that one
// which begins in the middle of a tick of the heartbeat tells how that ends.
Broadcasts broadcasts_from(const Api& api, Position from);

}  // namespace signalbox
