// A service that knows of runners, and one runner that reports to it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "domain/nanoseconds.h"
#include "server/limits.h"
#include "server/runners/runner_executor.h"
#include "server/runners/runner_registry.h"

namespace signalbox {

class RunnerRegistryTest : public ::testing::Test {
 protected:
  using Names = std::vector<std::string>;
  inline static const std::string one = runner_id("one", "0123456789abcdef");

  static Job job(const std::string& id) {
    Job job;
    job.id = id;
    job.machine = one;
    job.token = 5;
    return job;
  }
  RunnerReport report_of(const std::vector<RunnerJobReport>& jobs = {}) {
    RunnerReport report;
    report.runner = one;
    report.start = start;
    report.number = ++number;
    report.labels = {"gpu"};
    report.slots = 2;
    report.lease_ms = limits::runner_lease_ms_min;
    report.jobs = jobs;
    return report;
  }
  RunnerRegistry::ReportNews news_of(const std::vector<RunnerJobReport>& jobs) {
    const auto news = registry.report(report_of(jobs), now_ns);
    EXPECT_TRUE(news);
    return news.value_or(RunnerRegistry::ReportNews{});
  }
  bool report(const std::vector<RunnerJobReport>& jobs = {}) { return news_of(jobs).offers; }
  RunnerAnswer answer() { return registry.answer(one, is_wanted); }
  // Lets time pass as the service does, which sweeps each second.
  bool pass(std::int64_t ms) {
    bool changed = false;
    for (; ms > 0; ms -= 1000) {
      now_ns += std::min<std::int64_t>(ms, 1000) * ns_per_ms;
      changed = registry.sweep(now_ns, is_wanted) || changed;
    }
    return changed;
  }
  Executed<JobState> poll(const std::string& id) { return executor.poll(job(id)); }

  std::int64_t now_ns = 1'000 * ns_per_s;
  std::int64_t start = 1;
  std::int64_t number = 0;
  std::set<std::string> wanted{"a", "b"};
  Names woken;
  RunnerRegistry::IsWanted is_wanted = [this](const std::string& runner, const std::string& id) {
    return runner == one && wanted.contains(id);
  };
  RunnerRegistry registry{now_ns, [this](const std::string& runner) { woken.push_back(runner); }};
  RunnerExecutor executor{{[](const std::string& id) { return "secret of " + id; }}, registry};
};

}  // namespace signalbox
