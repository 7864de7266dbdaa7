// The jobs of a runner: takes orders, has them executed, and knows how each is. The simulator has
// the same, on its own schedule.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/scheduler/job_runner.h"
#include "tools/runner/runner_orders.h"

namespace signalbox {

// A job that has ended and whose result the service doesn't have yet, or of whose result it only
// takes what the job has used up.
struct EndedJob {
  std::string job_id;
  std::string external_ref;
  JobResult result;
  bool is_unwanted = false;  // only its usage is to be sent
};

// Any thread.
class RunnerJobs {
 public:
  using Log = std::function<void(bool ok, const std::string& text)>;

  using MakeRunner = std::function<std::unique_ptr<JobRunner>(JobReports reports)>;
  // Returns the job with this machine's paths in the place of the service's.
  using JobHere = std::function<Job(const Job& job)>;

  // `orders` outlives this.
  RunnerJobs(RunnerOrders& orders, JobHere job_here, Log log, const MakeRunner& make_runner);

  // Loads the jobs that an earlier process of this runner took. They are begun or followed only
  // once the service has said that it still wants them: see apply().
  Called<void> load();
  // Does what the service's answer says. `asked` are the jobs of the report that it answers: those
  // of them that it doesn't forget are wanted.
  void apply(const RunnerAnswer& answer, const std::vector<RunnerJobReport>& asked);

  // Ends a job whose order can't be read, for this reason. What is no job's id is left out.
  void refuse_unreadable(const std::string& job_id, const std::string& why);

  [[nodiscard]] std::vector<RunnerJobReport> report() const;
  // Returns how many jobs it has: also those that have ended and aren't forgotten yet.
  [[nodiscard]] std::size_t size() const;
  // Keeps further jobs of the run from being begun as long as the result lives; nullptr if one may
  // be working in its workspace, or if they are kept from it already. Those that are taken
  // meanwhile begin afterwards. The result doesn't outlive this.
  [[nodiscard]] std::shared_ptr<const void> hold_jobs_of(const RunId& run_id);
  // Returns how many jobs it has ever forgotten: 0 until the first one is over.
  [[nodiscard]] std::size_t done() const;

  // Returns what a job authenticates with; "" for one that isn't here.
  [[nodiscard]] std::string secret_of(const std::string& job_id) const;
  // Returns the span of its attempt, which its processes have in their environment; "" as above.
  [[nodiscard]] std::string span_of(const std::string& job_id) const;

  // Returns a job that has ended and whose result is to be sent now, if there is one.
  std::optional<EndedJob> next_ended();
  // Blocks until a job has ended whose result is to be sent, or `stop()`; then nullopt.
  std::optional<EndedJob> wait_for_ended();
  // Notes that the service has answered: it has the result (`taken`), or has ended the attempt
  // before, and has recorded what the job used up as far as it knows of it.
  void note_sent(const std::string& job_id, bool taken);
  // Has the result sent again later, after an attempt that failed for this reason. Others aren't
  // held up.
  void send_again(const std::string& job_id, const std::string& why);
  // Has this sent instead of a result that can't be.
  void replace_result(const std::string& job_id, Failure why);

  // Ends all jobs, for a service that was away for too long, or doesn't want them any more.
  void cancel_all();
  // Blocks until all jobs have ended, for `patience` beyond the longest time in which one of them
  // may end by itself, or until stop(). Returns the ids of those that have not.
  std::vector<std::string> await_ends(std::chrono::milliseconds patience);
  // Returns the digests of what the results name that the service doesn't have yet.
  [[nodiscard]] std::set<Digest> unsent_artifacts() const;
  // Makes wait_for_ended() return. The jobs go on: the next process of the runner finds them.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  struct Taken {
    RunnerOrder order;
    bool is_wanted = false;    // the service wants it, or its end
    bool is_tracked = false;   // it is begun or followed
    bool is_ending = false;    // it is canceled or forgotten
    bool is_unwanted = false;  // forgotten once it has ended, and the service knows its usage
    bool is_sent = false;      // the service has its result
    bool is_told = false;      // its usage, since its attempt had ended at the service
    bool is_sending = false;
    std::chrono::milliseconds send_pause{0};
    Clock::time_point send_at{};  // not before
    std::string undelivered;      // why the latest attempt failed
    std::string external_ref;
    std::optional<JobResult> result;
  };

  void release(const RunId& run_id);

  // All require mutex_.
  // Notes where the workspace of the job's run belongs to.
  Called<void> place(const Job& job);
  void take(const RunnerOrder& order);
  void refuse(const RunnerOrder& order, Failure why);
  void track(Taken& taken);
  void track_next_of(const RunId& run_id);
  void end(Taken& taken);
  bool forget_if_over(const std::string& job_id, Taken& taken);
  // Says what becomes of a job that the service tells to forget, unless it has its result.
  void log_forgotten(const std::string& job_id, const Taken& taken) const;
  // Returns whether the job's result, or its usage, is still to be sent.
  [[nodiscard]] static bool is_to_be_sent(const Taken& taken);
  // Returns a job whose result is to be sent now; else sets when the next one is to be sent, if one
  // waits.
  std::optional<EndedJob> take_ended(Clock::time_point& next);

  void note_submitted(const Job& job, const std::string& external_ref);
  void note_finished(const Job& job, const JobResult& result);

  RunnerOrders& orders_;
  const JobHere job_here_;
  const Log log_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::condition_variable all_ended_;  // notified with each end, and by stop()
  std::map<std::string, Taken> jobs_;
  std::set<RunId> held_;  // runs of which no job is begun
  std::size_t done_ = 0;
  bool stopping_ = false;
  std::unique_ptr<JobRunner> runner_;  // last: its threads use the rest
};

}  // namespace signalbox
