#include "projections/why.h"

#include <algorithm>
#include <utility>

#include <boost/describe/enum_to_string.hpp>

#include "domain/admission.h"
#include "domain/pipeline.h"
#include "domain/refusals.h"
#include "domain/station_turn.h"
#include "domain/text_parts.h"

namespace signalbox {
namespace {

// Returns the latest record for which `wanted` returns true; nullptr if there is none.
template <class Wanted>
const Record* latest(std::span<const Record> records, Wanted&& wanted) {
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    if (wanted(*record)) return &*record;
  }
  return nullptr;
}

template <class... Events>
const Record* latest_of(std::span<const Record> records) {
  return latest(records, [](const Record& record) {
    return (... || (event_as<Events>(record.event) != nullptr));
  });
}

const Record* at(std::span<const Record> records, Position position) {
  return latest(records, [position](const Record& record) { return record.position == position; });
}

class WhyExplainer {
 public:
  explicit WhyExplainer(const WhyQuestion& question)
      : records_(question.records),
        timeline_(question.timeline),
        run_(question.run),
        service_(question.around),
        id_(to_string(question.timeline.run_id)) {
    answer_.run_id = timeline_.run_id;
    answer_.status = timeline_.status;
  }

  WhyAnswer take() && {
    if (run_ == nullptr) {
      explain_end();
      return std::move(answer_);
    }
    if (service_.storage_full) explain_storage_full();
    if (run_->cancel_requested) explain_cancel();
    if (run_->status == RunStatus::paused) explain_pause();
    explain_station();
    return std::move(answer_);
  }

 private:
  [[nodiscard]] std::string run_command(const std::string& verb,
                                        const std::string& flags = {}) const {
    return "signalbox run " + verb + " " + id_ + (flags.empty() ? "" : " " + flags);
  }

  WhyEntry& add(WhyReason reason, const Record* cause, std::string text) {
    WhyEntry& entry = answer_.reasons.emplace_back();
    entry.reason = reason;
    entry.text = std::move(text);
    if (cause != nullptr) {
      entry.cause_position = cause->position;
      entry.cause_event = tag_of(cause->event).name;
      entry.since_ns = cause->recorded_at_ns;
    }
    if (run_ != nullptr) {
      entry.station = run_->definition().name;
      entry.attempt = run_->station().attempts;
    }
    return entry;
  }

  void explain_end() {
    const Record* end = latest_of<RunSucceeded, RunFailed, RunCanceled>(records_);
    if (end == nullptr) return;
    if (const auto* canceled = event_as<RunCanceled>(end->event)) {
      WhyEntry& entry =
          add(WhyReason::canceled, end, with_colon("the run was canceled", canceled->reason));
      if (timeline_.cancel) entry.holder = timeline_.cancel->actor;
      entry.next_commands = {run_command("get")};
      return;
    }
    const auto* failed = event_as<RunFailed>(end->event);
    if (failed == nullptr) {
      const char* const mock =
          timeline_.mocked == Mocked::nothing ? "" : "; its coding agents were mocks";
      add(WhyReason::succeeded, end, std::string("the run succeeded: nothing is left to do") + mock)
          .next_commands = {run_command("get")};
      return;
    }
    const Record* cause = latest_of<StationFailed, StationTimedOut, StationRejected>(records_);
    WhyEntry& entry = add(
        WhyReason::failed, cause != nullptr ? cause : end,
        "station " + failed->station + " failed with " + with_colon(failed->code, failed->message));
    entry.station = failed->station;
    entry.not_retried = timeline_.not_retried;
    for (const TimelineStation& station : timeline_.stations) {
      if (station.name != failed->station || station.attempts.empty()) continue;
      entry.attempt = station.attempts.back().number;
      entry.holder = station.attempts.back().worker;
    }
    entry.next_commands = {run_command("get")};
    if (service_.card) {
      explain_end_for_card(*service_.card, *failed, entry);
    } else if (service_.are_files_removed) {
      entry.unblocked_by = "a new run: the files of this one were removed";
    } else if (service_.root_holder) {
      entry.unblocked_by = "the end of another run, which has its run root; then run.retry";
      entry.next_commands = {"signalbox run why " + to_string(*service_.root_holder)};
    } else {
      entry.unblocked_by = "run.retry, which starts a new attempt of this station";
      entry.next_commands = {run_command("retry"), run_command("get")};
    }
    if (!service_.are_files_removed) add_log(entry);
  }

