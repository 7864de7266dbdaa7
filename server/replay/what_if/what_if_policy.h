// Another policy for work that was recorded: what of limits, leases, timeouts, retries and of the
// board is to be different. What it leaves out stays as it was.
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
  std::optional<std::string> name;
  std::optional<std::int64_t> lease_ms;
  std::optional<std::int64_t> timeout_ms;
  std::optional<std::int64_t> stall_after_ms;
  std::optional<std::uint32_t> max_retries;
  std::optional<std::int64_t> backoff_ms;
  std::vector<Strategy> strategies;
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

  std::vector<WhatIfStation> stations;  // the later ones win

  // What becomes of a definition that was pinned, and of a project's policy.
  [[nodiscard]] PipelineDefinition changed(PipelineDefinition pipeline) const;
  [[nodiscard]] Policy changed(Policy policy) const;
  // Whether a run's own number of retries is overruled.
  [[nodiscard]] bool sets_retries() const;
  // Instead of the lease that a claim of this station was given.
  [[nodiscard]] std::optional<std::int64_t> lease_ms(const std::string& station) const;
};

// INVALID_PARAMS with the line, or the field by its path, that is wrong. `schedules` are those that
// hold where it says nothing.
Decided<WhatIfPolicy> read_what_if_policy(std::string_view toml, BoardTexts schedules);

}  // namespace signalbox
