// The part of the board's audit about policies: which are adopted, and that ticks read them.
#include <utility>

#include "domain/service_loops.h"
#include "tests/simulation/board_audit.h"

namespace signalbox::simulation {

// H3: a policy is adopted as its author meant it.
void BoardAudit::read_policy(const Record& record, AuditedProject& project) {
  if (const auto* adopted = event_as<PolicyAdopted>(record.event)) {
    if (!repositories_.was_read_lately(project.repository, adopted->digest)) {
      wrong(record, "that isn't what lies in the repository");
    }
    const PolicyDraft* draft = repositories_.find_draft(adopted->digest);
    if (draft == nullptr && !adopted->digest.is_zero()) wrong(record, "nobody wrote that");
    if (draft != nullptr && draft->bad_line != 0) wrong(record, "it can't be understood");
    // Without a file nothing is started that the file before didn't allow.
    const bool is_gone = adopted->digest.is_zero() && project.file_seen;
    if (is_gone && (adopted->policy.process_backlog || adopted->policy.retry_blocked ||
                    adopted->policy.merge_verified)) {
      wrong(record, "its file is gone");
    }
    if (!is_gone && adopted->policy != (draft == nullptr ? Policy{} : draft->policy)) {
      wrong(record, "its owner meant something else");
    }
    policies_changed_ = policies_changed_ || project.digest != adopted->digest;
    project.policy = adopted->policy;
    project.digest = adopted->digest;
    project.refused = {};
    project.file_seen = project.file_seen || !adopted->digest.is_zero();
  } else if (const auto* refused = event_as<PolicyRefused>(record.event)) {
    if (!repositories_.was_read_lately(project.repository, refused->digest)) {
      wrong(record, "that isn't what lies in the repository");
    }
    const PolicyDraft* draft = repositories_.find_draft(refused->digest);
    if (refused->line != (draft == nullptr ? 0 : draft->bad_line)) {
      wrong(record, "another line of it is wrong, or none");
    }
    if (std::exchange(project.refused, refused->digest) == refused->digest) {
      wrong(record, "that was said before");
    }
    // A8: a file that was seen and never understood closes the project; a failed read shows none.
    project.file_seen = project.file_seen || draft != nullptr;
    if (draft != nullptr && project.digest.is_zero()) {
      Policy& policy = project.policy;
      policy.process_backlog = policy.retry_blocked = policy.merge_verified = false;
    }
  }
}

void BoardAudit::read_tick(const Record& record) {
  const std::string& loop = record.stream.name;
  const auto* started = event_as<TickStarted>(record.event);
  if (started == nullptr) {
    if (event_as<TickSkipped>(record.event) == nullptr &&
        event_as<TickMissed>(record.event) == nullptr) {
      beating_.erase(loop);
    }
    return;
  }
  beating_.insert(loop);
  if (loop != heartbeat_loop_name) return;
  for (const auto& [name, project] : projects_) {
    const Digest& in_force = project.refused.is_zero() ? project.digest : project.refused;
    if (!repositories_.was_read_lately(project.repository, in_force)) {
      wrong(record, "the policy of " + name + " wasn't read before it");
    }
  }
  const bool is_same = started->policy_digest == policies_of_tick_;
  if (is_same && policies_changed_ && !projects_.empty()) {
    wrong(record, "the policies have changed, and its digest hasn't");
  }
  if (!is_same && !policies_changed_) wrong(record, "its digest is of other policies");
  policies_of_tick_ = started->policy_digest;
  policies_changed_ = false;
}

}  // namespace signalbox::simulation
