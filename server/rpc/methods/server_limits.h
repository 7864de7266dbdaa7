// The answer of `server.limits`: every bound of the service that a client can meet.
#pragma once

namespace signalbox {

struct Api;
struct Call;

// Answers with the limits by name. Called on the engine thread.
void answer_limits(Api& api, Call& call);

}  // namespace signalbox
