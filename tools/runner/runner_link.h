// A runner's word with the service: reports what it has, does what the answers say, and sends the
// results of its jobs with their artifacts. While the service is away its jobs go on.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/platform/artifact_store.h"
#include "tools/cli/client.h"
#include "tools/runner/artifact_uploads.h"
#include "tools/runner/runner_jobs.h"
#include "tools/runner/runner_runs.h"
#include "tools/runner/runner_work.h"

namespace signalbox {

struct RunnerSettings {
  std::string name;  // for the registration
  std::vector<std::string> labels;
  std::vector<std::string> repositories;  // paths as the runs of the service name them
  std::int64_t slots = 1;
  std::int64_t lease_ms = 0;
  std::int64_t offline_ms_max = 0;  // jobs are ended when the service was away for longer
  bool once = false;                // ends after one job
};

class RunnerLink {
 public:
  using Log = std::function<void(bool ok, const std::string& text)>;
  // Returns where the service is, with the access token as it is now.
  using FindServer = std::function<Called<ServerAddress>()>;

  // Is told which endpoint has answered a report, which only an active server does.
  using NoteActive = std::function<void(const Endpoint& endpoint)>;

  // All outlive this. `find_server` is called for each new connection, on any thread, so that a
  // token can be replaced while jobs run.
  RunnerLink(ServerAddress server, FindServer find_server, NoteActive note_active,
             RunnerSettings settings, RunnerWork& work, RunnerJobs& jobs, ArtifactStore& artifacts,
             Log log);

  // Registers the runner unless it is registered, and then exchanges reports and answers until
  // stop(), or with `once` until a job is over. Blocks. Fails with RUNNER_EVICTED, or with
  // FORBIDDEN for a service that doesn't know this runner; anything else is tried again.
  Called<void> exchange();
  // Sends the results of jobs that have ended, until RunnerJobs::stop(). Blocks.
  void send_results();
  // Sends what jobs have printed, when the service asks for it, until stop(). Blocks.
  void send_outputs();
  // Tells the service that it ends, if that is possible within moments: it gets no new jobs then.
  void say_farewell();
  // Removes what runs that are over have left, every minute, worktrees when the service asks for
  // it, and every hour what is old of forgotten jobs, until stop(). Blocks.
  void clean_up(RunnerRuns& runs);
  // Makes all of them return soon. Any thread.
  void stop();

 private:
  // One connection, which is opened when it is needed and dropped after a failure.
  class Line {
   public:
    Line(ServerAddress server, const FindServer& find_server, std::chrono::milliseconds answer_time)
        : server_(std::move(server)), find_server_(find_server), answer_time_(answer_time) {}
    Called<boost::json::object> call(std::string_view method, const boost::json::object& params);
    // Makes the call under way fail, and all later ones.
    void interrupt();
    // Returns the address, with the endpoint of the latest answer first.
    [[nodiscard]] ServerAddress address() const;

   private:
    mutable std::mutex mutex_;  // of what interrupt() and address() touch
    ServerAddress server_;
    const FindServer& find_server_;
    const std::chrono::milliseconds answer_time_;
    std::shared_ptr<Client> client_;
    bool interrupted_ = false;
  };

  Called<void> register_runner();
  [[nodiscard]] RunnerReport next_report();
  // Sends the result with what it names, or what the job has used up alone if the result isn't
  // wanted. Returns whether the service has taken it.
  Called<bool> send_result(const EndedJob& job);
  // Asks the service to take the result, and returns whether it has.
  Called<bool> finish(const EndedJob& job, const JobResult& result);
  [[nodiscard]] bool wants_bundles();
  // Sends what the service doesn't have of a stream of the job's output. `is_newest` is said with
  // the last piece, also if there is nothing new.
  Called<void> send_output(Line& line, const std::string& job_id, const std::string& stream,
                           bool is_newest);
  // Removes what the service has asked for, and says what became of it. What fails is tried again
  // next time.
  void remove_worktrees(RunnerRuns& runs);
  void remove_worktree(RunnerRuns& runs, const WorkspaceRemoval& removal);
  void ask_about_runs(RunnerRuns& runs);
  void remove_old_files();
  // Takes those orders out of an answer that say what this version doesn't know, and ends them.
  void refuse_unreadable_orders(boost::json::object& answer);
  // Ends all jobs if the service has been away for too long.
  void note_away(const CallError& why);
  // Returns false once stop() was called.
  bool pause(std::chrono::milliseconds time);

  RunnerSettings settings_;
  RunnerWork& work_;
  RunnerJobs& jobs_;
  ArtifactStore& artifacts_;
  const Log log_;
  const ServerAddress server_;
  const FindServer find_server_;
  const NoteActive note_active_;
  const std::string instance_;  // of this process
  Line reports_;
  Line results_;
  Line outputs_;
  Line questions_;
  std::int64_t number_ = 0;  // of the latest report
  bool has_taken_ = false;
  bool drains_ = false;        // the service said so
  bool has_given_up_ = false;  // its jobs were ended because the service was away for too long
  std::string trouble_;        // the latest one that was logged
  std::optional<std::chrono::steady_clock::time_point> away_since_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  std::condition_variable first_answered_;
  std::optional<bool> wants_bundles_;  // nullopt: the service hasn't answered yet
  std::condition_variable output_wanted_;
  std::condition_variable removal_wanted_;
  std::set<std::string> outputs_wanted_;        // ids of jobs
  std::map<RunId, WorkspaceRemoval> removals_;  // by run
  bool has_new_removals_ = false;
  // How much of each job's streams the service has, as far as this process knows.
  std::map<std::string, std::map<std::string, std::uint64_t>> outputs_sent_;
  bool stopping_ = false;
  std::string uploading_job_;  // of send_results(): whose artifacts are uploaded
  ArtifactUploads uploads_;    // of send_results()
};

}  // namespace signalbox
