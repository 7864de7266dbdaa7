#include "server/rpc/untold_usage.h"

#include <utility>

#include "server/engine/engine.h"
#include "server/rpc/late_usage.h"

namespace signalbox {

void UntoldUsage::try_again() {
  for (Untold& untold : std::exchange(waiting_, {})) record(std::move(untold));
}

void UntoldUsage::give_up() {
  has_ended_ = true;
  for (const Untold& untold : std::exchange(waiting_, {})) given_up_(untold.job, untold.why);
}

void UntoldUsage::record(Untold untold) {
  const LateUsage late{untold.job.run_id, AttemptOfJob{untold.job.id, untold.job.machine},
                       untold.usage};
  record_late_usage(api_, late,
                    [this, untold = std::move(untold)](const Decided<LateUsageOutcome>& outcome) {
                      if (!outcome) return keep(untold, outcome.error().message);
                      if (*outcome == LateUsageOutcome::unknown) {
                        return given_up_(untold.job, "its records were dropped");
                      }
                      // Not only of what this call recorded: what is known by now may be rolled
                      // back, too.
                      api_.engine.release_when_durable([this, untold](Durability durability) {
                        if (durability == Durability::storage_full) {
                          keep(untold, api_.engine.storage_full_refusal().message);
                        }
                      });
                    });
}

void UntoldUsage::keep(Untold untold, const std::string& why) {
  untold.why = why;
  ++untold.tries;
  const bool may_wait = !has_ended_ && untold.tries < limits::untold_usage_tries_max &&
                        waiting_.size() < limits::untold_usage_jobs_max;
  if (!may_wait) return given_up_(untold.job, why);
  waiting_.push_back(std::move(untold));
}

}  // namespace signalbox
