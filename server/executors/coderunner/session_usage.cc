#include "server/executors/coderunner/session_usage.h"

#include <cmath>

#include "server/platform/stored_json.h"

namespace signalbox {
namespace {

std::filesystem::path account_file(const std::filesystem::path& job_directory) {
  return job_directory / "agent_usage.json";
}

// Returns whether the total is of the session, not of the process alone. An agent whose totals are
// always of the session may count a token as of another kind later, such as a cached one, so only
// the sum can't become less. For any other agent the figures have to say it: the total of a process
// has what it printed, but hardly what the session had used before in each kind of tokens as well.
bool is_total_of_session(const AgentReport& report, const TokenCounts& total,
                         const SessionAccount& before) {
  if (report.is_total_of_session) return total.tokens() >= before.agents_total.tokens();
  const TokenCounts seen = report.seen - report.unreported;
  const bool has_total = before.agents_total.tokens() > 0;
  const TokenCounts known = has_total ? before.agents_total : before.declared + before.undeclared;
  return known.tokens() > 0 && total.has_at_least(known + seen);
}

// Returns the counts in units of one input token: all models of a provider have these ratios of
// their list prices.
double priced_tokens(const TokenCounts& counts) {
  return static_cast<double>(counts.input) + 5.0 * static_cast<double>(counts.output) +
         1.25 * static_cast<double>(counts.cache_write) +
         0.1 * static_cast<double>(counts.cache_read);
}

// Returns the counts with a cost at the rate of `total`.
TokenCounts with_cost(TokenCounts counts, const TokenCounts& total) {
  const double priced = priced_tokens(total);
  if (priced > 0) {
    const double rate = static_cast<double>(total.cost_microusd) / priced;
    counts.cost_microusd = std::llround(rate * priced_tokens(counts));
  }
  return counts;
}

}  // namespace

SettledCall settle_call(const AgentReport& report, const SessionAccount& before, bool resumed) {
  SettledCall settled;
  settled.account.session = before.session;
  if (!report.reported) {
    settled.counts = with_cost(report.seen, before.agents_total);
    settled.account.agents_total = before.agents_total;
    settled.account.declared = before.declared + settled.counts;
    // Some agents print no figures before the end of a turn.
    settled.is_estimate = settled.counts.tokens() > 0 || report.turns > 0;
    return settled;
  }
  const TokenCounts& total = *report.reported;
  const bool is_of_session = resumed && is_total_of_session(report, total, before);
  const TokenCounts since = is_of_session ? total - before.agents_total : total;
  // The agent may not have stored what its killed processes used.
  if (is_of_session && since.has_at_least(report.seen - report.unreported + before.declared)) {
    settled.counts = since - before.declared;
  } else {
    settled.counts = since;
    // If there was no total when it was declared, it was declared without a cost.
    settled.counts.cost_microusd +=
        with_cost(before.declared, total).cost_microusd - before.declared.cost_microusd;
    settled.is_estimate = before.declared.tokens() > 0;
  }
  settled.account.agents_total = is_of_session || !resumed ? total : before.agents_total + total;
  if (report.unreported.tokens() > 0) {  // it went on after a result, and was ended before the next
    const TokenCounts since_total = with_cost(report.unreported, total);
    settled.counts = settled.counts + since_total;
    settled.account.declared = since_total;
    settled.is_estimate = true;
  }
  if (report.is_total_unfinished) settled.is_estimate = true;
  return settled;
}

SettledCall settle_lost_call(const SessionAccount& account) {
  SettledCall settled{with_cost(account.undeclared, account.agents_total), account};
  settled.account.declared = account.declared + settled.counts;
  settled.account.undeclared = {};
  settled.account.undeclared_turns.reset();
  settled.account.used.reset();
  settled.account.used_turns.reset();
  settled.is_estimate = settled.counts.tokens() > 0;
  return settled;
}

Usage usage_of_lost_call(const std::filesystem::path& job_directory) {
  const auto account = read_stored_json<SessionAccount>(account_file(job_directory));
  if (!account) return {};
  if (account->used) return usage_of(*account->used, account->used_turns.value_or(0));
  return usage_of(settle_lost_call(*account).counts, account->undeclared_turns.value_or(0));
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
    const auto account = read_stored_json<SessionAccount>(account_file(directory));
    if (account && account->session == session) return settle_lost_call(*account).account;
  }
  return none;
}

Stored<void> write_account(const std::filesystem::path& job_directory,
                           const SessionAccount& account) {
  return write_stored_json(account_file(job_directory), account);
}

}  // namespace signalbox
