// Tests when a runner begins the jobs that it has taken.
#include "tools/runner/runner_jobs.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "domain/limits.h"

namespace signalbox {
namespace {

class OrdersInMemory final : public RunnerOrders {
 public:
  [[nodiscard]] Called<std::vector<RunnerOrder>> taken() const override {
    return std::vector<RunnerOrder>();
  }
  Called<void> take(const RunnerOrder&) override { return {}; }
  [[nodiscard]] bool has_ended(const std::string&) const override { return false; }
  Called<void> forget(const std::string&) override { return {}; }
  Called<void> place(const RunId& run_id, const PlacedRun&) override {
    if (is_full) return tl::unexpected(usage_error("the disk is full"));
    placed.insert(run_id);
    return {};
  }

  std::set<RunId> placed;
  bool is_full = false;
};

// Says which jobs were begun, and ended.
class NotingRunner final : public JobRunner {
 public:
  explicit NotingRunner(std::vector<std::string>& said) : said_(said) {}
  void track(Job job) override { said_.push_back("begin " + job.id); }
  void cancel(const std::string& job_id) override { said_.push_back("end " + job_id); }

 private:
  std::vector<std::string>& said_;
};

class JobsOfARunner : public ::testing::Test {
 protected:
  // Has the runner take a job of the run.
  void order(const std::string& job_id, const RunId& run_id) {
    RunnerOrder order;
    order.job.id = job_id;
    order.job.run_id = run_id;
    order.job.repository = "/repository";
    RunnerAnswer answer;
    answer.orders.push_back(std::move(order));
    jobs.apply(answer, {});
  }
  void cancel(const std::string& job_id) {
    RunnerAnswer answer;
    answer.cancel.push_back(job_id);
    jobs.apply(answer, {});
  }

  const RunId run = *parse_uuid("0190163d-8694-739b-aea5-966c26f8ad91");
  const RunId other = *parse_uuid("0190163d-8694-739b-aea5-966c26f8ad92");
  OrdersInMemory orders;
  std::vector<std::string> said;
  JobReports reports;
  RunnerJobs jobs{orders, [](const Job& job) { return job; }, [](bool, const std::string&) {},
                  [this](JobReports given) {
                    reports = std::move(given);
                    return std::make_unique<NotingRunner>(said);
                  }};
};

TEST_F(JobsOfARunner, WaitWhileTheWorkspaceOfTheirRunIsRemoved) {  // N5
  auto held = jobs.hold_jobs_of(run);
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(jobs.hold_jobs_of(run), nullptr) << "somebody removes it already";
  order("retried", run);
  order("another", other);
  EXPECT_EQ(said, std::vector<std::string>{"begin another"});
  EXPECT_EQ(jobs.report().size(), 2U) << "the service knows that it is taken";
  orders.placed.clear();  // with the workspace
  held.reset();
  EXPECT_EQ(said, (std::vector<std::string>{"begin another", "begin retried"}));
  EXPECT_TRUE(orders.placed.contains(run)) << "else its work would be removed with its workspace";
}

TEST_F(JobsOfARunner, KeepTheWorkspaceFromBeingRemoved) {  // N5
  order("job", run);
  EXPECT_EQ(jobs.hold_jobs_of(run), nullptr);
  Job job;
  job.id = "job";
  job.run_id = run;
  reports.finished(job, {});
  EXPECT_NE(jobs.hold_jobs_of(run), nullptr);
}

TEST_F(JobsOfARunner, ThatWereEndedWhileTheyWaitedAreEnded) {  // N5
  auto held = jobs.hold_jobs_of(run);
  order("retried", run);
  cancel("retried");
  EXPECT_TRUE(said.empty());
  held.reset();
  EXPECT_EQ(said, (std::vector<std::string>{"begin retried", "end retried"}));
}

TEST_F(JobsOfARunner, WhoseWorkspaceCannotBeNotedAreNotBegun) {  // N5
  auto held = jobs.hold_jobs_of(run);
  order("retried", run);
  orders.is_full = true;
  held.reset();
  EXPECT_TRUE(said.empty());
  const auto ended = jobs.next_ended();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->result.failure.code, "JOB_STORAGE");
  EXPECT_EQ(ended->result.failure.error_class, ErrorClass::transient);
}

TEST_F(JobsOfARunner, SayWhyTheirResultsCannotBeSentUntilTheyAre) {  // N4, O1
  order("job", run);
  Job job;
  job.id = "job";
  job.run_id = run;
  reports.finished(job, {});
  ASSERT_TRUE(jobs.next_ended());
  EXPECT_FALSE(jobs.report().front().undelivered);
  jobs.send_again("job", std::string(limits::reason_bytes_max + 1, 'a'));
  ASSERT_TRUE(jobs.report().front().undelivered);
  EXPECT_LE(jobs.report().front().undelivered->size(), limits::reason_bytes_max);
  jobs.note_sent("job", /*taken=*/true);
  EXPECT_FALSE(jobs.report().front().undelivered);
}

// A report is one line, and jobs have little else to say.
TEST_F(JobsOfARunner, SayItOfSomeOnlyWhereManyCannotBeSent) {  // N4
  constexpr std::size_t many = 100;
  for (std::size_t each = 0; each < many; ++each) {
    const std::string id = std::to_string(each);
    order(id, run);
    jobs.send_again(id, std::string(limits::reason_bytes_max, 'a'));
  }
  std::size_t said_bytes = 0;
  for (const RunnerJobReport& each : jobs.report()) {
    said_bytes += each.undelivered.value_or("").size();
  }
  EXPECT_GT(said_bytes, 0U);
  EXPECT_LE(said_bytes, 64U * 1024);
}

}  // namespace
}  // namespace signalbox
