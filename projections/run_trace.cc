#include "projections/run_trace.h"

#include <algorithm>
#include <utility>

#include <boost/describe/enum_to_string.hpp>

namespace signalbox {
namespace {

template <class Enum>
std::string enumerator_text(Enum value) {
  return boost::describe::enum_to_string(value, "unknown");
}

// Adds an attribute unless the value is empty, i.e. not known.
void add_text(SpanAttributes& attributes, const char* key, const std::string& value) {
  if (!value.empty()) attributes.emplace_back(key, value);
}

template <class Number>
void add_number(SpanAttributes& attributes, const char* key, Number value) {
  if (value != 0) attributes.emplace_back(key, static_cast<std::int64_t>(value));
}

void add_usage(SpanAttributes& attributes, const Usage& usage) {
  add_number(attributes, "signalbox.usage.cost_microusd", usage.cost_microusd);
  add_number(attributes, "signalbox.usage.tokens", usage.tokens);
  add_number(attributes, "signalbox.usage.turns", usage.turns);
}

std::string error_message(const std::string& code, const std::string& message) {
  return message.empty() ? code : code + ": " + message;
}

template <class T>
std::string type_name(const T&) {
  return std::string(T::tag.name);
}

}  // namespace

// Applies one record to the trace.
class RunTrace::RecordVisitor {
 public:
  RecordVisitor(RunTrace& trace, const Record& record, std::vector<TraceSpan>& ended)
      : trace_(trace), record_(record), ended_(ended) {}

  void operator()(const RunStarted& event) {
    const RunId& id = record_.stream.run_id;
    trace_.root_ = run_span_id(id, 0);
    trace_.project_ = event.project;
    SpanAttributes& attributes = trace_.run_attributes_;
    attributes.emplace_back("signalbox.run.id", to_string(id));
    add_text(attributes, "signalbox.pipeline.name", trace_.pipeline_->name);
    attributes.emplace_back("signalbox.pipeline.digest", to_hex(event.pipeline_digest));
    add_text(attributes, "signalbox.project", event.project);
    if (trace_.card_) attributes.emplace_back("signalbox.card.id", to_string(*trace_.card_));
    for (const auto& [name, value] : event.labels) {
      attributes.emplace_back("signalbox.label." + name, value);
    }
    open_run(trace_.root_, {}, "run " + trace_.pipeline_->name);
  }
  void operator()(const RunRetried& event) {
    const SpanId id = run_span_id(record_.stream.run_id, record_.position);
    open_run(id, trace_.root_, "retry " + trace_.pipeline_->name);
    add_text(trace_.run_->attributes, "signalbox.retry.station", event.station);
    add_text(trace_.run_->attributes, "signalbox.retry.reason", event.reason);
    add_text(trace_.run_->attributes, "signalbox.actor", record_.actor);
  }
  void operator()(const RunSucceeded&) { end_run("succeeded", SpanStatus::ok, {}); }
  void operator()(const RunFailed& event) {
    if (!trace_.run_) return;
    add_error(*trace_.run_, event.error_class, event.code);
    end_run("failed", SpanStatus::error, error_message(event.code, event.message));
  }
  void operator()(const RunCanceled& event) {
    if (!trace_.run_) return;
    add_text(trace_.run_->attributes, "signalbox.cancel.reason", event.reason);
    end_run("canceled", SpanStatus::unset, {});
  }

  void operator()(const StationClaimed& event) { open_attempt(event); }
  void operator()(const StationSucceeded& event) {
    add_result(event.result);
    end_attempt("succeeded", SpanStatus::ok, {});
  }
  void operator()(const StationAttemptFailed& event) {
    end_failed(event.failure, event.result);
    at_run(event, {{"signalbox.station", event.station},
                   {"signalbox.error.code", event.failure.code},
                   {"signalbox.next_strategy", enumerator_text(event.next_strategy)}});
  }
  void operator()(const StationFailed& event) { end_failed(event.failure, event.result); }
  void operator()(const StationTimedOut& event) { end_failed(event.failure, event.result); }
  void operator()(const StationDeferred& event) {
    SpanAttributes waits{{"signalbox.station", event.station},
                         {"signalbox.waiting_for", enumerator_text(event.reason)}};
    add_text(waits, "signalbox.note", event.note);
    at_run(event, std::move(waits));
    end_attempt("deferred", SpanStatus::unset, {});
  }
  void operator()(const StationCanceled&) { end_attempt("canceled", SpanStatus::unset, {}); }
  void operator()(const StationUsageReported& event) {
    if (!trace_.attempt_) return;
    add_usage(trace_.attempt_->attributes, event.usage);
  }

