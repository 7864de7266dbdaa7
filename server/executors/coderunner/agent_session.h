// The external ref of an agent's session: "claude:<uuid>" or "codex:<thread id>". By it, an attempt
// after a crash or a usage limit continues the same session.
#pragma once

#include <filesystem>
#include <string>

#include "server/executors/executor.h"
#include "store/store_error.h"

namespace signalbox {

// Returns the external ref of a session id.
std::string session_ref(Agent agent, const std::string& session);
// Returns the session's id; empty if `ref` isn't of this agent or its id could be mistaken for an
// option.
std::string session_of(Agent agent, const std::string& ref);

// Returns the session's ref as far as it is known before the agent starts: the session to continue,
// or the one that claude is asked to begin. Empty for stations that don't run an agent's program,
// and for codex, which chooses the id itself.
std::string session_ref_at_start(const StationDefinition& station, const Uuid& span_id,
                                 const std::string& resume_ref);

// Returns whether the ref of an attempt shows that its job was started. That of an agent's session
// may be chosen before that.
bool proves_start(const std::string& external_ref, const StationDefinition& station,
                  const Uuid& span_id, const std::string& resume_ref);

// Write and read the ref that the agent reported while it ran. It is kept in the job's directory,
// so that it outlives the server and the job. Reading returns an empty string if the agent reported
// none, or put there what no session can be. Errors: those of atomic_file.h.
Stored<void> write_learned_session(const std::filesystem::path& job_directory,
                                   const std::string& ref);
Stored<std::string> read_learned_session(const std::filesystem::path& job_directory);

}  // namespace signalbox
