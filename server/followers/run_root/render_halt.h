// A loop that halted, for the one who has to look after it: schema `halt.v1`.
#pragma once

#include <string>

#include "domain/event.h"
#include "server/followers/run_root/run_root_state.h"

namespace signalbox {

// "operator/halt/tick-0012.json": of the tick's token or, where the log knows none, of the position
// of the halt.
std::string halt_path(Token token, Position halted_at);

// `record` holds `event`; `tick` is the tick without an end, as far as it is known.
std::string halt_text(const Record& record, const TickIncompleteDetected& event,
                      const MirroredTick& tick);

}  // namespace signalbox
