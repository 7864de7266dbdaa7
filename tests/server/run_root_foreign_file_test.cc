// Tests that another program's files in a run root survive the removal of ours: live, and after a
// crash, when old removals are carried out late.
#include <gtest/gtest.h>

#include <fstream>

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
  RunRootStranger() { start_site(); }

  void start_site() {
    site = std::make_unique<RunRootSite>(log, data);
    site->start();
  }
  // Stops the site and replaces its progress file with `saved_progress`, as if it had crashed after
  // saving that; the files stay as they are.
  void crash_with_progress_of(const std::string& saved_progress) {
    site->stop();
    site.reset();
    if (saved_progress.empty()) {
      fs::remove(progress);
    } else {
      std::ofstream(progress) << saved_progress;
    }
  }
  std::string current_progress() {  // as of a clean stop
    site->stop();
    site.reset();
    const std::string text = content_of(progress);
    start_site();
    return text;
  }
  static void put(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  // Another program writes a lock and a marker before the next start carries out old removals.
  void crash_and_expect_foreign_files_stay(const std::string& saved_progress) {
    crash_with_progress_of(saved_progress);
    put(lock, foreign_lock);
    put(marker, foreign_marker);
    start_site();
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

// Killed after the log had the end and before the files were removed: our files are removed.
TEST_F(RunRootStranger, AKillBeforeTheRemovalIsMadeUpFor) {  // T7
  site->apply({acquire_lock("deploy", "me", root), begin_tick("loop", root)});
  const std::string before = current_progress();
  site->append({ReleaseLock{"deploy", lock_token(), {}}, end_tick()});
  ASSERT_TRUE(fs::exists(lock) && fs::exists(marker));
  crash_with_progress_of(before);
  start_site();
  EXPECT_EQ(site->written(), "");
  EXPECT_FALSE(fs::exists(lock));
  EXPECT_FALSE(fs::exists(marker));
}

// Killed after the files were removed and before that progress was saved; then another program
// wrote its files.
TEST_F(RunRootStranger, AKillAfterTheRemovalTakesNothingFromAStranger) {  // T7
  site->apply({acquire_lock("deploy", "me", root), begin_tick("loop", root)});
  const std::string before = current_progress();
  site->apply({ReleaseLock{"deploy", lock_token(), {}}, end_tick()});
  ASSERT_FALSE(fs::exists(lock) || fs::exists(marker));
  crash_and_expect_foreign_files_stay(before);
}

// None of our files was ever written, although the log has both beginning and end.
TEST_F(RunRootStranger, AWholeLifeInBetweenTakesNothingFromAStranger) {
  const std::string before = current_progress();
  site->append({acquire_lock("deploy", "me", root), begin_tick("loop", root)});
  site->append({ReleaseLock{"deploy", lock_token(), {}}, end_tick()});
  crash_and_expect_foreign_files_stay(before);
}

// A recovery removes exactly the marker on which the loop halted, whatever it contains.
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
