#include "server/replay/what_if/what_if_policy.h"

#include <utility>

#include <boost/describe/class.hpp>

#include "domain/limits.h"
#include "domain/refusals.h"
#include "domain/retry_policy.h"
#include "domain/try.h"
#include "server/rpc/pipeline_json.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

constexpr std::int64_t count_max = 100'000;

// The TOML tables as written, before their values are checked.
struct LimitsTable {
  std::optional<std::uint32_t> workers;
  std::optional<std::uint32_t> jobs_max;
  std::optional<std::uint32_t> remote_jobs_max;
};
BOOST_DESCRIBE_STRUCT(LimitsTable, (), (workers, jobs_max, remote_jobs_max))

struct BoardTable {
  std::optional<std::uint32_t> max_concurrent_agents;
  std::optional<std::uint32_t> max_concurrent_agents_per_project;
  std::optional<std::int64_t> blocked_retry_minutes;
  std::optional<std::uint32_t> max_attempts;
  std::optional<std::string> heartbeat;
  std::optional<std::string> synthesizer;
};
BOOST_DESCRIBE_STRUCT(BoardTable, (),
                      (max_concurrent_agents, max_concurrent_agents_per_project,
                       blocked_retry_minutes, max_attempts, heartbeat, synthesizer))

struct RetryChange {
  std::optional<std::uint32_t> max_retries;
  std::optional<std::string> backoff;
  std::vector<Strategy> strategies;
};
BOOST_DESCRIBE_STRUCT(RetryChange, (), (max_retries, backoff, strategies))

struct StationChange {
  std::optional<std::string> name;
  std::optional<std::string> heartbeat_timeout;
  std::optional<std::string> timeout;
  std::optional<std::string> stall_after;
  std::optional<RetryChange> retry;
};
BOOST_DESCRIBE_STRUCT(StationChange, (), (name, heartbeat_timeout, timeout, stall_after, retry))

struct WhatIfTable {
  std::optional<LimitsTable> limits;
  std::optional<BoardTable> board;
  std::vector<StationChange> station;
};
BOOST_DESCRIBE_STRUCT(WhatIfTable, (), (limits, board, station))

Decided<std::optional<std::int64_t>> duration_in(const std::optional<std::string>& text,
                                                 const std::string& field, std::int64_t ms_min,
                                                 std::int64_t ms_max) {
  if (!text) return std::nullopt;
  const auto ms = parse_duration_ms(*text);
  if (ms && *ms >= ms_min && *ms <= ms_max) return ms;
  return reject(ErrorCode::INVALID_PARAMS,
                field + " must be a duration from " + format_duration_ms(ms_min) + " to " +
                    format_duration_ms(ms_max) + "; not " + *text,
                {{"field", field}, {"value", *text}});
}

Decided<void> require_count(const char* field, std::optional<std::uint32_t> value) {
  return require_between(field, value.value_or(1), 1, count_max);
}

Decided<void> read_limits(const LimitsTable& table, WhatIfPolicy& policy) {
  TRY(require_count("limits.workers", table.workers));
  TRY(require_count("limits.jobs_max", table.jobs_max));
  TRY(require_count("limits.remote_jobs_max", table.remote_jobs_max));
  policy.workers = table.workers;
  policy.jobs_max = table.jobs_max;
  policy.remote_jobs_max = table.remote_jobs_max;
  return {};
}

Decided<void> read_board(const BoardTable& table, WhatIfPolicy& policy) {
  TRY(require_count("board.max_concurrent_agents", table.max_concurrent_agents));
  TRY(require_count("board.max_concurrent_agents_per_project",
                    table.max_concurrent_agents_per_project));
  TRY(require_count("board.max_attempts", table.max_attempts));
  TRY(require_between("board.blocked_retry_minutes", table.blocked_retry_minutes.value_or(1), 1,
                      366LL * 24 * 60));
  policy.max_concurrent_agents = table.max_concurrent_agents;
  policy.max_concurrent_agents_per_project = table.max_concurrent_agents_per_project;
  policy.max_attempts = table.max_attempts;
  policy.blocked_retry_minutes = table.blocked_retry_minutes;
  policy.schedules.heartbeat = table.heartbeat.value_or(policy.schedules.heartbeat);
  policy.schedules.synthesizer = table.synthesizer.value_or(policy.schedules.synthesizer);
  if (const auto read = read_board_settings(policy.schedules); !read) {
    return reject(ErrorCode::INVALID_PARAMS, read.error(), {{"field", std::string("board")}});
  }
  return {};
}

