// Tests which workspaces a runner removes.
#include "tools/runner/runner_runs.h"

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "server/git/pinned_repository.h"
#include "server/git/unsaved_work.h"
#include "tests/server/builtin_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class WorkspacesOfARunner : public BuiltinStations {
 protected:
  void SetUp() override {
    BuiltinStations::SetUp();
    auto opened = RunnerWork::open(site.root());
    ASSERT_TRUE(opened.has_value()) << message_of(opened.error());
    work.emplace(std::move(*opened));
  }
  // Makes the workspace of a run that the runner has taken; returns its id.
  RunId begun() {
    const Job job = builtin("intake");
    EXPECT_EQ(end_of(job).outcome, Outcome::succeeded);
    EXPECT_TRUE(work->place(job.run_id,
                            {.repository = repository.string(), .branch = "work", .remote = {}}));
    return job.run_id;
  }
  bool is_there(const RunId& run_id) const {
    return fs::exists(work->runs() / to_string(run_id) / "workspace") &&
           fs::exists(site.root() / pins_directory_name / to_string(run_id));
  }

  // Keeps jobs of the run away, if none is under way.
  std::shared_ptr<const void> hold(const RunId& run_id) {
    if (under_way.contains(run_id)) return nullptr;
    was_there_when_held.push_back(is_there(run_id));
    return {static_cast<const void*>(this),
            [this, run_id](const void*) { was_there_when_released.push_back(is_there(run_id)); }};
  }

  std::optional<RunnerWork> work;
  std::set<RunId> under_way;
  std::vector<bool> was_there_when_held;
  std::vector<bool> was_there_when_released;
};

// The attempt of such a job was ended while the runner was away, and the run is over meanwhile.
TEST_F(WorkspacesOfARunner, StayWhileAJobIsUnderWayInThem) {  // N5
  RunnerRuns runs(
      *work, [this](const RunId& run_id) { return hold(run_id); }, [](bool, const std::string&) {});
  const RunId canceled = begun();
  const RunId of_card = begun();
  const RunId ended = begun();
  under_way = {canceled, of_card};
  runs.remove({canceled, ended}, {}, {canceled, ended});
  EXPECT_TRUE(is_there(canceled));
  EXPECT_FALSE(is_there(ended));
  EXPECT_FALSE(runs.remove({.run_id = of_card}).has_value());
  EXPECT_TRUE(is_there(of_card));

  under_way.clear();
  write_text(work->runs() / to_string(canceled) / "workspace/last.txt", "last\n");
  runs.remove({canceled}, {}, {canceled});
  EXPECT_FALSE(is_there(canceled));
  EXPECT_EQ(run("show " + rescue_ref_of(to_string(canceled)) + ":last.txt", repository), "last");
  const auto done = runs.remove({.run_id = of_card});
  ASSERT_TRUE(done.has_value());
  EXPECT_TRUE(done->removed) << done->reason;
}

// Else the job of a run that was retried could begin in it while it is being removed.
TEST_F(WorkspacesOfARunner, AreRemovedWhileNoJobMayBegin) {  // N5
  RunnerRuns runs(
      *work, [this](const RunId& run_id) { return hold(run_id); }, [](bool, const std::string&) {});
  const RunId over = begun();
  const RunId of_card = begun();
  runs.remove({over}, {}, {over});
  ASSERT_TRUE(runs.remove({.run_id = of_card}).has_value());
  EXPECT_EQ(was_there_when_held, (std::vector<bool>{true, true}));
  EXPECT_EQ(was_there_when_released, (std::vector<bool>{false, false}));
}

// A job of the run was taken after its workspace was removed, and has noted its place again.
TEST_F(WorkspacesOfARunner, OfWhichAJobIsUnderWayStayNoted) {  // N5
  RunnerRuns runs(
      *work, [this](const RunId& run_id) { return hold(run_id); }, [](bool, const std::string&) {});
  const RunId of_card = begun();
  ASSERT_TRUE(runs.remove({.run_id = of_card}).has_value());
  under_way = {of_card};
  runs.forget(of_card);
  EXPECT_TRUE(work->placed(of_card).value().has_value());
  under_way.clear();
  runs.forget(of_card);
  EXPECT_FALSE(work->placed(of_card).value().has_value());
}

// Not since their workspace was made: a run may have been worked on for as long.
TEST_F(WorkspacesOfARunner, OfARunThatFailedStayForAWeekSinceThen) {  // N5
  using namespace std::chrono_literals;
  RunnerRuns runs(
      *work, [this](const RunId& run_id) { return hold(run_id); }, [](bool, const std::string&) {});
  const RunId failed = begun();
  const auto before = fs::file_time_type::clock::now() - 8 * 24h;
  const auto mark = work->directory() / "failed" / to_string(failed);
  fs::last_write_time(work->runs() / to_string(failed), before);
  runs.remove({failed}, {failed}, {});
  EXPECT_TRUE(is_there(failed)) << "it is open";
  runs.remove({failed}, {}, {});
  EXPECT_TRUE(is_there(failed)) << "it has just failed";
  fs::last_write_time(mark, before);
  runs.remove({failed}, {failed}, {});
  runs.remove({failed}, {}, {});
  EXPECT_TRUE(is_there(failed)) << "it was retried, and has failed again";
  fs::last_write_time(mark, before);
  runs.remove({failed}, {}, {});
  EXPECT_FALSE(is_there(failed));
  EXPECT_FALSE(fs::exists(mark));
}

}  // namespace
}  // namespace signalbox
