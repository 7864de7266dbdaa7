// Tests which other machine the log says has worked on a run.
#include <gtest/gtest.h>

#include "domain/placement.h"
#include "server/followers/recorded_run.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class OtherMachine : public ::testing::Test, protected RpcSite {
 protected:
  // Starts a run whose station has this executor, and gives its job to the machine.
  RunId given_to(const std::string& machine, const std::string& station) {
    const RunId run_id = *parse_uuid(
        start_run(R"({"goal":"g","pipeline":{"name":"p","station":[)" + station + "]}}"));
    take(DispatchStation{run_id, ids.next_span_id(), {}, machine});
    settle();
    return run_id;
  }
  std::string other_than_own(const RunId& run_id) {
    const auto found = other_machine_of(projector, log, "own", run_id);
    EXPECT_TRUE(found.has_value()) << found.error();
    return found.value_or("");
  }

  const std::string process = R"({"name":"work","executor":"process","command":["true"]})";
};

TEST_F(OtherMachine, IsTheOneThatAJobWasGivenTo) {  // K13
  EXPECT_EQ(other_than_own(given_to("another", process)), "another");
  EXPECT_EQ(other_than_own(given_to("own", process)), "");
}

TEST_F(OtherMachine, IsNoRunnerAndNoneOfWhatTheLogDoesNotSay) {  // K13
  EXPECT_EQ(other_than_own(given_to(runner_id("box", "0123456789abcdef"), process)), "");
  EXPECT_EQ(other_than_own(given_to("", process)), "") << "an earlier version recorded none";
  EXPECT_EQ(other_than_own(ids.next_run_id(0)), "") << "there is no such run";
}

}  // namespace
}  // namespace signalbox
