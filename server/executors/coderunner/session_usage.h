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
  // Printed since that by processes that ended without a report of their own:
  TokenCounts declared;    // which their attempts have declared
  TokenCounts undeclared;  // which nobody has declared, because they were killed
};
BOOST_DESCRIBE_STRUCT(SessionAccount, (), (schema, session, agents_total, declared, undeclared))

struct SettledCall {
  TokenCounts counts;      // what the attempt has to declare
  SessionAccount account;  // with these counts in it
};

// Returns what a call has to declare, so that the sum over the session's attempts is what was used.
// `before` is the session's account before the call. `resumed`: the call has continued the session.
// The cost of what processes without a report have printed is an estimate by the rate of the
// agent's next total, unless that total has it.
SettledCall settle_call(const AgentReport& report, const SessionAccount& before, bool resumed);

// Returns the account that the newest attempt before `attempt` of the same station has left of the
// session; an empty one if there is none or it can't be read. Blocks on the disk.
SessionAccount account_before(const std::filesystem::path& job_directory, std::uint32_t attempt,
                              const std::string& session);

// Writes the account into the job's directory. Errors: those of atomic_file.h.
Stored<void> write_account(const std::filesystem::path& job_directory,
                           const SessionAccount& account);

}  // namespace signalbox
