#include "server/rpc/attempt_surroundings.h"

#include "domain/nanoseconds.h"
#include "server/limits.h"
#include "server/platform/clock.h"
#include "server/rpc/api.h"
#include "server/scheduler/job_ownership.h"
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

}  // namespace signalbox
