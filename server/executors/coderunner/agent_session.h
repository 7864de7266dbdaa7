// Which conversation of its agent a station's attempt is: "claude:<uuid>" or "codex:<thread id>" as
// external ref, so that an attempt after a crash or a usage limit goes on with it.
#pragma once

#include <filesystem>
#include <string>

#include "server/executors/executor.h"
#include "store/store_error.h"

namespace signalbox {

std::string session_ref(Agent agent, const std::string& session);
// The session's id if `ref` is one of this agent's and can't be taken for an option, else empty.
std::string session_of(Agent agent, const std::string& ref);

// What the attempt of `span_id` will be called, known before its agent starts: the session that is
// gone on with, or the one that claude is told to begin. Empty for stations without an agent's
// process, and for codex, which chooses the id itself.
std::string session_ref_at_start(const StationDefinition& station, const Uuid& span_id,
                                 const std::string& resume_ref);

// The ref that the agent told once it ran, kept beside the job so that it survives the server and
// the job's own end. Empty if it told none.
Stored<void> write_learned_session(const std::filesystem::path& job_directory,
                                   const std::string& ref);
Stored<std::string> read_learned_session(const std::filesystem::path& job_directory);

}  // namespace signalbox
