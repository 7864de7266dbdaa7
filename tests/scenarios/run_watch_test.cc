// What `run watch` says while the run waits for a person.
#include "tests/scenarios/lock_fixture.h"

namespace signalbox {
namespace {

class RunWatchTest : public CliTest {};

// On a terminal the last line would be that of an event, and then nothing.
TEST_F(RunWatchTest, AWatchSaysWhatTheRunWaitsFor) {  // O2
  const std::string run = start_run_of(
      "name = \"p\"\n[[station]]\nname = \"release\"\nexecutor = \"approval\"\n"
      "[[station]]\nname = \"later\"\n",
      "g");
  const std::string data = server_.data().string();
  BackgroundCommand watching({SIGNALBOX_BINARY, "run", "watch", run, "--data", data},
                             scratch_.path() / "watch");
  const std::string said =
      "the run waits for you: station release waits for a decision\n  try: "
      "signalbox --data " +
      data + " run approve " + run + "\n";
  EXPECT_TRUE(eventually([&] { return watching.err() == said; })) << watching.err();
  result({"run", "resume", run, "--station", "release", "--decision", "approve"});
  result({"run", "pause", run, "--reason", "an upgrade"});
  EXPECT_TRUE(eventually([&] {
    return watching.err() == said +
                                 "the run waits for you: it is paused: an upgrade\n  try: "
                                 "signalbox --data " +
                                 data + " run resume " + run + "\n";
  })) << watching.err();
  result({"run", "cancel", run});
  EXPECT_EQ(watching.wait(), 1);
}

}  // namespace
}  // namespace signalbox