  void operator()(const StationSubmitIntended& event) {
    at_attempt(event, {{"signalbox.job.id", event.job_id}});
  }
  void operator()(const StationExternalRefSet& event) {
    at_attempt(event, {{"signalbox.external_ref", event.external_ref}});
  }
  void operator()(const StationStalled& event) {
    at_attempt(event, {{"signalbox.stalled_ms", event.stalled_ms},
                       {"signalbox.action", enumerator_text(event.action)}});
  }
  void operator()(const StationProgressed& event) { at_attempt(event, {}); }
  void operator()(const WatchdogTimedOut& event) {
    at_attempt(event, {{"signalbox.elapsed_ms", event.elapsed_ms},
                       {"signalbox.timeout_ms", event.timeout_ms}});
  }
  void operator()(const CancelConfirmed& event) { at_attempt(event, {}); }
  void operator()(const CancelEscaped& event) {
    std::string pids;
    for (const std::int32_t pid : event.pids) {
      pids += (pids.empty() ? "" : " ") + std::to_string(pid);
    }
    SpanAttributes attributes;
    add_text(attributes, "signalbox.pids", pids);
    at_attempt(event, std::move(attributes));
  }
  void operator()(const RunCancelRequested& event) {
    at_run(event, reason_and_actor(event.reason));
    at_attempt(event, {});
  }
  void operator()(const RunPaused& event) { at_run(event, reason_and_actor(event.reason)); }
  void operator()(const RunResumed& event) { at_run(event, reason_and_actor(event.reason)); }
  void operator()(const RunBudgetRaised& event) { at_run(event, reason_and_actor(event.reason)); }
  void operator()(const StationHeld& event) {
    at_run(event, {{"signalbox.station", event.station},
                   {"signalbox.waiting_for", enumerator_text(event.reason)}});
  }
  void operator()(const StationApproved& event) {
    at_run(event, reason_and_actor(event.reason, event.station));
  }
  void operator()(const StationRejected& event) {
    at_run(event, reason_and_actor(event.reason, event.station));
  }
  void operator()(const StationApprovalRequested& event) {
    at_attempt(event, {{"signalbox.waiting_for", enumerator_text(WaitReason::approval)}});
  }
  void operator()(const StationApprovalGiven& event) {
    at_run(event, reason_and_actor(event.reason, event.station));
  }
  void operator()(const StationResultHeld& event) {
    add_result(event.result);
    end_attempt("succeeded", SpanStatus::ok, {});
  }
  // The attempt's span has ended and may have been sent, and so may the run's. A span more lets the
  // sum over a trace's spans be what the run has used up.
  void operator()(const LateUsageReported& event) {
    TraceSpan span =
        new_span(SpanKind::usage, usage_span_id(record_.stream.run_id, record_.position),
                 attempt_span_id(record_.span_id), event.station + " usage");
    span.ended_at_ns = span.started_at_ns;
    add_of_run(span.attributes);
    span.attributes.emplace_back("signalbox.station", event.station);
    span.attributes.emplace_back("signalbox.attempt", std::int64_t{event.attempt});
    span.attributes.emplace_back("signalbox.span.id", to_string(record_.span_id));
    span.attributes.emplace_back("signalbox.position", std::int64_t(record_.position));
    add_usage(span.attributes, event.usage);
    ended_.push_back(std::move(span));
  }
  void operator()(const StationReady& event) {
    at_run(event, {{"signalbox.station", event.station}});
  }

