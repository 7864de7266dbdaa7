#include "tests/simulation/turn_audit.h"

#include <algorithm>

#include <boost/describe/enum_to_string.hpp>

#include "domain/nanoseconds.h"
#include "domain/pipeline.h"
#include "domain/station_turn.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

bool is_reached(std::int64_t bound, std::int64_t figure) { return bound > 0 && figure >= bound; }

bool is_used_up(const Budget& budget, const Usage& used) {
  return is_reached(budget.cost_microusd, used.cost_microusd) ||
         is_reached(budget.tokens, used.tokens) || is_reached(budget.turns, used.turns);
}

std::string param_text(const json::object& params, const char* name) {
  const json::value* value = params.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

std::optional<Usage> usage_in(const json::object& params) {
  const json::value* value = params.if_contains("usage");
  if (value == nullptr) return std::nullopt;
  const auto usage = from_json<Usage>(*value);
  return usage ? std::optional(*usage) : std::nullopt;
}

bool is_quota_failure(const Event& event) {
  const auto* again = event_as<StationAttemptFailed>(event);
  const auto* failed = event_as<StationFailed>(event);
  return (again != nullptr && again->failure.error_class == ErrorClass::quota) ||
         (failed != nullptr && failed->failure.error_class == ErrorClass::quota);
}

}  // namespace

void TurnAudit::claim(const Record& record, AuditedRun& run) {
  if (run.waiting) wrong(record, "its station waits");
  if (run.station().executor == ExecutorKind::approval) wrong(record, "it is for a person");
  if (is_used_up(run.budget, run.used)) wrong(record, "the run's budget is used up");
}

void TurnAudit::end(const Record& record, AuditedRun& run) {
  const SentCommand* sent = book_.find(record.command_id);
  // Whoever settles an attempt knows how its job ended, and no more.
  const bool is_settled = sent != nullptr && sent->method == "station.settle";
  if (event_as<StationSucceeded>(record.event) != nullptr && !run.job_id.empty() && !is_settled) {
    job_usages_.try_emplace(run.job_id);
  }
  if (!run.job_id.empty() && is_quota_failure(record.event)) blamed_jobs_.insert(run.job_id);
  if (sent == nullptr || sent->method != "station.complete") return;
  const auto usage = usage_in(sent->params);
  if (usage && *usage != Usage{} && run.usage_of != run.holder) {
    wrong(record, "what the attempt used up isn't in the register");
  }
  check_limit_met(record, *sent, run);
}

