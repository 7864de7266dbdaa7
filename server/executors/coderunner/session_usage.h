// What the calls of an agent in one session have used.
//
// Some agents report what one process used, others what the whole session did, since its first
// process. Both occur for claude in different versions, so the figures themselves have to say which
// it is; codex reports totals of its session. A process that is killed reports nothing, but a
// session's next total has its usage in it, or the messages that it had printed by then are
// counted.
//
// The account of a session lies in the directory of each job that has worked in it, as
// agent_usage.json, so that the next attempt finds the account of the one before.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <boost/describe/class.hpp>

#include "domain/station_events.h"
#include "server/executors/coderunner/agent_report.h"
#include "store/store_error.h"

namespace signalbox {

struct SessionAccount {
  std::string schema = "agent_usage.v1";
  std::string session;
  TokenCounts agents_total;  // by the agent's own reports; a sum if they are of single processes
  // Printed since that, without a report of the agent's own:
  TokenCounts declared;    // by processes that have ended; their attempts have declared it
  TokenCounts undeclared;  // by the process under way
  std::optional<std::int64_t> undeclared_turns;
  // What the job's own call has to declare since its first total, which is counted in the above.
  // The coderunner may be killed, or find its disk full, before it has declared that.
  std::optional<TokenCounts> used;
  std::optional<std::int64_t> used_turns;
};
BOOST_DESCRIBE_STRUCT(SessionAccount, (),
                      (schema, session, agents_total, declared, undeclared, undeclared_turns, used,
                       used_turns))

struct SettledCall {
  TokenCounts counts;        // what the attempt has to declare
  SessionAccount account;    // with these counts in it
  bool is_estimate = false;  // not all of it is by the agent's own totals
};

// Returns what a call has to declare, so that the sum over the session's attempts is what was used.
// `before` is the session's account before the call. `resumed`: the call has continued the session.
// The cost of what processes without a report have printed is an estimate by the rate of the
// agent's totals, unless one of them has it; 0 until there is one.
SettledCall settle_call(const AgentReport& report, const SessionAccount& before, bool resumed);

// Returns the same for a call whose process was killed, of which there is only its account.
SettledCall settle_lost_call(const SessionAccount& account);

// Returns what the call of a job has used that has declared nothing; nothing if there is no
// account, or it can't be read. Blocks on the disk.
Usage usage_of_lost_call(const std::filesystem::path& job_directory);

// Returns the account that the newest attempt before `attempt` of the same station has left of the
// session; an empty one if there is none or it can't be read. What the job of a killed process had
// used is declared in it, since the service does that for a lost job. Blocks on the disk.
SessionAccount account_before(const std::filesystem::path& job_directory, std::uint32_t attempt,
                              const std::string& session);

// Writes the account into the job's directory. Errors: those of atomic_file.h.
Stored<void> write_account(const std::filesystem::path& job_directory,
                           const SessionAccount& account);

}  // namespace signalbox
