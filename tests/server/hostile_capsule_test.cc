// Capsules whose records no service has written: without the key, anybody can make one that proves
// itself.
#include <gtest/gtest.h>

#include "store/codec.h"
#include "store/rocks_event_log.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/projections/two_stations.h"
#include "tools/audit/capsule_replay.h"

namespace signalbox {
namespace {

class HostileCapsule : public ::testing::Test {
 protected:
  // Returns the message with which a capsule is refused that has a start with this pipeline, and
  // then these events of the run.
  std::string refusal_of(const PipelineDefinition& pipeline, const std::vector<Event>& events) {
    const RunId run = *parse_uuid("0190163d-8694-739b-aea5-966c26f8ad91");
    RunStarted start;
    start.goal = "do harm";
    start.pipeline = pipeline;
    start.pipeline_digest = pipeline_digest(pipeline);
    Commit commit;
    const auto add = [&](const Event& event) {
      Record& record = commit.emplace_back();
      record.position = commit.size();
      record.stream = Stream::run(run);
      record.actor = "uid:0";
      record.event = event;
    };
    add(RunEvent{start});
    for (const Event& each : events) add(each);
    const std::filesystem::path data = scratch_.path() / "data";
    {
      auto log = RocksEventLog::open(data, {});
      EXPECT_TRUE(log);
      EXPECT_EQ((*log)->append(0, std::span(&commit, 1)).status, AppendStatus::ok);
    }
    const std::string file = (scratch_.path() / "run.capsule").string();
    CapsuleRequest request;
    request.data = data;
    request.run_id = run;
    request.file = file;
    request.signers.push_back(NoteSigner::generate("example.com/box"));
    const auto written = write_capsule(request);
    EXPECT_TRUE(written) << message_of(written.error());
    const auto replayed = replay_capsule({file, {}, ""});
    return replayed ? "" : message_of(replayed.error());
  }

  TemporaryDirectory scratch_;
};

TEST_F(HostileCapsule, WithoutStationsIsRefused) {  // R6
  PipelineDefinition pipeline = two_stations();
  pipeline.stations.clear();
  EXPECT_NE(refusal_of(pipeline, {}).find("has no stations"), std::string::npos);
}

TEST_F(HostileCapsule, WithTheUseOfNoAttemptIsRefused) {  // R6
  StationHeld held;
  held.station = "a";
  StationUsageReported used;
  used.station = "a";
  EXPECT_NE(refusal_of(two_stations(), {StationEvent{held}, StationEvent{used}})
                .find("isn't one that StationUsageReported can follow"),
            std::string::npos);
}

}  // namespace
}  // namespace signalbox