// A usage limit with a known end is nobody's failure: the attempt is deferred, for a pause at
// least.
void TurnAudit::check_limit_met(const Record& record, const SentCommand& sent,
                                const AuditedRun& run) {
  const std::optional<std::int64_t> reset_ns =
      parse_time(param_text(sent.params, "quota_reset_at"));
  if (!reset_ns) return;
  const auto* deferred = event_as<StationDeferred>(record.event);
  if (deferred == nullptr || deferred->reason != WaitReason::quota) {
    return wrong(record, "the attempt met a usage limit");
  }
  const std::int64_t pause_ms =
      std::max<std::int64_t>(backoff_ms(run.station().retry, run.failures + 1), 5'000);
  const std::int64_t until_ns = std::max(*reset_ns, record.recorded_at_ns + pause_ms * ns_per_ms);
  if (deferred->until_ns != until_ns) wrong(record, "the usage limit isn't over then");
}

bool TurnAudit::read(const Record& record, AuditedRun& run) {
  if (const auto* reported = event_as<StationUsageReported>(record.event)) {
    read_usage(record, run, *reported);
  } else if (const auto* held = event_as<StationHeld>(record.event)) {
    read_hold(record, run, *held);
  } else if (const auto* ready = event_as<StationReady>(record.event)) {
    read_ready(record, run, *ready);
  } else if (const auto* approved = event_as<StationApproved>(record.event)) {
    read_decision(record, run, approved->station, "approve");
    ++run.current;
    run.failures = 0;
  } else if (const auto* asked = event_as<StationApprovalRequested>(record.event)) {
    read_request(record, run, *asked);
  } else if (const auto* given = event_as<StationApprovalGiven>(record.event)) {
    if (run.holder == 0) wrong(record, "its attempt is over");
    read_decision(record, run, given->station, "approve");
  } else if (const auto* rejected = event_as<StationRejected>(record.event)) {
    read_decision(record, run, rejected->station, "reject");
  } else if (const auto* raised = event_as<RunBudgetRaised>(record.event)) {
    read_budget(record, run, *raised);
  } else {
    return false;
  }
  return true;
}

void TurnAudit::read_usage(const Record& record, AuditedRun& run,
                           const StationUsageReported& reported) {
  if (record.cause != run.holder) wrong(record, "of an attempt that isn't under way");
  if (run.usage_of == run.holder) wrong(record, "for the second time");
  if (const SentCommand* sent = book_.find(record.command_id)) {
    if (usage_in(sent->params) != reported.usage) wrong(record, "its holder told otherwise");
  } else {
    job_usages_[run.job_id] = reported.usage;
  }
  run.usage_of = run.holder;
  told_.insert(run.holder);
  run.used.cost_microusd += reported.usage.cost_microusd;
  run.used.tokens += reported.usage.tokens;
  run.used.turns += reported.usage.turns;
}

// A5: late, but once.
void TurnAudit::read_late_usage(const Record& record, AuditedRun& run, const std::string& job_id) {
  const Usage& usage = event_as<LateUsageReported>(record.event)->usage;
  if (run.holder == record.cause) wrong(record, "its attempt is under way");
  if (!told_.insert(record.cause).second) wrong(record, "for the second time");
  run.used = run.used + usage;
  if (!job_id.empty()) {
    job_usages_[job_id] = usage;
    return;
  }
  const bool is_told = book_.any_sent([&](const SentCommand& sent) {
    return sent.method == "station.complete" && sent.token == record.cause &&
           usage_in(sent.params) == usage;
  });
  if (!is_told) wrong(record, "nobody has told it");
}

void TurnAudit::read_request(const Record& record, AuditedRun& run,
                             const StationApprovalRequested& asked) {
  if (run.holder == 0 || record.cause != run.holder) wrong(record, "its attempt is over");
  if (!run.has_station() || asked.station != run.station().name) {
    return wrong(record, "station " + asked.station + " is not the one in turn");
  }
  if (run.waiting) wrong(record, "it was asked before");
  const SentCommand* sent = book_.find(record.command_id);
  if (sent == nullptr || sent->method != "station.request_approval" ||
      param_text(sent->params, "question") != asked.question) {
    wrong(record, "nobody has asked so");
  }
  run.waiting = WaitReason::approval;
  run.asked = record.position;
  run.stalls = 0;
}

void TurnAudit::read_hold(const Record& record, AuditedRun& run, const StationHeld& held) {
  if (run.holder != 0) return wrong(record, "somebody holds it");
  if (!run.has_station() || held.station != run.station().name) {
    return wrong(record, "station " + held.station + " is not the one in turn");
  }
  if (run.waiting && waits_for_person(*run.waiting)) wrong(record, "it waits for somebody");
  const bool approval = run.station().executor == ExecutorKind::approval;
  if (held.reason != (approval ? WaitReason::approval : WaitReason::budget)) {
    wrong(record, "for another reason than there is");
  }
  if (!approval && !is_used_up(run.budget, run.used)) wrong(record, "the budget isn't used up");
  run.waiting = held.reason;
  if (approval) run.asked = record.position;
}

void TurnAudit::read_ready(const Record& record, AuditedRun& run, const StationReady& ready) {
  if (!run.has_station() || ready.station != run.station().name) {
    return wrong(record, "station " + ready.station + " is not the one in turn");
  }
  if (!run.waiting) wrong(record, "it waits for nothing");
  if (run.waiting == WaitReason::approval) wrong(record, "nobody has decided");
  if (is_used_up(run.budget, run.used)) wrong(record, "the run's budget is used up");
  run.waiting.reset();
}

void TurnAudit::read_decision(const Record& record, AuditedRun& run, const std::string& station,
                              const char* decision) {
  if (!run.has_station() || station != run.station().name) {
    return wrong(record, "station " + station + " is not the one in turn");
  }
  if (run.waiting != WaitReason::approval) wrong(record, "nobody was asked");
  if (record.cause != run.asked) wrong(record, "it answers another question");
  run.waiting.reset();
  const SentCommand* sent = book_.find(record.command_id);
  if (sent == nullptr || sent->method != "run.resume" ||
      param_text(sent->params, "run_id") != to_string(record.stream.run_id) ||
      param_text(sent->params, "decision") != decision) {
    return wrong(record, "nobody has decided so");
  }
  const std::string seen = param_text(sent->params, "station");
  if (!seen.empty() && seen != station) wrong(record, "it was decided about station " + seen);
  if (!decided_by_.insert(record.command_id).second) {
    wrong(record, "the same decision was taken for another before");
  }
}

void TurnAudit::read_budget(const Record& record, AuditedRun& run, const RunBudgetRaised& raised) {
  const SentCommand* sent = book_.find(record.command_id);
  const json::value* asked = sent == nullptr ? nullptr : sent->params.if_contains("budget");
  const auto budget = asked == nullptr ? std::nullopt : std::optional(from_json<Budget>(*asked));
  if (!budget || !*budget || **budget != raised.budget) wrong(record, "nobody has said so");
  if (is_used_up(raised.budget, run.used)) wrong(record, "so much is used up");
  run.budget = raised.budget;
}

void TurnAudit::retry(const Record& record, AuditedRun& run, const RunRetried& retried) {
  if (!run.terminal || !run.failed) return wrong(record, "the run hasn't failed");
  if (!run.has_station() || retried.station != run.station().name) {
    return wrong(record, "another station failed");
  }
  if (retried.attempts != run.attempts) wrong(record, "there were other attempts");
  if (retried.budget != run.budget) wrong(record, "its budget was another");
  if (retried.used != run.used) wrong(record, "it used up something else");
  const SentCommand* sent = book_.find(record.command_id);
  // BoardAudit looks into a retry that no command asked for: the run's card goes on with it.
  const bool is_by_board = record.command_id.empty();
  if (!is_by_board && (sent == nullptr || sent->method != "run.retry")) {
    return wrong(record, "nobody has said so");
  }
  const boost::json::object params = is_by_board ? boost::json::object() : sent->params;
  const auto& strategies = run.station().retry.strategies;
  const std::string strategy = param_text(params, "strategy");
  const bool as_asked = strategy.empty()
                            ? retried.strategy == strategies.front()
                            : strategy == boost::describe::enum_to_string(retried.strategy, "");
  if (!as_asked) wrong(record, "it begins with another strategy than was asked for");
  if (const json::value* asked = params.if_contains("max_retries")) {
    run.max_retries = asked->to_number<std::uint32_t>();
  }
  if (retried.max_retries != run.max_retries) wrong(record, "it has other retries");
  run.terminal = run.failed = run.paused = run.cancel_requested = false;
  run.failures = 0;
  run.waiting.reset();
}

}  // namespace signalbox::simulation
