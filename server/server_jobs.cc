// The jobs of the service: whose they are, what is recorded of their reports, and their pauses.
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "server/followers/recorded_run.h"
#include "server/platform/logging.h"
#include "server/server.h"

namespace signalbox {

JobOwnership Server::job_ownership() const {
  return {machine_->id, [jobs = config_.data / "jobs"](const std::string& job_id) {
            std::error_code error;
            return std::filesystem::exists(jobs / job_id, error);
          }};
}

std::unique_ptr<StationJobs> Server::station_jobs() {
  return std::make_unique<StationJobs>(
      engine_, ids_,
      [this](JobReports reports) {
        // Subscribers get the last output of a job before its end is reported.
        reports.finished = [this, finished = std::move(reports.finished)](const Job& job,
                                                                          const JobResult& result) {
          agent_logs_.finish(job);
          job_troubles_.forget(job.id);
          finished(job, result);
        };
        reports.trouble = [this, trouble = std::move(reports.trouble)](const Job& job,
                                                                       const ExecutorError& error) {
          // A call is repeated each second: the log has the first of those that fail alike.
          const bool is_news =
              job_troubles_.note(job.id, {error.code + ": " + error.message, clock_.wall_ns()});
          if (is_news) trouble(job, error);
        };
        return std::make_unique<JobThreads>(executor_, std::move(reports), lanes_.local_jobs,
                                            lanes_.remote_jobs);
      },
      post_while_serving(),
      [this](const Job& job, const std::string& text) {
        log_about(logger_, spdlog::level::warn,
                  {job.run_id, job.definition.name, job.span_id, job.token},
                  "job " + job.id + ": " + text);
      },
      StationJobs::Settings{
          job_ownership(), config_.data / "runs", config_.jobs_max, config_.remote_jobs_max,
          [this] { return runners_.offers(); },
          /*is_forecast=*/false,
          [this](const Job& job, const Usage& used) { untold_usage_.note(job, used); }});
}

FindDeclaredCommit Server::commit_in_log() {
  return [this](const Job& job, const char* field) {
    return recorded_commit(log_, projector_.index(), projector_.applied(),
                           {job.run_id, job.run_token, job.token, job.base_station, field});
  };
}

void Server::note_unrecorded(const Job& job, const std::string& why) {
  log_about(logger_, spdlog::level::warn, {job.run_id, job.definition.name, job.span_id, job.token},
            "what job " + job.id + " has used up isn't recorded: " + why);
}

void Server::set_job_pauses(std::vector<JobPause> pauses) {
  if (pauses.empty()) return;
  lanes_.files.run({.name = "pauses of jobs"},
                   [jobs = config_.data / "jobs", pauses = std::move(pauses)] {
                     for (const JobPause& pause : pauses) set_job_pause(jobs, pause);
                   });
}

}  // namespace signalbox
