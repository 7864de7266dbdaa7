// The jobs of a runner: takes orders, executes them with the service's own executor, and knows how
// each is.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/executors/process/process_executor.h"
#include "server/platform/directory_artifacts.h"
#include "server/platform/lane_pool.h"
#include "server/scheduler/job_runner.h"
#include "tools/runner/runner_work.h"

namespace signalbox {

// Where the repositories of the service's runs are on this machine, by their paths there.
using RunnerRepositories = std::map<std::string, std::filesystem::path>;

// A job that has ended and whose result the service doesn't have yet.
struct EndedJob {
  std::string job_id;
  std::string external_ref;
  JobResult result;
};

// Any thread.
class RunnerJobs {
 public:
  using Log = std::function<void(const std::string& text)>;

  RunnerJobs(const RunnerWork& work, RunnerRepositories repositories, Log log);
  ~RunnerJobs();

  // Loads the jobs that an earlier process of this runner took. They are begun or followed only
  // once the service has said that it still wants them: see apply().
  Called<void> load();
  // Does what the service's answer says. `asked` are the jobs of the report that it answers: those
  // of them that it doesn't forget are wanted.
  void apply(const RunnerAnswer& answer, const std::vector<RunnerJobReport>& asked);

  [[nodiscard]] std::vector<RunnerJobReport> report() const;
  // Returns how many jobs it has: also those that have ended and aren't forgotten yet.
  [[nodiscard]] std::size_t size() const;
  // Returns how many jobs it has ever forgotten: 0 until the first one is over.
  [[nodiscard]] std::size_t done() const;

  // Blocks until a job has ended whose result is to be sent, or `stop()`; then nullopt.
  std::optional<EndedJob> wait_for_ended();
  // Notes that the service has the result.
  void note_sent(const std::string& job_id);
  // Has the result sent again later, after an attempt that failed. Others aren't held up.
  void send_again(const std::string& job_id);
  // Has this sent instead of a result that can't be.
  void replace_result(const std::string& job_id, Failure why);
  [[nodiscard]] ArtifactStore& artifacts() { return artifacts_; }

  // Ends all jobs, for a service that was away for too long.
  void cancel_all();
  // Makes wait_for_ended() return. The jobs go on: the next process of the runner finds them.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  struct Taken {
    RunnerOrder order;
    bool is_wanted = false;    // the service wants it, or its end
    bool is_tracked = false;   // it is begun or followed
    bool is_ending = false;    // it is canceled or forgotten
    bool is_unwanted = false;  // forgotten once it has ended
    bool is_sent = false;      // the service has its result
    bool is_sending = false;
    std::chrono::milliseconds send_pause{0};
    Clock::time_point send_at{};  // not before
    std::string external_ref;
    std::optional<JobResult> result;
  };

  // All require mutex_.
  void take(const RunnerOrder& order);
  void refuse(const RunnerOrder& order, Failure why);
  void track(Taken& taken);
  void track_next_of(const RunId& run_id);
  void end(Taken& taken);
  bool forget_if_over(const std::string& job_id, Taken& taken);
  [[nodiscard]] Job job_here(const Job& job) const;

  void note_submitted(const Job& job, const std::string& external_ref);
  void note_finished(const Job& job, const JobResult& result);

  const RunnerWork& work_;
  const RunnerRepositories repositories_;
  const Log log_;
  DirectoryArtifacts artifacts_;
  ProcessExecutor executor_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::map<std::string, Taken> jobs_;
  std::size_t done_ = 0;
  bool stopping_ = false;
  LanePool lanes_;
  LanePool remote_lanes_;
  std::unique_ptr<JobThreads> threads_;  // last: its threads use the rest
};

}  // namespace signalbox
