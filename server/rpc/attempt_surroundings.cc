#include "server/rpc/attempt_surroundings.h"

#include "domain/nanoseconds.h"
#include "domain/pipeline.h"
#include "server/executors/executor.h"
#include "server/limits.h"
#include "server/platform/clock.h"
#include "server/rpc/api.h"
#include "server/scheduler/job_ownership.h"
#include "server/scheduler/job_troubles.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

std::string trouble_of(const Api& api, const std::string& job_id) {
  if (!api.job_trouble || job_id.empty()) return {};
  const auto trouble = api.job_trouble(job_id);
  const std::int64_t oldest_ns = api.clock.wall_ns() - limits::job_trouble_shown_ms_max * ns_per_ms;
  if (!trouble || trouble->at_ns < oldest_ns) return {};
  return "at " + format_time(trouble->at_ns) + " its executor was answered: " + trouble->text;
}

}  // namespace

AttemptSurroundings attempt_surroundings(const Api& api, const Run& run) {
  return {api.ownership && api.ownership->is_elsewhere(run), trouble_of(api, run.attempt->job_id)};
}

std::string lasting_job_trouble(const Api& api, const Run& run) {
  if (!api.job_trouble) return {};
  const auto trouble = api.job_trouble(run.attempt->job_id);
  // What an endpoint answers is no matter of this machine, unlike a disk that can't be read.
  if (trouble && is_remote(run.definition()) && !trouble->text.starts_with(job_storage_code)) {
    return {};
  }
  const auto ago_ms = [](std::int64_t from_ns, std::int64_t to_ns) {
    return (to_ns - from_ns) / ns_per_ms;
  };
  if (!trouble || ago_ms(trouble->at_ns, api.clock.wall_ns()) > JobTroubles::repeated_ms_max ||
      ago_ms(trouble->since_ns, trouble->at_ns) < job_trouble_waits_ms_min) {
    return {};
  }
  return trouble->text;
}

AttentionBounds attention_bounds(const Api& api) {
  AttentionBounds bounds;
  bounds.failed_since_ns = api.clock.wall_ns() - limits::attention_failed_run_ms_max * ns_per_ms;
  bounds.failed_runs_max = limits::attention_failed_runs_max;
  bounds.failures_examined_max = limits::attention_failures_examined_max;
  if (api.ownership) {
    bounds.is_elsewhere = [&api](const Run& run) { return api.ownership->is_elsewhere(run); };
  }
  bounds.job_trouble = [&api](const Run& run) { return lasting_job_trouble(api, run); };
  return bounds;
}

}  // namespace signalbox
