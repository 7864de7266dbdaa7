// What the service records when a job has ended: also of one whose attempt has ended before, and of
// one whose result it can't record.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "domain/limits.h"
#include "server/scheduler/station_jobs.h"
#include "tests/server/rpc_site.h"
#include "tests/server/unused_runner.h"

namespace signalbox {
namespace {

class JobEnd : public RpcSite, public ::testing::Test {
 protected:
  // Starts a run whose job is begun, and returns the job.
  Job begun() {
    const std::string id = start_run(
        R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"go","executor":"process","command":["true"]}]}})");
    jobs_.dispatch_ready();
    commit_all();
    run_id_ = *parse_uuid(id);
    return job_of(*engine.world().find_run(run_id_), "/data/runs");
  }
  [[nodiscard]] JobResult failed() const {
    JobResult result;
    result.failure = {Outcome::failed, ErrorClass::transient, "X", "it broke"};
    result.usage = used_;
    return result;
  }
  void ends(const Job& job, const JobResult& result) {
    reports_.finished(job, result);
    commit_all();
  }
  [[nodiscard]] bool has_event(const std::string& type) const {
    const auto types = event_types();
    return std::find(types.begin(), types.end(), type) != types.end();
  }

  const Usage used_{5, 6, 7};
  RunId run_id_{};
  std::vector<Usage> late_;
  JobReports reports_;
  StationJobs jobs_{
      engine,
      ids,
      [this](const JobReports& reports) {
        reports_ = reports;
        return std::make_unique<UnusedRunner>();
      },
      at_once,
      [](const Job&, const std::string&) {},
      {.ownership = JobOwnership({}, [](const std::string&) { return true; }),
       .runs_root = "/data/runs",
       .note_late_usage = [this](const Job&, const Usage& usage) { late_.push_back(usage); }}};
};

TEST_F(JobEnd, ComesWithItsUsage) {  // A5
  const Job job = begun();
  ends(job, failed());
  EXPECT_EQ(engine.world().find_run(run_id_)->used, used_);
  EXPECT_TRUE(late_.empty());
}

// Only its usage is left to be said: another's word has ended the attempt.
TEST_F(JobEnd, AfterThatOfItsAttemptTellsItsUsageAlone) {  // A5
  const Job job = begun();
  ends(job, failed());
  const auto events = event_types().size();
  ends(job, failed());
  EXPECT_EQ(late_, std::vector<Usage>{used_});
  EXPECT_EQ(event_types().size(), events);
}

TEST_F(JobEnd, OfACanceledRunAfterThatOfItsAttemptTellsItsUsageAlone) {  // A5
  const Job job = begun();
  ends(job, failed());
  take(ResumeRun{run_id_, {}, {}, {}});  // without a wait
  jobs_.dispatch_ready();
  commit_all();
  EXPECT_EQ(code_of(ask("run.cancel", R"({"run_id":")" + to_string(run_id_) + "\"}")), "");
  ends(job, failed());
  EXPECT_EQ(late_, std::vector<Usage>{used_});
  EXPECT_TRUE(engine.world().find_run(run_id_)->attempt) << "the other attempt goes on";
}

// The attempt ends with another failure, and what it used up counts all the same.
TEST_F(JobEnd, WhoseResultIsRefusedKeepsItsUsage) {  // A5, G1
  const Job job = begun();
  JobResult result = failed();
  result.result.summary = std::string(limits::summary_bytes_max + 1, 'x');
  ends(job, result);
  EXPECT_TRUE(has_event("StationUsageReported"));
  EXPECT_EQ(engine.world().ended_runs.find(run_id_) == nullptr
                ? engine.world().find_run(run_id_)->used
                : used_,
            used_);
  EXPECT_TRUE(late_.empty());
}

}  // namespace
}  // namespace signalbox
