// What somebody else puts into a run root outlives removals of what was ours: live, and after a
// crash, where old ones are carried out late.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "store/memory_event_log.h"
#include "tests/server/run_root_site.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* foreign_lock =
    R"({"owner":"stranger","expires_at":"2999-01-01T00:00:00Z","token":1,"key":"deploy"})";
constexpr const char* foreign_marker =
    R"({"ts":"2020-01-01T00:00:00Z","stage":"plan","reason":"theirs","loop":"loop","token":1})";

class RunRootStranger : public testing::Test {
 protected:
  RunRootStranger() { begin_life(); }

  void begin_life() {
    site = std::make_unique<RunRootSite>(log, data);
    site->start();
  }
  // The next life finds what is remembered of the files as it was then, and the files as they are.
  void crash_with_progress_of(const std::string& remembered) {
    site->stop();
    site.reset();
    if (remembered.empty()) {
      fs::remove(progress);
    } else {
      std::ofstream(progress) << remembered;
    }
  }
  std::string remembered_now() {  // as of a clean end
    site->stop();
    site.reset();
    const std::string text = content_of(progress);
    begin_life();
    return text;
  }
  static void put(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  // Somebody puts a lock and a marker there before the next life makes up for what was left.
  void crash_and_expect_that_strangers_stay(const std::string& remembered) {
    crash_with_progress_of(remembered);
    put(lock, foreign_lock);
    put(marker, foreign_marker);
    begin_life();
    EXPECT_EQ(site->written(), "");
    EXPECT_EQ(content_of(lock), foreign_lock);
    EXPECT_EQ(content_of(marker), foreign_marker);
  }
  Token lock_token() { return site->world.find_lock("deploy")->token; }
  Command end_tick() {
    EndTick end;
    end.loop = "loop";
    end.token = site->world.find_tick("loop")->token;
    return end;
  }

  TemporaryDirectory directory;
  const fs::path data = directory.path() / "data";
  const std::string root = (directory.path() / "root").string();
  const fs::path lock = fs::path(root) / ".lock";
  const fs::path marker = fs::path(root) / "logs/tick-in-progress.json";
  const fs::path progress = data / "projections" / "run_roots.json";
  MemoryEventLog log;
  std::unique_ptr<RunRootSite> site;
};

TEST_F(RunRootStranger, ALiveRemovalLeavesWhatIsNotOurs) {  // L4, T2
  site->apply({acquire_lock("deploy", "me", root), begin_tick("loop", root)});
  put(lock, foreign_lock);
  put(marker, foreign_marker);
  EXPECT_EQ(site->apply({ReleaseLock{"deploy", lock_token(), {}}, end_tick()}), "");
  EXPECT_EQ(content_of(lock), foreign_lock);
  EXPECT_EQ(content_of(marker), foreign_marker);
}

// Killed after the log had the end and before the files were removed: ours go.
TEST_F(RunRootStranger, AKillBeforeTheRemovalIsMadeUpFor) {  // T7
  site->apply({acquire_lock("deploy", "me", root), begin_tick("loop", root)});
  const std::string before = remembered_now();
  site->append({ReleaseLock{"deploy", lock_token(), {}}, end_tick()});
  ASSERT_TRUE(fs::exists(lock) && fs::exists(marker));
  crash_with_progress_of(before);
  begin_life();
  EXPECT_EQ(site->written(), "");
  EXPECT_FALSE(fs::exists(lock));
  EXPECT_FALSE(fs::exists(marker));
}

// Killed after the files were removed and before that was remembered; then somebody else came.
TEST_F(RunRootStranger, AKillAfterTheRemovalTakesNothingFromAStranger) {  // T7
  site->apply({acquire_lock("deploy", "me", root), begin_tick("loop", root)});
  const std::string before = remembered_now();
  site->apply({ReleaseLock{"deploy", lock_token(), {}}, end_tick()});
  ASSERT_FALSE(fs::exists(lock) || fs::exists(marker));
  crash_and_expect_that_strangers_stay(before);
}

// Nothing of ours was ever written, and the log has both beginning and end.
TEST_F(RunRootStranger, AWholeLifeInBetweenTakesNothingFromAStranger) {
  const std::string before = remembered_now();
  site->append({acquire_lock("deploy", "me", root), begin_tick("loop", root)});
  site->append({ReleaseLock{"deploy", lock_token(), {}}, end_tick()});
  crash_and_expect_that_strangers_stay(before);
}

// A recovery takes the marker away that the loop halted on, be it what it may, and no other.
TEST_F(RunRootStranger, ARecoveryTakesTheMarkerThatItIsAbout) {  // T4
  for (const std::string& halted_on : {std::string(foreign_marker), std::string("{\n")}) {
    for (const bool another_since : {false, true}) {
      put(marker, halted_on);
      BeginTick begin = begin_tick("loop", root);
      begin.marker = {FoundMarker::Kind::unreadable, marker.string(), halted_on, 600'000};
      site->apply({NoteTickIncomplete{begin}});
      ASSERT_NE(site->world.find_tick("loop"), nullptr);
      const std::string theirs = R"({"ts":"2020-02-02T00:00:00Z","stage":"s","reason":"new"})";
      if (another_since) put(marker, theirs);
      RecoverTick recover;
      recover.loop = "loop";
      recover.reason = "looked at";
      EXPECT_EQ(site->apply({recover}), "");
      EXPECT_EQ(content_of(marker), another_since ? theirs : "");
      fs::remove(marker);
    }
  }
}

}  // namespace
}  // namespace signalbox
