#include "projections/change_summary.h"

#include <algorithm>
#include <array>
#include <utility>

#include "domain/service_loops.h"
#include "domain/text_parts.h"

namespace signalbox {
namespace {

constexpr std::string_view waits_state = "waits for a person";

// In the order of lists.
constexpr std::array<std::string_view, 9> noteworthy_states = {
    "failed",    "blocked", "halted",   "timed out", "policy refused",
    waits_state, "paused",  "canceled", "expired"};

std::string state_and_reason(std::string text, const std::string& reason) {
  if (reason.empty()) return text;
  return text.empty() ? reason : text + ": " + reason;
}

std::string name_text(const std::string& name) {
  return std::string(utf8_prefix(name, ChangeSummary::name_bytes_max));
}

}  // namespace

std::size_t rank_of_state(std::string_view state) {
  const auto* const place = std::find(noteworthy_states.begin(), noteworthy_states.end(), state);
  return static_cast<std::size_t>(place - noteworthy_states.begin());
}

struct ChangeSummary::RecordVisitor {
  ChangeSummary& summary;
  const Record& record;

  void operator()(const RunStarted& event) const {
    StreamChange& change = set("started", {});
    change.is_new = true;
    change.name = name_text(event.goal);
  }
  void operator()(const RunRetried& event) const {
    set("retried", event.reason).name = name_text(event.goal);
  }
  void operator()(const RunSucceeded&) const { set("succeeded", {}); }
  void operator()(const RunFailed& event) const {
    set("failed", state_and_reason(event.station, state_and_reason(event.code, event.message)));
  }
  void operator()(const RunCanceled& event) const { set("canceled", event.reason); }
  void operator()(const RunPaused& event) const { set("paused", event.reason); }
  void operator()(const RunResumed&) const { set("resumed", {}); }
  void operator()(const StationClaimed& event) const { go_on(event.station, " under way"); }
  void operator()(const StationSucceeded& event) const { go_on(event.station, " done"); }
  void operator()(const StationAttemptFailed& event) const {
    go_on(state_and_reason(event.station + " failed, to be retried",
                           state_and_reason(event.failure.code, event.failure.message)));
  }
  void operator()(const StationDeferred& event) const {
    go_on(state_and_reason(event.station + " deferred", event.note));
  }
  void operator()(const StationHeld& event) const {
    set(waits_state, state_and_reason(event.station, event.note));
  }
  void operator()(const StationApprovalRequested& event) const {
    set(waits_state, state_and_reason(event.station, event.question));
  }
  void operator()(const StationReady& event) const { go_on(event.station, " ready"); }
  void operator()(const StationApproved& event) const { go_on(event.station, " approved"); }
  void operator()(const StationApprovalGiven& event) const { go_on(event.station, " approved"); }

  void operator()(const CardSubmitted& event) const {
    StreamChange& change = set("submitted", {});
    change.is_new = true;
    change.name = name_text(event.title);
  }
  void operator()(const CardStarted&) const { set("in progress", {}); }
  void operator()(const CardVerificationStarted&) const { set("verifying", {}); }
  void operator()(const CardVerified&) const { set("verified", {}); }
  void operator()(const CardMergeStarted&) const { set("merging", {}); }
  void operator()(const CardMergeDeferred& event) const {
    set("verified", state_and_reason(event.code, event.message));
  }
  void operator()(const CardMerged&) const { set("merged", {}); }
  void operator()(const CardBlocked& event) const {
    set("blocked", state_and_reason(event.code, event.message));
  }
  void operator()(const CardFailed& event) const {
    set("failed", state_and_reason(event.code, event.message));
  }
  void operator()(const CardUnblocked& event) const { set("unblocked", event.reason); }
  void operator()(const CardPrioritySet& event) const {
    // What became of the card says more.
    if (!summary.change_of(record).state.empty()) return;
    set("priority", state_and_reason(std::to_string(event.priority), event.reason));
  }

