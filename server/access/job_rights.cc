#include "server/access/job_rights.h"

#include <algorithm>
#include <array>
#include <optional>

#include <boost/describe/enum_to_string.hpp>

#include "domain/try.h"
#include "domain/world.h"

namespace signalbox {
namespace {

enum class Reach {
  own_run,       // `run_id` is that of the job's own run
  own_or_no_run  // `run_id` is missing, or that of the job's own run
};

struct JobRight {
  std::string_view method;
  Reach reach;
  std::optional<JobAllowance> needs = {};  // of the job's station
};

// Each token is compared with the sender by the command itself (domain/sender.h).
constexpr std::array job_rights = {
    JobRight{"station.heartbeat", Reach::own_run},
    JobRight{"station.set_external_ref", Reach::own_run},
    JobRight{"station.complete", Reach::own_run},
    JobRight{"station.defer", Reach::own_run},
    JobRight{"station.request_approval", Reach::own_run},
    JobRight{"plan.set_exploration", Reach::own_run},
    JobRight{"plan.set", Reach::own_run},
    JobRight{"plan.get", Reach::own_run},
    JobRight{"step.next", Reach::own_run},
    JobRight{"step.heartbeat", Reach::own_run},
    JobRight{"step.complete", Reach::own_run},
    JobRight{"step.fail", Reach::own_run},
    JobRight{"run.get", Reach::own_run},
    JobRight{"run.why", Reach::own_run},
    JobRight{"run.trace", Reach::own_run},
    JobRight{"run.artifact", Reach::own_run},
    // The hook that guards a push asks about the run of the worktree that it stands in.
    JobRight{"run.fence", Reach::own_run},
    JobRight{"events.read", Reach::own_run},
    JobRight{"events.subscribe", Reach::own_run},
    JobRight{"lock.acquire", Reach::own_or_no_run, JobAllowance::locks},
    JobRight{"lock.refresh", Reach::own_or_no_run, JobAllowance::locks},
    JobRight{"lock.release", Reach::own_or_no_run, JobAllowance::locks},
    JobRight{"lock.get", Reach::own_or_no_run},
    JobRight{"lock.list", Reach::own_or_no_run},
    JobRight{"tick.begin", Reach::own_or_no_run, JobAllowance::ticks},
    JobRight{"tick.end", Reach::own_or_no_run, JobAllowance::ticks},
    JobRight{"tick.list", Reach::own_or_no_run},
    JobRight{"server.status", Reach::own_or_no_run},
    JobRight{"server.limits", Reach::own_or_no_run},
};

const JobRight* find_right(std::string_view method) {
  for (const JobRight& right : job_rights) {
    if (right.method == method) return &right;
  }
  return nullptr;
}

tl::unexpected<Rejection> refused(const JobOfAttempt& job, std::string_view method,
                                  const std::string& message) {
  return reject(ErrorCode::FORBIDDEN, message,
                {{"actor", job.actor},
                 {"method", std::string(method)},
                 {"role", std::string(name_of(Role::job))},
                 {"run_id", to_string(job.run_id)}},
                {"signalbox run get " + to_string(job.run_id)});
}

// FORBIDDEN unless the job's station allows what `right` needs. Names the key that would.
Decided<void> check_allowance(const JobOfAttempt& job, const JobRight& right) {
  if (!right.needs) return {};
  if (std::find(job.allowed.begin(), job.allowed.end(), *right.needs) != job.allowed.end()) {
    return {};
  }
  const std::string needed = boost::describe::enum_to_string(*right.needs, "?");
  return reject(ErrorCode::FORBIDDEN,
                job.actor + " is a job whose station allows it no " + needed +
                    "; in the pipeline, station " + job.station + " needs allow = [\"" + needed +
                    "\"]",
                {{"actor", job.actor},
                 {"method", std::string(right.method)},
                 {"role", std::string(name_of(Role::job))},
                 {"run_id", to_string(job.run_id)},
                 {"station", job.station},
                 {"key", std::string("allow")},
                 {"value", needed}},
                {"signalbox run get " + to_string(job.run_id)});
}

}  // namespace

Decided<void> check_job(const JobOfAttempt& job, std::string_view method,
                        const boost::json::object& params) {
  const JobRight* const right = find_right(method);
  if (right == nullptr) {
    return refused(job, method,
                   job.actor + " is a job; " + std::string(method) +
                       " is for people and for programs with an access token");
  }
  TRY(check_allowance(job, *right));
  const boost::json::value* const asked = params.if_contains("run_id");
  if (asked == nullptr && right->reach == Reach::own_or_no_run) return {};
  if (asked != nullptr && asked->is_string() && asked->get_string() == to_string(job.run_id)) {
    return {};
  }
  return refused(job, method, job.actor + " is a job, which has to do with its own run only");
}

bool only_decides(std::string_view method, const boost::json::object& params) {
  if (method != method_of_decisions || params.contains("budget")) return false;
  const boost::json::value* const decision = params.if_contains("decision");
  return decision != nullptr && decision->is_string();  // null is none
}

Decided<void> check_going_on(const World& world, const Principal& principal,
                             const boost::json::object& params) {
  const boost::json::value* const given = params.if_contains("run_id");
  const bool is_text = given != nullptr && given->is_string();
  const auto run_id = is_text ? parse_uuid(std::string(given->get_string())) : std::nullopt;
  const Run* const run = run_id ? world.find_run(*run_id) : nullptr;
  if (run == nullptr || run->status != RunStatus::paused) return {};
  return reject(ErrorCode::FORBIDDEN,
                principal.actor +
                    " is approver; the run is paused, and a decision would resume it, which needs "
                    "operator",
                {{"actor", principal.actor},
                 {"method", std::string(method_of_decisions)},
                 {"role", std::string(name_of(principal.role))},
                 {"needs", std::string(name_of(Role::operator_))}},
                {"signalbox run get " + to_string(*run_id)});
}

Decided<void> check_approval(const Principal& principal, std::string_view method,
                             const boost::json::object& params) {
  // A caller that could issue itself a token would decide with that one.
  const bool decides = method == method_of_decisions && params.contains("decision");
  if ((!decides && method != "access.issue") || principal.may_approve()) return {};
  const std::string actor = principal.job ? principal.job->actor : principal.actor;
  return reject(ErrorCode::FORBIDDEN,
                actor + (principal.job ? " is a job" : " can't be told from a job") +
                    "; an approval is decided by somebody who isn't",
                {{"actor", actor},
                 {"method", std::string(method)},
                 {"role", std::string(name_of(principal.role))}},
                {"signalbox run list"});
}

}  // namespace signalbox
