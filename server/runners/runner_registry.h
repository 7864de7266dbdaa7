// The runners that have reported to this process, and the jobs that they were given.
//
// It is memory only: after a restart of the service the runners report again, and what they have
// tells how the jobs of the log are. A runner that doesn't report within its lease is lost, and so
// are its jobs. What operators decide about runners comes from the log (apply(), restore()).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <boost/describe/enum.hpp>

#include "domain/error.h"
#include "domain/event.h"
#include "domain/world.h"
#include "server/runners/runner_report.h"
#include "server/scheduler/runner_offers.h"

namespace signalbox {

enum class RunnerState : std::uint8_t {
  connected = 1,
  away = 2,     // its latest report is older than usual, or it hasn't reported since the start
  lost = 3,     // away for longer than its lease
  evicted = 4,  // by an operator
};
BOOST_DESCRIBE_ENUM(RunnerState, connected, away, lost, evicted)

// A runner as people see it.
struct RunnerView {
  std::string runner;
  RunnerState state = RunnerState::away;
  bool drains = false;
  std::vector<std::string> labels;
  std::vector<std::string> repositories;
  std::int64_t slots = 0;
  std::int64_t lease_ms = 0;
  std::int64_t seen_ms_ago = 0;
  std::vector<std::string> jobs;  // ids
  std::string version;            // of its program; empty: it didn't say
};

// Returns the runners that the log names: those that are drained or evicted, and those that have a
// job, the workspace of a run or a worktree. What a runner says of itself isn't in the log, so each
// that isn't evicted is `away`, as after a start at that moment, and `jobs` has those under way.
std::vector<RunnerView> recorded_runners(const World& world);

// Returns RUNNER_NOT_FOUND, with the id shortened if it is too long for one.
tl::unexpected<Rejection> runner_not_found(const std::string& runner);

// Any thread, unless a function says otherwise.
class RunnerRegistry {
 public:
  // `wake` is called, on any thread, when there is something new for a runner.
  RunnerRegistry(std::int64_t monotonic_ns, std::function<void(const std::string& runner)> wake);

  // For the service's own executor. Each concerns the job's machine, a runner.
  enum class JobLook { away, absent, running, finished, lost };
  [[nodiscard]] JobLook look_at(const Job& job);
  void order(const Job& job, const std::string& secret);
  void cancel(const Job& job);
  // Return what the runner said of the job; nothing if that isn't known.
  [[nodiscard]] std::string external_ref_of(const Job& job);
  [[nodiscard]] std::optional<JobResult> result_of(const Job& job);
  void forget(const Job& job);
  // Asks the job's runner for what the job has printed, with the next answer. Returns false if the
  // runner isn't connected, or doesn't have the job.
  bool want_output(const std::string& runner, const std::string& job_id);
  // Returns whether the runner is connected and has the job.
  [[nodiscard]] bool has_job(const std::string& runner, const std::string& job_id) const;
  // Returns a sentence about why the job's runner doesn't answer.
  [[nodiscard]] std::string why_away(const Job& job);

  // For the methods of the protocol, on the engine's thread.
  // Returns whether the result of a job is still wanted from this runner: its attempt is under way.
  using IsWanted = std::function<bool(const std::string& runner, const std::string& job_id)>;

  struct ReportNews {
    bool offers = false;  // what the runners offer has changed
    std::vector<std::string>
        jobs;  // ids of those about which the runner said something else before
  };
  // Takes a report whose key was checked, and whose jobs are wanted. Returns what is new in it.
  // RUNNER_EVICTED; FORBIDDEN for a process of the runner that a later one has replaced; OVERLOADED
  // if there are runners_max, or caller_runners_max of this caller.
  Decided<ReportNews> report(const RunnerReport& report, std::int64_t monotonic_ns,
                             const std::string& caller = {});
  // Returns what the runner is to do.
  [[nodiscard]] RunnerAnswer answer(const std::string& runner, const IsWanted& is_wanted);
  // Returns how many jobs the runner has, as far as it is known.
  [[nodiscard]] std::size_t count_jobs(const std::string& runner) const;
  // Takes the result of a job, and its external ref if that isn't empty. Returns false if the
  // runner wasn't given it.
  bool finish(const std::string& runner, const std::string& job_id, JobResult result,
              const std::string& external_ref = {});
  // Marks runners whose lease is over as lost, and drops what nobody wants of them. Returns whether
  // what the runners offer has changed. A process that was stopped gives all of them their full
  // lease again.
  bool sweep(std::int64_t monotonic_ns, const IsWanted& is_wanted);
  // Jobs that were begun until `position` are only lost once their runner has reported here, or is
  // evicted: they were begun by a service that had the log before, and may be under way for it.
  void expect_former_jobs(Position position);
  // Makes a runner known that the log names, and that may not have reported yet.
  void expect(const std::string& runner);
  // Takes what operators have decided, from records that are durable: what a runner is told about
  // it can't be taken back. Returns whether there was any.
  bool apply(std::span<const Record> records);
  // The same for what was decided before this process, or another server of the cell, has begun.
  void restore(const World& world);
  void drain(const std::string& runner, bool drains);
  void evict(const std::string& runner, bool evicted = true);
  [[nodiscard]] std::vector<RunnerView> list(std::int64_t monotonic_ns) const;
  // RUNNER_NOT_FOUND.
  [[nodiscard]] Decided<RunnerView> get(const std::string& runner, std::int64_t monotonic_ns) const;
  // Returns those that report with this caller's token.
  [[nodiscard]] std::vector<std::string> of_caller(const std::string& caller) const;
  [[nodiscard]] std::shared_ptr<const RunnerOffers> offers();

 private:
  // A job that was given to a runner, as far as this process knows.
  struct GivenJob {
    Job job;
    std::string secret;
    bool is_ordered = false;   // `job` is to be taken
    bool is_canceled = false;  // it is to be ended
    bool is_taken = false;     // the runner has it
    bool is_lost = false;      // the runner had it
    std::string external_ref;
    std::optional<JobResult> result;
  };
  struct Runner {
    RunnerReport latest;  // without key and jobs
    std::string caller;   // whose token it reports with
    std::map<std::string, RunnerJobReport> reported;
    std::map<std::string, GivenJob> given;
    std::set<std::string> outputs_wanted;  // ids of jobs
    std::int64_t seen_ns = 0;   // monotonic: of the latest report, or the start of the wait for one
    bool has_reported = false;  // to this process
    bool is_lost = false;
    bool is_evicted = false;
    bool is_drained = false;  // by an operator
    [[nodiscard]] bool is_decided() const { return is_evicted || is_drained; }
    [[nodiscard]] bool is_gone() const { return is_lost && given.empty(); }
    [[nodiscard]] std::int64_t lease_ms() const;
  };

  // These require mutex_.
  Runner& known(const std::string& runner);
  [[nodiscard]] RunnerView view_of(const std::string& name, const Runner& runner,
                                   std::int64_t monotonic_ns) const;
  [[nodiscard]] RunnerState state_of(const Runner& runner) const;
  [[nodiscard]] RunnerOffers present_offers() const;
  bool make_room();

  const std::function<void(const std::string& runner)> wake_;
  mutable std::mutex mutex_;
  std::map<std::string, Runner> runners_;
  std::int64_t now_ns_;                         // of the latest sweep
  std::shared_ptr<const RunnerOffers> offers_;  // nullptr: to be made anew
  Position former_until_ = 0;                   // of expect_former_jobs()
};

}  // namespace signalbox