  void add_log(WhyEntry& entry) const {
    std::string command = log_command(timeline_, entry.station);
    if (!command.empty()) entry.next_commands.push_back(std::move(command));
  }

  [[nodiscard]] bool is_create_pr(const std::string& station) const {
    const auto& stations = timeline_.stations;
    return std::any_of(stations.begin(), stations.end(), [&](const TimelineStation& each) {
      return each.name == station && each.executor == ExecutorKind::builtin &&
             parse_builtin(each.name) == BuiltinStation::create_pr;
    });
  }

  // A card's run is never retried by itself: the card gets another run, or, if only its create_pr
  // is left to do, goes on with this one.
  void explain_end_for_card(const WhyContextCard& card, const RunFailed& failed,
                            WhyEntry& entry) const {
    const std::string id = to_string(card.id);
    entry.next_commands = {"signalbox card why " + id, run_command("get")};
    if (card.status == CardStatus::blocked || card.status == CardStatus::failed) {
      entry.unblocked_by = "card.unblock, which gives its card another run";
      if (service_.card_goes_on && is_create_pr(failed.station)) {
        entry.unblocked_by =
            "card.unblock, with which this run goes on and pushes its work; or card.block and then "
            "card.unblock, which gives its card another run";
        entry.next_commands.insert(entry.next_commands.begin(), command_for_another_run(card.id));
      }
      entry.next_commands.insert(entry.next_commands.begin(), "signalbox card unblock " + id);
    } else {
      entry.unblocked_by = std::string("its card, which is ") + name_of(card.status);
    }
  }

  void explain_storage_full() {
    // A write that didn't fit left no record: the last durable record is the nearest to the cause.
    WhyEntry& entry =
        add(WhyReason::storage_full, service_.last_durable ? &*service_.last_durable : nullptr,
            "there is no space left for the log: nothing can start or end");
    entry.unblocked_by = "space on the disk of the data directory";
    entry.next_commands = {"df -h " + service_.data_directory, "signalbox status"};
  }

  void explain_cancel() {
    const Record* cause = latest_of<RunCancelRequested>(records_);
    WhyEntry& entry = add(
        WhyReason::cancel_requested, cause,
        with_colon(is_rejected(*run_) ? "its approval was rejected, and its job hasn't ended yet"
                                      : "the run is being canceled, and its job hasn't ended yet",
                   run_->cancel_reason));
    if (cause != nullptr) entry.holder = cause->actor;
    entry.unblocked_by = "the end of its job and of all its descendants";
    entry.next_commands = {run_command("watch")};
  }

  void explain_pause() {
    const Record* cause = latest_of<RunPaused>(records_);
    const auto* paused = cause == nullptr ? nullptr : event_as<RunPaused>(cause->event);
    WhyEntry& entry = add(WhyReason::paused, cause,
                          with_colon("it is paused", paused == nullptr ? "" : paused->reason));
    if (cause != nullptr) entry.holder = cause->actor;
    entry.unblocked_by = "run.resume";
    entry.next_commands = {run_command("resume")};
  }

  void explain_station() {
    switch (run_->station().status) {
      case StationStatus::pending:
        if (run_->station().ready_at != 0) explain_ready();
        return;
      case StationStatus::running:
        explain_attempt(WhyReason::running, at(records_, run_->attempt->token));
        return;
      case StationStatus::waiting:
        return explain_waiting();
      case StationStatus::succeeded:
      case StationStatus::failed:
      case StationStatus::canceled:
      case StationStatus::timeout:
        return explain_end_within_commit();
    }
  }

  // Only a question about the past can fall between two events of one commit.
  void explain_end_within_commit() {
    const std::string status = boost::describe::enum_to_string(run_->station().status, "?");
    add(WhyReason::running, records_.empty() ? nullptr : &records_.back(),
        "station " + run_->definition().name + " is " + status +
            "; the next event of the same commit follows")
        .unblocked_by = "nothing: the service, in the same commit";
    answer_.moving = true;
  }

