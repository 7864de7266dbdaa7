#include "server/executors/coderunner/session_usage.h"

#include "server/platform/stored_json.h"

namespace signalbox {
namespace {

std::filesystem::path account_file(const std::filesystem::path& job_directory) {
  return job_directory / "agent_usage.json";
}

// Returns whether the total is of the session, not of the process alone. That of a process has what
// it printed, but hardly what the session had used before in each kind of tokens as well.
bool is_total_of_session(const TokenCounts& total, const TokenCounts& seen,
                         const SessionAccount& before) {
  const bool has_total = before.agents_total.tokens() > 0;
  const TokenCounts known = has_total ? before.agents_total : before.counted + before.uncounted;
  return known.tokens() > 0 && total.has_at_least(known + seen);
}

}  // namespace

SettledCall settle_call(const AgentReport& report, const SessionAccount& before, bool resumed) {
  SettledCall settled{report.seen + before.uncounted, before};
  if (report.reported) {
    const TokenCounts& total = *report.reported;
    const bool is_of_session = resumed && is_total_of_session(total, report.seen, before);
    settled.counts = total + before.uncounted;
    settled.account.agents_total = before.agents_total + total;
    if (is_of_session) {
      settled.counts = total - before.counted;
      // The agent may not have stored what its killed processes used.
      settled.counts.raise_to(report.seen + before.uncounted);
      settled.account.agents_total = total;
    }
    if (!resumed) settled.account.agents_total = total;
  }
  settled.account.counted = resumed ? before.counted + settled.counts : settled.counts;
  settled.account.uncounted = {};
  return settled;
}

SessionAccount account_before(const std::filesystem::path& job_directory, std::uint32_t attempt,
                              const std::string& session) {
  SessionAccount none;
  none.session = session;
  // The id of a job ends in the number of its attempt.
  const std::string own_name = job_directory.filename().string();
  const std::string end = "-" + std::to_string(attempt);
  if (session.empty() || !own_name.ends_with(end)) return none;
  const std::string station = own_name.substr(0, own_name.size() - end.size());
  for (std::uint32_t number = attempt; number-- > 1;) {
    const auto directory = job_directory.parent_path() / (station + "-" + std::to_string(number));
    auto account = read_stored_json<SessionAccount>(account_file(directory));
    if (account && account->session == session) return std::move(*account);
  }
  return none;
}

Stored<void> write_account(const std::filesystem::path& job_directory,
                           const SessionAccount& account) {
  return write_stored_json(account_file(job_directory), account);
}

}  // namespace signalbox
