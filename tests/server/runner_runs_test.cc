// Tests which workspaces a runner removes.
#include "tools/runner/runner_runs.h"

#include <optional>
#include <set>

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

  std::optional<RunnerWork> work;
  std::set<RunId> under_way;
};

// The attempt of such a job was ended while the runner was away, and the run is over meanwhile.
TEST_F(WorkspacesOfARunner, StayWhileAJobIsUnderWayInThem) {  // N5
  RunnerRuns runs(
      *work, [this](const RunId& run_id) { return under_way.contains(run_id); },
      [](const std::string&) {});
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

}  // namespace
}  // namespace signalbox
