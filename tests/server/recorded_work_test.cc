// Tests how much of a log's work is recorded for a what-if.
#include "server/replay/what_if/recorded_work.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include <boost/json/serialize.hpp>

#include "domain/evolve.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

constexpr std::int64_t beat_ns = 1'000'000'000;

class RecordedBeats : public ::testing::Test, protected RpcSite {
 protected:
  // Works on a run with so many heartbeats, one a second after a pause of ten, and returns those
  // that are recorded.
  std::vector<RecordedBeat> of(std::size_t beats) {
    const std::string run =
        start_run(R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"implement",)"
                  R"("heartbeat_timeout":"1h"}]}})");
    const auto claim = ask("station.claim", R"({"worker":"ann","run_id":")" + run + "\"}");
    const std::string holder = R"({"run_id":")" + run + R"(","station":"implement","token":)" +
                               boost::json::serialize(claim.at("result").at("claim").at("token"));
    clock.advance_ms(9000);
    for (std::size_t beat = 0; beat < beats; ++beat) {
      clock.advance_ms(1000);
      EXPECT_EQ(code_of(ask("station.heartbeat", holder + "}")), "");
    }
    EXPECT_EQ(code_of(ask("station.complete", holder + R"(,"outcome":"succeeded"})")), "");
    World world;
    WorkRecorder recorder(world);
    EXPECT_TRUE(log.scan(1, log.tail(), [&](Record&& record) {
      evolve(world, record);
      return recorder.apply(world, record);
    }));
    return std::move(recorder).finish().runs.at(0).stations.at(0).attempts.at(0).beats;
  }
};

TEST_F(RecordedBeats, AreAllKeptUpToTheirLimit) {  // P8
  EXPECT_EQ(of(recorded_beats_max).size(), recorded_beats_max);
}

TEST_F(RecordedBeats, AreThinnedOutBeyondItAndNoGapBecomesWider) {  // P8
  const std::vector<RecordedBeat> beats = of(recorded_beats_max + 1);
  EXPECT_LT(beats.size(), recorded_beats_max / 4);
  std::int64_t before_ns = 0;
  for (const RecordedBeat& beat : beats) {
    EXPECT_LE(beat.after_ns - before_ns, 10 * beat_ns);
    before_ns = beat.after_ns;
  }
  EXPECT_EQ(before_ns, static_cast<std::int64_t>(recorded_beats_max + 10) * beat_ns)
      << "the last one is kept";
}

}  // namespace
}  // namespace signalbox
