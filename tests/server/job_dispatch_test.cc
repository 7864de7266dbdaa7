// Which ready stations the service gives to which machine.
#include <gtest/gtest.h>

#include "domain/placement.h"
#include "server/scheduler/station_jobs.h"
#include "tests/server/rpc_site.h"
#include "tests/server/unused_runner.h"

namespace signalbox {
namespace {

class JobDispatch : public RpcSite, public ::testing::Test {
 protected:
  // Starts a run that needs a machine with this label.
  RunId start_for(const std::string& label) {
    return *parse_uuid(
        start_run(R"({"goal":"g","pipeline":{"name":"p","runs_on":[")" + label +
                  R"("],"station":[{"name":"work","executor":"process","command":["true"]}]}})"));
  }
  // Returns whether a job of the run was given to a machine.
  [[nodiscard]] bool is_given(const RunId& id) const {
    return engine.world().find_run(id)->attempt.has_value();
  }
  // Returns the id of a runner with this label, which has reported.
  std::string offer(const std::string& label) {
    const std::string id = runner_id(label, "0123456789abcdef");
    auto offers = std::make_shared<RunnerOffers>(*offers_);
    (*offers)[id] = RunnerOffer{{id, {label}, {}}, 4, true, false};
    offers_ = std::move(offers);
    return id;
  }

  std::shared_ptr<const RunnerOffers> offers_ = std::make_shared<RunnerOffers>();
  StationJobs jobs_{engine,
                    ids,
                    [](const JobReports&) { return std::make_unique<UnusedRunner>(); },
                    at_once,
                    [](const Job&, const std::string&) {},
                    {JobOwnership({}, [](const std::string&) { return true; }), "/data/runs", 1, 1,
                     [this] { return offers_; }}};
};

// Its offer stands until the decision is durable.
TEST_F(JobDispatch, PassesOverARunnerThatWasDrainedThisMoment) {  // N3
  const RunId first = start_for("gpu");
  const RunId second = start_for("cpu");
  const std::string gpu = offer("gpu");
  (void)offer("cpu");
  (void)engine.begin(by_the_service).apply(DrainRunner{gpu, {}});
  jobs_.dispatch_ready();
  EXPECT_FALSE(is_given(first));
  EXPECT_TRUE(is_given(second));
}

}  // namespace
}  // namespace signalbox
