// `audit redact` as the service uses it: the plan of a redaction while the log is served, and the
// call of a running service.
#pragma once

#include <optional>

#include "server/scheduler/redactions.h"
#include "tools/cli/call_error.h"
#include "tools/cli/invocation.h"
#include "tools/cli/server_address.h"

namespace signalbox {

// Returns the plan function of the service. It plans on the open log. The proof runs this program
// once more, as `audit redact --dry-run`: a fold of a log that doesn't fold aborts its process.
Redactions::Plan plan_redaction_in_service();

// Returns the address of the server that serves the invocation's data directory, on the
// invocation's socket; nullopt if none answers there, or one that serves another directory. Fails
// if the server doesn't know the caller's token.
Called<std::optional<ServerAddress>> service_of(const Invocation& invocation);

}  // namespace signalbox