  void operator()(const ProjectPut&) const { set("changed", {}); }
  void operator()(const PolicyAdopted&) const { set("policy adopted", {}); }
  void operator()(const PolicyRefused& event) const {
    set("policy refused", state_and_reason("line " + std::to_string(event.line), event.message));
  }

  void operator()(const LockAcquired& event) const { set("held", "by " + event.owner); }
  void operator()(const LockReleased& event) const { set("released", "by " + event.owner); }
  void operator()(const LockExpired& event) const { set("expired", "of " + event.owner); }

  void operator()(const TickStarted& event) const { set_tick("running", event.reason); }
  void operator()(const TickSucceeded&) const { set_tick("succeeded", {}); }
  void operator()(const TickFailed& event) const {
    set_tick("failed", state_and_reason(event.code, event.error));
  }
  void operator()(const TickTimedOut& event) const { set_tick("timed out", event.stage); }
  void operator()(const TickIncompleteDetected& event) const {
    set_tick("halted", state_and_reason("its tick has no end", event.evidence));
  }
  void operator()(const TickRecovered& event) const { set_tick("recovered", event.reason); }

  void operator()(const ServerStarted& event) const {
    ++summary.of_service_["started"];
    if (event.previous == PreviousEnd::crashed) ++summary.of_service_["crashed"];
  }
  void operator()(const ServerStopped&) const { ++summary.of_service_["stopped"]; }
  void operator()(const ClockJumped&) const { ++summary.of_service_["clock jumped"]; }
  void operator()(const CellTaken&) const { ++summary.of_service_["cell taken"]; }
  void operator()(const ServicePaused&) const { ++summary.of_service_["paused"]; }
  void operator()(const ServiceResumed&) const { ++summary.of_service_["resumed"]; }
  void operator()(const RunnerDrained&) const { ++summary.of_service_["runner drained"]; }
  void operator()(const RunnerUndrained&) const { ++summary.of_service_["runner undrained"]; }
  void operator()(const RunnerEvicted&) const { ++summary.of_service_["runner evicted"]; }
  void operator()(const RunnerReadmitted&) const { ++summary.of_service_["runner readmitted"]; }
  void operator()(const HistoryDropped&) const { ++summary.of_service_["history dropped"]; }
  void operator()(const ProjectionRebuilt&) const { ++summary.of_service_["read models rebuilt"]; }

  template <class Other>
  void operator()(const Other&) const {
    if (record.stream.kind == StreamKind::access) ++summary.of_access_[Other::tag.name];
  }

 private:
  StreamChange& set(std::string_view state, std::string text) const {
    StreamChange& change = summary.change_of(record);
    set_state(change, state);
    change.text = std::move(text);
    return change;
  }
  // What a paused run still does doesn't resume it. Most records of a night come here, so the text
  // keeps its memory.
  void go_on(std::string_view what, std::string_view more = {}) const {
    StreamChange& change = summary.change_of(record);
    if (change.state == "paused") return;
    set_state(change, "open");
    change.text.assign(what).append(more);
  }
  void set_tick(std::string_view state, std::string text) const {
    if (!is_service_loop(record.stream.name)) set(state, std::move(text));
  }
  void set_state(StreamChange& change, std::string_view state) const {
    change.state = state;
    change.position = record.position;
    change.at_ns = record.recorded_at_ns;
  }
};

void ChangeSummary::apply(const Record& record) {
  signalbox::apply(RecordVisitor{*this, record}, record.event);
}

StreamChange& ChangeSummary::change_of(const Record& record) {
  const Stream& stream = record.stream;
  const bool has_id = stream.kind == StreamKind::run || stream.kind == StreamKind::card;
  const std::size_t next = changes_.size();
  const std::size_t index =
      has_id ? by_id_.try_emplace(stream.run_id, next).first->second
             : by_name_.try_emplace({stream.kind, stream.name}, next).first->second;
  if (index == next) {
    StreamChange& added = changes_.emplace_back();
    added.stream = stream;
    if (!has_id) added.name = stream.name;
  }
  return changes_[index];
}

}  // namespace signalbox