  void operator()(const ExplorationFinished& event) {
    at_attempt(event, {{"signalbox.files", std::int64_t(event.exploration.files.size())}});
  }
  void operator()(const ExplorationTimedOut& event) {
    at_attempt(event, {{"signalbox.timeout_ms", event.timeout_ms}});
  }
  void operator()(const PlanSet& event) {
    at_attempt(event, {{"signalbox.steps", std::int64_t(event.steps.size())}});
  }
  void operator()(const PlanReset& event) {
    SpanAttributes attributes;
    add_text(attributes, "signalbox.reason", event.reason);
    at_attempt(event, std::move(attributes));
    end_steps();
  }
  void operator()(const StepBlocked& event) {
    at_attempt(event, {{"signalbox.step", event.step}, {"signalbox.blocked_by", event.by}});
  }
  void operator()(const StepAttemptStarted& event) { open_step(event); }
  void operator()(const StepCompleted& event) {
    end_step(event.step, "succeeded", SpanStatus::ok, {});
  }
  void operator()(const StepAttemptFailed& event) { end_failed_step(event.step, event.failure); }
  void operator()(const StepFailed& event) { end_failed_step(event.step, event.failure); }

  // No span or span event for heartbeats, events that don't mark a time, and other streams.
  template <class Other>
  void operator()(const Other&) {}

 private:
  void open_run(SpanId id, SpanId parent, std::string name) {
    TraceSpan& span = trace_.run_.emplace(new_span(SpanKind::run, id, parent, std::move(name)));
    span.attributes = trace_.run_attributes_;
    span.attributes.emplace_back("signalbox.position", std::int64_t(record_.position));
  }

  void open_attempt(const StationClaimed& event) {
    if (!trace_.run_) return;
    const SpanId id = attempt_span_id(record_.span_id);
    TraceSpan& span = trace_.attempt_.emplace(
        new_span(SpanKind::attempt, id, trace_.run_->span_id, event.station));
    SpanAttributes& attributes = span.attributes;
    add_of_run(attributes);
    attributes.emplace_back("signalbox.station", event.station);
    attributes.emplace_back("signalbox.attempt", std::int64_t{event.attempt});
    attributes.emplace_back("signalbox.strategy", enumerator_text(event.strategy));
    const auto& stations = trace_.pipeline_->stations;
    const auto station = std::find_if(stations.begin(), stations.end(),
                                      [&](const auto& each) { return each.name == event.station; });
    if (station != stations.end()) {
      attributes.emplace_back("signalbox.executor", enumerator_text(station->executor));
    }
    add_text(attributes, "signalbox.worker", event.worker);
    attributes.emplace_back("signalbox.span.id", to_string(record_.span_id));
    attributes.emplace_back("signalbox.position", std::int64_t(record_.position));
    add_number(attributes, "signalbox.lock.token", event.lock_token);
    SpanId& last = trace_.last_attempt_[event.station];
    if (!last.is_none()) span.links.push_back(last);
    last = id;
  }

  void open_step(const StepAttemptStarted& event) {
    if (!trace_.attempt_) return;
    const SpanId id = step_span_id(record_.stream.run_id, record_.position);
    TraceSpan span =
        new_span(SpanKind::step, id, trace_.attempt_->span_id, event.station + "/" + event.step);
    add_of_run(span.attributes);
    span.attributes.emplace_back("signalbox.station", event.station);
    span.attributes.emplace_back("signalbox.step", event.step);
    span.attributes.emplace_back("signalbox.attempt", std::int64_t{event.attempt});
    span.attributes.emplace_back("signalbox.strategy", enumerator_text(event.strategy));
    add_text(span.attributes, "signalbox.worker", event.worker);
    span.attributes.emplace_back("signalbox.position", std::int64_t(record_.position));
    trace_.steps_.insert_or_assign(event.step, std::move(span));
  }

  TraceSpan new_span(SpanKind kind, SpanId id, SpanId parent, std::string name) const {
    TraceSpan span;
    span.kind = kind;
    span.trace_id = record_.stream.run_id;
    span.span_id = id;
    span.parent = parent;
    span.name = std::move(name);
    span.started_at_ns = record_.recorded_at_ns;
    return span;
  }
  void add_of_run(SpanAttributes& attributes) const {
    attributes.emplace_back("signalbox.run.id", to_string(record_.stream.run_id));
    add_text(attributes, "signalbox.project", trace_.project_);
  }
  static void add_error(TraceSpan& span, ErrorClass error_class, const std::string& code) {
    span.attributes.emplace_back("signalbox.error.class", enumerator_text(error_class));
    span.attributes.emplace_back("error.type", code);
  }
  void add_result(const AttemptResult& result) {
    if (!trace_.attempt_) return;
    add_text(trace_.attempt_->attributes, "signalbox.external_ref", result.external_ref);
  }
  [[nodiscard]] SpanAttributes reason_and_actor(const std::string& reason,
                                                const std::string& station = {}) const {
    SpanAttributes attributes;
    add_text(attributes, "signalbox.station", station);
    add_text(attributes, "signalbox.reason", reason);
    add_text(attributes, "signalbox.actor", record_.actor);
    return attributes;
  }

