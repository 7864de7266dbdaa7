// The agent-independent report of an agent's work, filled from its output.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/limits.h"
#include "domain/station_events.h"

namespace signalbox {

// Tokens by the kinds that are billed differently, and their cost.
struct TokenCounts {
  std::int64_t input = 0;  // without the cached ones
  std::int64_t output = 0;
  std::int64_t cache_write = 0;
  std::int64_t cache_read = 0;
  std::int64_t cost_microusd = 0;

  [[nodiscard]] std::int64_t tokens() const { return input + output + cache_write + cache_read; }
  // Returns whether each count of tokens is at least the other's.
  [[nodiscard]] bool has_at_least(const TokenCounts& other) const {
    return input >= other.input && output >= other.output && cache_write >= other.cache_write &&
           cache_read >= other.cache_read;
  }
  // Raises each count of tokens that is lower than the other's to the other's.
  void raise_to(const TokenCounts& other) {
    input = std::max(input, other.input);
    output = std::max(output, other.output);
    cache_write = std::max(cache_write, other.cache_write);
    cache_read = std::max(cache_read, other.cache_read);
  }
  friend TokenCounts operator+(const TokenCounts& a, const TokenCounts& b) {
    return {a.input + b.input, a.output + b.output, a.cache_write + b.cache_write,
            a.cache_read + b.cache_read, a.cost_microusd + b.cost_microusd};
  }
  friend TokenCounts operator-(const TokenCounts& a, const TokenCounts& b) {
    return {a.input - b.input, a.output - b.output, a.cache_write - b.cache_write,
            a.cache_read - b.cache_read, a.cost_microusd - b.cost_microusd};
  }
  friend bool operator==(const TokenCounts&, const TokenCounts&) = default;
};
BOOST_DESCRIBE_STRUCT(TokenCounts, (), (input, output, cache_write, cache_read, cost_microusd))

// Returns the usage with these counts, within the bounds of the log.
inline Usage usage_of(const TokenCounts& counts, std::int64_t turns) {
  const auto bounded = [](std::int64_t figure) {
    return std::clamp<std::int64_t>(figure, 0, limits::usage_max);
  };
  return {bounded(counts.cost_microusd), bounded(counts.tokens()), bounded(turns)};
}

struct AgentReport {
  std::string session;  // the agent's session id; empty if it reported none
  std::string model;
  std::string last_text;  // text of the agent's latest message
  // True once the final event was read; without it there is no result, whatever came before. False
  // again if the agent goes on after it.
  bool has_result = false;
  bool has_open_tasks = false;  // it has tasks in the background, and will go on once they end
  bool is_error = false;
  std::string subtype;                    // the agent's own name for the kind of end
  std::string final_text;                 // text of the result
  std::string error_text;                 // the agent's error message; also set without a result
  std::string error_kind;                 // the agent's name for the error, if reported as data
  int api_status = 0;                     // HTTP status of the model's service; 0: none reported
  std::int64_t turns = 0;                 // turns of this process
  TokenCounts seen;                       // what it printed of this process's messages
  std::optional<TokenCounts> reported;    // its own latest total, of this process or its session
  TokenCounts unreported;                 // what it printed after that
  bool is_total_of_session = false;       // the agent's totals are always those of the session
  bool is_total_unfinished = false;       // `reported` lacks a request that was under way
  bool has_uncounted_threads = false;     // subagents whose usage it doesn't report
  bool is_without_work = false;           // its result says that it made no turn, with no token
  std::vector<std::string> denied_tools;  // tool names, one per denial
  std::optional<std::int64_t> quota_reset_at_ns;  // end of the usage limit, if reported as data
  bool quota_refused = false;                     // a usage limit was reported as data
  std::uint64_t events = 0;                       // JSON events read
  std::uint64_t invalid_lines = 0;                // lines that aren't JSON

  // Returns what it reports of itself; for a resumed session this may be the session's total.
  [[nodiscard]] Usage usage() const { return usage_of(reported.value_or(seen), turns); }
  // Returns whether the agent began to work.
  [[nodiscard]] bool began() const { return !session.empty() || turns > 0; }
};

}  // namespace signalbox
