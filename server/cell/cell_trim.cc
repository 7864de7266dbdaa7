#include "server/cell/cell_trim.h"

#include "server/limits.h"

namespace signalbox {

TrimDecision decide_trim(const TrimFacts& facts) {
  TrimDecision decision{facts.old, {}, {}};
  bool is_own_listed = false;
  std::size_t present = 0;
  for (const ReplicaReport& each : facts.servers) {
    const bool is_present = each.silent_ms <= limits::cell_upgrade_report_ms_max;
    // Whoever ends before the log begins is refused, and told what to copy. One that is there may
    // not know yet where it is.
    const bool is_refused = each.applied < facts.begin && !is_present;
    if (is_refused || each.silent_ms > facts.absent_ms) continue;
    if (each.applied < decision.through) decision = {each.applied, each.server.name, {}};
    is_own_listed = is_own_listed || each.server.name == facts.own;
    if (is_present) ++present;
  }
  if (!is_own_listed) return {};
  if (present < 2 && facts.archived < decision.through) {
    decision = {facts.archived, facts.own,
                "no other server of the cell has reported within a minute, and no archive has it"};
  }
  if (decision.through <= facts.begin) decision.through = 0;
  return decision;
}

void TailSamples::note(std::int64_t at_ns, Position tail) {
  if (!samples_.empty() && at_ns - samples_.back().at_ns < keep_ns_ / parts) return;
  samples_.push_back({at_ns, tail});
  while (samples_.size() > 1 && samples_[1].at_ns <= at_ns - keep_ns_) samples_.pop_front();
}

Position TailSamples::old_at(std::int64_t now_ns) const {
  Position old = 0;
  for (const Sample& each : samples_) {
    if (each.at_ns <= now_ns - keep_ns_) old = each.tail;
  }
  return old;
}

}  // namespace signalbox