  void explain_ready() {
    const StationDefinition& station = run_->definition();
    const Record* cause = at(records_, run_->station().ready_at);
    const std::string ahead =
        service_.ready_ahead == 0
            ? std::string()
            : "; " + std::to_string(service_.ready_ahead) +
                  (service_.ready_ahead == 1 ? " other was" : " others were") + " ready before it";
    if (service_.pause) return explain_service_pause(*service_.pause, ahead);
    if (station.executor == ExecutorKind::worker) {
      WhyEntry& entry = add(WhyReason::no_worker, cause,
                            "no worker has claimed station " + station.name + " yet" + ahead);
      // Who forgot the executor would wait for a worker that doesn't exist.
      entry.unblocked_by =
          "a station.claim by an outside worker; a station that Signalbox itself should execute "
          "names an `executor` in its pipeline: then cancel this run, and start another";
      entry.next_commands = {"signalbox station claim --worker me --run " + id_};
      return;
    }
    if (!service_.no_runner.empty()) {
      WhyEntry& entry = add(WhyReason::no_runner, cause, service_.no_runner + ahead);
      entry.unblocked_by = service_.runner_wanted;
      entry.next_commands = {"signalbox runner list"};
      return;
    }
    if (service_.jobs.size() < service_.jobs_max) {
      add(WhyReason::ready, cause, "station " + station.name + " is about to be started" + ahead)
          .unblocked_by = "nothing: the service starts it at once";
      answer_.moving = !service_.storage_full;
      return;
    }
    const std::string limit = is_remote(station) ? "remote_jobs_max" : "jobs_max";
    WhyEntry& entry = add(WhyReason::jobs_max, cause,
                          "the service executes " + std::to_string(service_.jobs.size()) +
                              " jobs, as many as it may (" + limit + ")" + ahead);
    entry.holders = service_.jobs;
    entry.unblocked_by = "the end of one of these jobs, or a larger " + limit;
    for (const WhyHolder& holder : entry.holders) {
      entry.next_commands.push_back("signalbox run why " + to_string(holder.run_id));
    }
  }

  // The run's own records don't have the event.
  void explain_service_pause(const ServicePause& pause, const std::string& ahead) {
    WhyEntry& entry = add(WhyReason::service_paused, nullptr, pause_text(pause) + ahead);
    entry.cause_position = pause.position;
    entry.cause_event = ServicePaused::tag.name;
    entry.since_ns = pause.since_ns;
    entry.holder = pause.by;
    entry.unblocked_by = "server.resume, by an operator";
    entry.next_commands = {resume_service_command};
  }

  [[nodiscard]] AttemptWait wait_of_attempt() const {
    return attempt_wait(*run_, service_.attempt);
  }

  void explain_attempt(WhyReason reason, const Record* cause) {
    const Attempt& attempt = *run_->attempt;
    AttemptWait wait = wait_of_attempt();
    std::string text = "attempt " + std::to_string(attempt.number) + " (" +
                       boost::describe::enum_to_string(attempt.strategy, "?") + ") of " +
                       run_->definition().name + " is in progress, by " + attempt.worker;
    if (!wait.text.empty()) text += "; " + wait.text;
    WhyEntry& entry = add(reason, cause, std::move(text));
    entry.holder = attempt.worker;
    entry.until_ns = wait.until_ns != 0 ? wait.until_ns : service_.lease_ends_ns;
    entry.last_progress_at_ns = attempt.last_progress_at_ns;
    entry.last_heartbeat_at_ns = service_.last_heartbeat_at_ns;
    answer_.moving = wait.works() && !service_.storage_full;
    entry.unblocked_by = std::move(wait.unblocked_by);
    entry.next_commands = std::move(wait.next_commands);
  }

  void explain_waiting() {
    switch (run_->station().waiting) {
      case WaitReason::stalled:
        return explain_attempt(WhyReason::stalled, latest_of<StationStalled>(records_));
      case WaitReason::backoff:
        return explain_backoff();
      case WaitReason::deferred:
        return explain_deferral(WhyReason::deferred, "its worker deferred it");
      case WaitReason::quota:
        return explain_deferral(WhyReason::quota, "a usage limit of its executor is reached");
      case WaitReason::approval:
        return explain_approval();
      case WaitReason::budget:
        return explain_budget();
    }
  }