Decided<WhatIfStation> station_of(const StationChange& change, std::size_t number) {
  const std::string path = "station[" + std::to_string(number) + "].";
  WhatIfStation station;
  station.name = change.name;
  const auto read_duration = [&path](const std::optional<std::string>& text, const char* field,
                                     std::int64_t ms_min, std::int64_t ms_max,
                                     std::optional<std::int64_t>& out) -> Decided<void> {
    const auto ms = TRY(duration_in(text, path + field, ms_min, ms_max));
    out = ms;
    return {};
  };
  TRY(read_duration(change.heartbeat_timeout, "heartbeat_timeout", limits::lease_ms_min,
                    limits::lease_ms_max, station.lease_ms));
  TRY(read_duration(change.timeout, "timeout", 1, limits::timeout_ms_max, station.timeout_ms));
  TRY(read_duration(change.stall_after, "stall_after", 0, limits::timeout_ms_max,
                    station.stall_after_ms));
  if (!change.retry) return station;
  TRY(read_duration(change.retry->backoff, "retry.backoff", 0, limits::backoff_ms_max,
                    station.backoff_ms));
  TRY(require_between((path + "retry.max_retries").c_str(), change.retry->max_retries.value_or(0),
                      0, limits::retries_max));
  station.max_retries = change.retry->max_retries;
  station.strategies = change.retry->strategies;
  return station;
}

void change_retries(const WhatIfStation& change, RetryPolicy& retry) {
  if (!change.strategies.empty()) retry.strategies = change.strategies;
  if (change.max_retries) name_max_retries(retry, *change.max_retries);
}

}  // namespace

PipelineDefinition WhatIfPolicy::changed(PipelineDefinition pipeline) const {
  for (StationDefinition& station : pipeline.stations) {
    for (const WhatIfStation& change : stations) {
      if (change.name && *change.name != station.name) continue;
      station.heartbeat_timeout_ms = change.lease_ms.value_or(station.heartbeat_timeout_ms);
      station.timeout_ms = change.timeout_ms.value_or(station.timeout_ms);
      station.stall_after_ms = change.stall_after_ms.value_or(station.stall_after_ms);
      station.retry.backoff_ms = change.backoff_ms.value_or(station.retry.backoff_ms);
      change_retries(change, station.retry);
    }
  }
  return pipeline;
}

Policy WhatIfPolicy::changed(Policy policy) const {
  policy.max_concurrent_agents = max_concurrent_agents.value_or(policy.max_concurrent_agents);
  policy.max_concurrent_agents_per_project =
      max_concurrent_agents_per_project.value_or(policy.max_concurrent_agents_per_project);
  policy.blocked_retry_minutes = blocked_retry_minutes.value_or(policy.blocked_retry_minutes);
  policy.max_attempts = max_attempts.value_or(policy.max_attempts);
  return policy;
}

bool WhatIfPolicy::sets_retries() const {
  return std::any_of(stations.begin(), stations.end(),
                     [](const WhatIfStation& station) { return station.max_retries.has_value(); });
}

std::optional<std::int64_t> WhatIfPolicy::lease_ms(const std::string& station) const {
  std::optional<std::int64_t> lease_ms;
  for (const WhatIfStation& change : stations) {
    if (!change.name || *change.name == station)
      lease_ms = change.lease_ms ? change.lease_ms : lease_ms;
  }
  return lease_ms;
}

Decided<WhatIfPolicy> read_what_if_policy(std::string_view toml, BoardTexts schedules) {
  const auto value = json_from_toml(toml);
  if (!value) {
    Rejection rejection = value.error();
    rejection.code = ErrorCode::INVALID_PARAMS;
    return tl::unexpected(std::move(rejection));
  }
  const auto table = TRY(from_json<WhatIfTable>(*value, ""));
  WhatIfPolicy policy;
  policy.schedules = std::move(schedules);
  if (table.limits) {
    TRY(read_limits(*table.limits, policy));
  }
  if (table.board) {
    TRY(read_board(*table.board, policy));
  }
  for (std::size_t number = 0; number < table.station.size(); ++number) {
    auto station = TRY(station_of(table.station[number], number));
    policy.stations.push_back(std::move(station));
  }
  return policy;
}

}  // namespace signalbox