  template <class T>
  void at_run(const T& event, SpanAttributes attributes) {
    if (trace_.run_) add_event(*trace_.run_, type_name(event), std::move(attributes));
  }
  template <class T>
  void at_attempt(const T& event, SpanAttributes attributes) {
    if (trace_.attempt_) add_event(*trace_.attempt_, type_name(event), std::move(attributes));
  }
  void add_event(TraceSpan& span, std::string name, SpanAttributes attributes) const {
    if (span.events.size() >= limits::trace_span_events_max) {
      ++span.events_dropped;
      return;
    }
    attributes.emplace_back("signalbox.position", std::int64_t(record_.position));
    span.events.push_back({std::move(name), record_.recorded_at_ns, std::move(attributes)});
  }

  void end(TraceSpan span, const char* outcome, SpanStatus status, std::string message) {
    span.attributes.emplace_back("signalbox.outcome", outcome);
    // The wall clock may have been set back since the start.
    span.ended_at_ns = std::max(record_.recorded_at_ns, span.started_at_ns);
    span.status = status;
    span.status_message = std::move(message);
    ended_.push_back(std::move(span));
  }
  void end_attempt(const char* outcome, SpanStatus status, std::string message) {
    if (!trace_.attempt_) return;
    end(std::move(*trace_.attempt_), outcome, status, std::move(message));
    trace_.attempt_.reset();
  }
  void end_failed(const Failure& failure, const AttemptResult& result) {
    if (!trace_.attempt_) return;
    add_result(result);
    add_error(*trace_.attempt_, failure.error_class, failure.code);
    if (failure.code == "LEASE_EXPIRED") add_event(*trace_.attempt_, "LeaseExpired", {});
    const bool timeout = failure.outcome == Outcome::timeout;
    end_attempt(timeout ? "timeout" : "failed", SpanStatus::error,
                error_message(failure.code, failure.message));
  }
  void end_step(const std::string& step, const char* outcome, SpanStatus status,
                std::string message) {
    const auto place = trace_.steps_.find(step);
    if (place == trace_.steps_.end()) return;
    end(std::move(place->second), outcome, status, std::move(message));
    trace_.steps_.erase(place);
  }
  void end_failed_step(const std::string& step, const Failure& failure) {
    if (const auto place = trace_.steps_.find(step); place != trace_.steps_.end()) {
      add_error(place->second, failure.error_class, failure.code);
    }
    end_step(step, failure.outcome == Outcome::timeout ? "timeout" : "failed", SpanStatus::error,
             error_message(failure.code, failure.message));
  }
  void end_steps() {
    while (!trace_.steps_.empty()) {
      end_step(std::string(trace_.steps_.begin()->first), "canceled", SpanStatus::unset, {});
    }
  }
  void end_run(const char* outcome, SpanStatus status, std::string message) {
    if (!trace_.run_) return;
    end_steps();
    end_attempt("canceled", SpanStatus::unset, {});
    end(std::move(*trace_.run_), outcome, status, std::move(message));
    trace_.run_.reset();
  }

  RunTrace& trace_;
  const Record& record_;
  std::vector<TraceSpan>& ended_;
};

RunTrace::RunTrace(std::shared_ptr<const PipelineDefinition> pipeline, std::optional<CardId> card)
    : pipeline_(std::move(pipeline)), card_(card) {}

void RunTrace::apply(const Record& record, std::vector<TraceSpan>& ended) {
  signalbox::apply(RecordVisitor(*this, record, ended), record.event);
}

std::vector<TraceSpan> RunTrace::open() const {
  std::vector<TraceSpan> spans;
  if (run_) spans.push_back(*run_);
  if (attempt_) spans.push_back(*attempt_);
  for (const auto& [step, span] : steps_) spans.push_back(span);
  return spans;
}

}  // namespace signalbox
