#include "server/rpc/methods/param_bounds.h"

#include <algorithm>
#include <array>

#include "domain/limits.h"
#include "server/limits.h"
#include "server/rpc/page_limit.h"

namespace signalbox {
namespace {

constexpr std::array param_table = {
    BoundedParam{"run.start", "goal", 1, limits::goal_bytes_max},
    BoundedParam{"run.start", "project", 0, limits::name_bytes_max},
    BoundedParam{"run.start", "labels", 0, limits::labels_max},
    BoundedParam{"run.start", "idempotency_key", 1, limits::name_bytes_max},
    BoundedParam{"run.start", "run_root", 1, limits::path_bytes_max},
    BoundedParam{"run.start", "repository", 1, limits::path_bytes_max},
    BoundedParam{"run.start", "base", 0, limits::name_bytes_max},
    BoundedParam{"run.start", "max_retries", 0, limits::retries_max},
    BoundedParam{"run.list", "limit", 1, run_list_rows_max},
    BoundedParam{"run.cancel", "reason", 0, limits::reason_bytes_max},
    BoundedParam{"run.pause", "reason", 0, limits::reason_bytes_max},
    BoundedParam{"run.resume", "reason", 0, limits::reason_bytes_max},
    BoundedParam{"run.resume", "station", 1, limits::name_bytes_max},
    BoundedParam{"run.retry", "reason", 0, limits::reason_bytes_max},
    BoundedParam{"run.retry", "max_retries", 0, limits::retries_max},
    BoundedParam{"run.diff", "path", 0, limits::path_bytes_max},
    BoundedParam{"run.log", "bytes", 1, run_log_bytes_max},
    BoundedParam{"strategy.list", "project", 0, limits::name_bytes_max},
    BoundedParam{"strategy.list", "station", 0, limits::name_bytes_max},
    BoundedParam{"strategy.list", "limit", 1, strategy_list_rows_max},
    BoundedParam{"station.claim", "worker", 1, limits::name_bytes_max},
    BoundedParam{"station.claim", "lease_ms", limits::lease_ms_min, limits::lease_ms_max},
    BoundedParam{"station.claim", "wait_ms", 0, limits::claim_wait_ms_max},
    BoundedParam{"station.heartbeat", "lease_ms", limits::lease_ms_min, limits::lease_ms_max},
    BoundedParam{"station.heartbeat", "progress_digest", 0, limits::name_bytes_max},
    BoundedParam{"station.set_external_ref", "external_ref", 1, limits::path_bytes_max},
    BoundedParam{"station.complete", "summary", 0, limits::summary_bytes_max},
    BoundedParam{"station.complete", "logs_inline", 0, limits::logs_inline_bytes_max},
    BoundedParam{"station.complete", "external_ref", 0, limits::path_bytes_max},
    BoundedParam{"station.complete", "artifacts", 0, limits::artifacts_max},
    BoundedParam{"station.complete", "error_code", 0, limits::name_bytes_max},
    BoundedParam{"station.complete", "error_message", 0, limits::reason_bytes_max},
    BoundedParam{"station.complete", "lease_ms", limits::lease_ms_min, limits::lease_ms_max},
    BoundedParam{"station.defer", "delay_ms", 0, limits::defer_ms_max},
    BoundedParam{"station.defer", "note", 0, limits::reason_bytes_max},
    BoundedParam{"station.request_approval", "question", 1, limits::reason_bytes_max},
    BoundedParam{"station.settle", "reason", 0, limits::reason_bytes_max},
    BoundedParam{"plan.set_exploration", "summary", 0, limits::summary_bytes_max},
    BoundedParam{"plan.reset", "reason", 0, limits::reason_bytes_max},
    BoundedParam{"plan.list", "limit", 1, plan_list_rows_max},
    BoundedParam{"step.next", "worker", 1, limits::name_bytes_max},
    BoundedParam{"step.next", "lease_ms", limits::lease_ms_min, limits::lease_ms_max},
    BoundedParam{"step.next", "wait_ms", 0, limits::claim_wait_ms_max},
    BoundedParam{"step.heartbeat", "lease_ms", limits::lease_ms_min, limits::lease_ms_max},
    BoundedParam{"step.complete", "summary", 0, limits::summary_bytes_max},
    BoundedParam{"step.fail", "error_code", 1, limits::name_bytes_max},
    BoundedParam{"step.fail", "error_message", 0, limits::reason_bytes_max},
    BoundedParam{"lock.acquire", "key", 1, limits::name_bytes_max},
    BoundedParam{"lock.acquire", "owner", 1, limits::name_bytes_max},
    BoundedParam{"lock.acquire", "lease_ms", limits::lease_ms_min, limits::lease_ms_max},
    BoundedParam{"lock.acquire", "reason", 0, limits::reason_bytes_max},
    BoundedParam{"lock.acquire", "run_root", 1, limits::path_bytes_max},
    BoundedParam{"lock.acquire", "wait_ms", 0, limits::lock_wait_ms_max},
    BoundedParam{"lock.refresh", "key", 1, limits::name_bytes_max},
    BoundedParam{"lock.refresh", "lease_ms", limits::lease_ms_min, limits::lease_ms_max},
    BoundedParam{"lock.release", "key", 1, limits::name_bytes_max},
    BoundedParam{"lock.list", "limit", 1, lock_list_rows_max},
    BoundedParam{"tick.begin", "loop", 1, limits::name_bytes_max},
    BoundedParam{"tick.begin", "stage", 1, limits::name_bytes_max},
    BoundedParam{"tick.begin", "reason", 0, limits::reason_bytes_max},
    BoundedParam{"tick.begin", "lease_ms", limits::lease_ms_min, limits::lease_ms_max},
    BoundedParam{"tick.begin", "run_root", 1, limits::path_bytes_max},
    BoundedParam{"tick.end", "loop", 1, limits::name_bytes_max},
    BoundedParam{"tick.end", "error", 0, limits::reason_bytes_max},
    BoundedParam{"tick.recover", "loop", 1, limits::name_bytes_max},
    BoundedParam{"tick.recover", "reason", 1, limits::reason_bytes_max},
    BoundedParam{"tick.list", "limit", 1, tick_list_rows_max},
    BoundedParam{"loop.trigger", "reason", 0, limits::reason_bytes_max},
    BoundedParam{"project.put", "name", 1, limits::name_bytes_max},
    BoundedParam{"project.put", "repository", 1, limits::path_bytes_max},
    BoundedParam{"project.put", "base", 1, limits::name_bytes_max},
    BoundedParam{"project.put", "remote", 0, limits::path_bytes_max},
    BoundedParam{"project.list", "limit", 1, project_list_rows_max},
    BoundedParam{"card.submit", "title", 1, limits::card_title_bytes_max},
    BoundedParam{"card.submit", "brief", 0, limits::card_brief_bytes_max},
    BoundedParam{"card.submit", "key", 0, limits::name_bytes_max},
    BoundedParam{"card.submit", "priority", -limits::card_priority_max, limits::card_priority_max},
    BoundedParam{"card.list", "project", 0, limits::name_bytes_max},
    BoundedParam{"card.list", "limit", 1, card_list_rows_max},
    BoundedParam{"card.block", "reason", 1, limits::reason_bytes_max},
    BoundedParam{"card.unblock", "reason", 0, limits::reason_bytes_max},
    BoundedParam{"card.set_priority", "priority", -limits::card_priority_max,
                 limits::card_priority_max},
    BoundedParam{"card.set_priority", "reason", 0, limits::reason_bytes_max},
    BoundedParam{"board.get", "limit", 1, board_get_cards_max},
    BoundedParam{"attention.list", "limit", 1, attention_list_rows_max},
    BoundedParam{"report.get", "spans", 1, report_spans_max},
    BoundedParam{"what_if.run", "policy", 0, limits::what_if_policy_bytes_max},
    BoundedParam{"what_if.run", "from", 0, limits::name_bytes_max},
    BoundedParam{"what_if.run", "to", 0, limits::name_bytes_max},
    BoundedParam{"events.read", "limit", 1, events_read_rows_max},
    BoundedParam{"events.histogram", "buckets", 1, histogram_buckets_max},
    BoundedParam{"log.marks", "limit", 1, log_marks_rows_max},
    BoundedParam{"state.get", "stream", 1, sizeof "project/" - 1 + limits::name_bytes_max},
    BoundedParam{"state.diff", "stream", 1, sizeof "project/" - 1 + limits::name_bytes_max},
    BoundedParam{"timeline.get", "max_rows", 1, timeline_rows_max},
    BoundedParam{"server.pause", "reason", 0, limits::reason_bytes_max},
    BoundedParam{"server.resume", "reason", 0, limits::reason_bytes_max},
    BoundedParam{"server.in_flight", "limit", 1, in_flight_rows_max},
    BoundedParam{"access.issue", "name", 1, limits::name_bytes_max},
    BoundedParam{"access.issue", "expires_in_ms", limits::access_token_life_ms_min,
                 limits::access_token_life_ms_max},
    BoundedParam{"access.revoke", "reason", 1, limits::reason_bytes_max},
    BoundedParam{"audit.records", "limit", 1, events_read_rows_max},
    BoundedParam{"audit.adopt_key", "verifier_key", 1, limits::verifier_key_bytes_max},
    BoundedParam{"log.redact", "reason", 1, limits::reason_bytes_max},
};

}  // namespace

std::span<const BoundedParam> bounded_params() { return param_table; }

const BoundedParam* find_bounds(std::string_view method, std::string_view param) {
  const auto found = std::ranges::find_if(param_table, [&](const BoundedParam& each) {
    return each.method == method && each.param == param;
  });
  return found == param_table.end() ? nullptr : &*found;
}

}  // namespace signalbox