  void explain_backoff() {
    const Record* failed = latest_of<StationAttemptFailed>(records_);
    const auto* event = failed == nullptr ? nullptr : event_as<StationAttemptFailed>(failed->event);
    std::string text = "attempt " + std::to_string(run_->station().attempts) + " failed";
    if (event != nullptr)
      text += " with " + with_colon(event->failure.code, event->failure.message);
    const bool lock_lost = service_.lock_end.has_value();
    WhyEntry& entry = add(lock_lost ? WhyReason::lock_lost : WhyReason::backoff,
                          lock_lost ? &*service_.lock_end : failed,
                          text + "; the next one waits for its backoff");
    entry.until_ns = run_->station().waiting_until_ns;
    entry.unblocked_by = "time";
    entry.next_commands = {run_command("get"), run_command("cancel")};
    if (is_create_pr(run_->definition().name)) {  // the work is done, and a cancel gives it up
      entry.unblocked_by = "time, or run.resume, with which it is tried now";
      entry.next_commands = {run_command("resume"), run_command("get")};
    }
    add_log(entry);
    if (lock_lost) {
      entry.next_commands.insert(
          entry.next_commands.begin(),
          "signalbox lock get " + shell_word(service_.lock_end->stream.name));
    }
  }

  void explain_deferral(WhyReason reason, const std::string& text) {
    const Record* cause = latest_of<StationDeferred>(records_);
    const auto* event = cause == nullptr ? nullptr : event_as<StationDeferred>(cause->event);
    WhyEntry& entry = add(reason, cause, with_colon(text, event == nullptr ? "" : event->note));
    entry.until_ns = run_->station().waiting_until_ns;
    entry.unblocked_by = "time";
    entry.next_commands = {run_command("get"), run_command("cancel")};
  }

  void explain_approval() {
    // A decision about an attempt that is being ended would change nothing.
    if (run_->cancel_requested) {
      explain_attempt(WhyReason::running, at(records_, run_->attempt->token));
      return;
    }
    const bool is_station = run_->definition().executor == ExecutorKind::approval;
    WhyEntry& entry = is_station
                          ? add(WhyReason::approval, latest_of<StationHeld>(records_),
                                "station " + run_->definition().name + " waits for a decision")
                          : explain_request();
    if (!run_->attempt) {
      entry.unblocked_by = "run.resume with a decision, by an operator";
      entry.next_commands = decision_commands(*run_);
      return;
    }
    AttemptWait wait = wait_of_attempt();
    if (wait.need != AttemptNeed::approval) entry.text += "; " + wait.text;
    entry.unblocked_by = std::move(wait.unblocked_by);
    entry.next_commands = std::move(wait.next_commands);
  }

  // Explains the wait for what an attempt asked for, which is under way or has succeeded.
  WhyEntry& explain_request() {
    const Record* asked = latest_of<StationApprovalRequested>(records_);
    const auto* event =
        asked == nullptr ? nullptr : event_as<StationApprovalRequested>(asked->event);
    return add(WhyReason::approval, asked,
               with_colon("attempt " + std::to_string(run_->station().attempts) + " of station " +
                              run_->definition().name +
                              (run_->attempt ? " asks for an approval"
                                             : " has succeeded, and asks for an approval"),
                          event == nullptr ? "" : event->question));
  }

  void explain_budget() {
    WhyEntry& entry =
        add(WhyReason::budget, latest_of<StationHeld>(records_),
            "the run has used up its budget: " + budget_text(run_->budget, run_->used));
    entry.unblocked_by = "run.resume with a larger budget, by an operator";
    entry.next_commands = {run_command("resume", raised_budget_flags(run_->budget, run_->used)),
                           run_command("cancel")};
  }

  std::span<const Record> records_;
  const RunTimeline& timeline_;
  const Run* run_;
  const WhyContext& service_;
  std::string id_;
  WhyAnswer answer_;
};

}  // namespace

WhyAnswer why(const WhyQuestion& question) { return WhyExplainer(question).take(); }

}  // namespace signalbox
