#include "server/executors/coderunner/agent_session.h"

#include <algorithm>
#include <cctype>

#include <boost/describe/enum_to_string.hpp>

#include "domain/limits.h"
#include "domain/try.h"
#include "server/executors/job_directory.h"
#include "server/platform/atomic_file.h"

namespace signalbox {
namespace {

std::string prefix_of(Agent agent) {
  return std::string(boost::describe::enum_to_string(agent, "agent")) + ":";
}

std::filesystem::path session_file(const std::filesystem::path& job_directory) {
  return job_directory / "session";
}

}  // namespace

std::string session_ref(Agent agent, const std::string& session) {
  return prefix_of(agent) + session;
}

std::string session_of(Agent agent, const std::string& ref) {
  const std::string prefix = prefix_of(agent);
  if (!ref.starts_with(prefix)) return {};
  std::string session = ref.substr(prefix.size());
  // The id was reported by the agent and becomes a command-line argument.
  const bool is_word = std::all_of(session.begin(), session.end(), [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '-' || letter == '_' || letter == '.';
  });
  return is_word && !session.starts_with('-') ? session : std::string();
}

std::string session_ref_at_start(const StationDefinition& station, const Uuid& span_id,
                                 const std::string& resume_ref) {
  if (station.executor != ExecutorKind::coderunner || !station.coderunner) return {};
  if (station.coderunner->mode != CoderunnerMode::process) return {};
  const Agent agent = station.coderunner->agent;
  if (!session_of(agent, resume_ref).empty()) return resume_ref;
  return agent == Agent::claude ? session_ref(agent, to_string(span_id)) : std::string();
}

bool proves_start(const std::string& external_ref, const StationDefinition& station,
                  const Uuid& span_id, const std::string& resume_ref) {
  return !external_ref.empty() &&
         external_ref != session_ref_at_start(station, span_id, resume_ref);
}

Stored<void> write_learned_session(const std::filesystem::path& job_directory,
                                   const std::string& ref) {
  return write_file_atomically(session_file(job_directory), ref);
}

Stored<std::string> read_learned_session(const std::filesystem::path& job_directory) {
  const std::filesystem::path path = session_file(job_directory);
  const auto file = open_job_file(path, limits::path_bytes_max);
  if (file) {
    std::string ref = TRY(read_regular_file(file->get(), path, limits::path_bytes_max));
    // The agent can write it, too: any other text would be in every answer about its run.
    const bool is_ref =
        !session_of(Agent::claude, ref).empty() || !session_of(Agent::codex, ref).empty();
    return is_ref ? ref : std::string();
  }
  // The agent has put something else in its place: no session is known.
  const bool is_unknown = file.error().kind == StoreError::Kind::not_found ||
                          file.error().kind == StoreError::Kind::damaged;
  if (is_unknown) return std::string();
  return tl::unexpected(file.error());
}

}  // namespace signalbox
