// The policy under which a what-if simulation runs recorded work: changed limits, leases, timeouts,
// retries and board settings. What it leaves out stays as recorded.
//
//   [limits]
//   workers = 4                  # outside workers, each with one attempt at a time
//   jobs_max = 16
//   remote_jobs_max = 64
//   [board]
//   max_concurrent_agents = 4    # and the others of domain/policy.h; heartbeat, synthesizer
//   [[station]]
//   name = "implement"           # of any pipeline; without a name, every station
//   heartbeat_timeout = "30s"    # the lease of a worker's claim
//   timeout = "20m"
//   stall_after = "5m"
//   retry = { max_retries = 1, backoff = "5s", strategies = ["original", "simplified"] }
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/error.h"
#include "domain/pipeline.h"
#include "domain/policy.h"
#include "server/board/board_settings.h"

namespace signalbox {

struct WhatIfStation {
  std::optional<std::string> name;       // nullopt: every station
  std::optional<std::int64_t> lease_ms;  // of a worker's claim
  std::optional<std::int64_t> timeout_ms;
  std::optional<std::int64_t> stall_after_ms;
  std::optional<std::uint32_t> max_retries;
  std::optional<std::int64_t> backoff_ms;
  std::vector<Strategy> strategies;  // empty: as recorded
};

struct WhatIfPolicy {
  std::optional<std::uint32_t> workers;
  std::optional<std::uint32_t> jobs_max;
  std::optional<std::uint32_t> remote_jobs_max;

  std::optional<std::uint32_t> max_concurrent_agents;
  std::optional<std::uint32_t> max_concurrent_agents_per_project;
  std::optional<std::int64_t> blocked_retry_minutes;
  std::optional<std::uint32_t> max_attempts;
  BoardTexts schedules;  // heartbeat and synthesizer

  std::vector<WhatIfStation> stations;  // in order: later ones override earlier ones

  // Return a run's pinned definition, and a project's policy, with the changes applied.
  [[nodiscard]] PipelineDefinition changed(PipelineDefinition pipeline) const;
  [[nodiscard]] Policy changed(Policy policy) const;
  // Returns whether a change of retries overrides the runs' own numbers.
  [[nodiscard]] bool sets_retries() const;
  // Returns the lease in milliseconds for claims of this station; nullopt: as recorded.
  [[nodiscard]] std::optional<std::int64_t> lease_ms(const std::string& station) const;
};

// Parses a policy in TOML. `schedules` are the defaults for heartbeat and synthesizer. Fails with
// INVALID_PARAMS, which names the wrong line, or the path of the wrong field.
Decided<WhatIfPolicy> read_what_if_policy(std::string_view toml, BoardTexts schedules);

}  // namespace signalbox
