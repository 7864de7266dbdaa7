// Tests that the files in run roots are right after a crash, a stop and a loss.
#include <gtest/gtest.h>

#include "server/followers/run_root/run_root_rebuild.h"
#include "store/codec.h"
#include "tests/server/run_root_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

TEST_F(RunRootWriterTest, AfterACrashItGoesOnWhereItWas) {  // T7
  site.apply({begin_tick("loop", root), acquire_lock("deploy", "me", root)});
  const Token tick = site.world.find_tick("loop")->token;
  site.stop();
  EndTick end;
  end.loop = "loop";
  end.token = tick;
  site.append({end, ReleaseLock{"deploy", token_of_lock("deploy"), {}}});
  ASSERT_TRUE(there(".lock")) << "nobody followed yet";

  RunRootSite next(log, data);
  next.start();
  EXPECT_EQ(next.written(), "");
  EXPECT_FALSE(there(".lock"));
  EXPECT_FALSE(there("logs/tick-in-progress.json"));
  EXPECT_EQ(files_on_disk(root), files_from_log(log, data, root));
}

TEST_F(RunRootWriterTest, WhatAStopDoesNotWaitForIsWrittenByTheNextStart) {  // G6, T7
  site.apply({acquire_lock("deploy", "me", root)});
  ASSERT_TRUE(eventually([&] { return fs::exists(data / "projections" / "run_roots.json"); }));
  site.writer->finish_by(CallBounds::now_ms());
  EXPECT_NE(site.apply({begin_tick("loop", root)}), "");
  EXPECT_FALSE(there("logs/tick-in-progress.json"));
  site.stop();
  ASSERT_EQ(site.notes.size(), 1U);
  EXPECT_NE(site.notes[0].second.find("the next start writes them"), std::string::npos);

  RunRootSite next(log, data);
  next.start();
  EXPECT_EQ(next.written(), "");
  EXPECT_TRUE(there("logs/tick-in-progress.json"));
  EXPECT_EQ(files_on_disk(root), files_from_log(log, data, root));
}

TEST_F(RunRootWriterTest, WithoutItsMemoryItWritesThePresentAndNothingOld) {  // T7
  site.apply({begin_tick("over", root)});
  EndTick end;
  end.loop = "over";
  end.token = site.world.find_tick("over")->token;
  site.apply({end, acquire_lock("deploy", "me", root)});
  site.stop();
  fs::remove_all(data / "projections");
  fs::remove_all(root);

  RunRootSite next(log, data);
  next.start();
  EXPECT_EQ(next.written(), "");
  const auto files = files_on_disk(root);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files.begin()->first, ".lock");
  EXPECT_EQ(
      files,
      (std::map<std::string, std::string>{{".lock", files_from_log(log, data, root).at(".lock")}}));
}

TEST_F(RunRootWriterTest, WhatWasDeletedIsRebuiltWithTheSameBytes) {  // T7
  StartRun start;
  start.goal = "do it";
  start.run_root = root;
  start.pipeline = PipelineDefinition{"one", {StationDefinition{}}};
  start.pipeline->stations[0].name = "work";
  start.pipeline_digest = pipeline_digest(*start.pipeline);
  start.run_id.bytes[0] = 7;
  ClaimStation claim;
  claim.worker = "me";
  claim.span_id.bytes[0] = 9;
  site.apply({start, claim, begin_tick("loop", root), acquire_lock("deploy", "me", root)});
  const auto& run = *site.world.find_run(start.run_id);
  const Token tick = site.world.find_tick("loop")->token;
  site.apply({TimeOutStation{start.run_id, run.attempt->token, run.attempt->timer_origin(), 70'000},
              TimeOutTick{"loop", tick, 2'000}, NoteTickIncomplete{begin_tick("loop", root)}});
  EXPECT_EQ(json_of("manifest.json").at("schema_version").as_string(), "run_manifest.v1");
  EXPECT_EQ(json_of("run_config.json").at("goal").as_string(), "do it");
  EXPECT_EQ(json_of("outputs/work-1.json").at("outcome").as_string(), "timeout");
  const auto before = files_on_disk(root);
  EXPECT_GE(before.size(), 10U);

  const auto rebuild = [&] {
    RunRootRebuild work(log, site.writer->run_files(), start.run_id);
    EXPECT_TRUE(work.advance(log.tail()));
    return work.finish(/*write=*/true);
  };
  for (const RebuiltFile& file : rebuild()) EXPECT_EQ(file.found, RebuiltFile::Found::same);
  fs::remove_all(root);
  for (const RebuiltFile& file : rebuild()) {
    EXPECT_EQ(file.found, RebuiltFile::Found::missing) << file.path;
    EXPECT_EQ(file.error, "");
  }
  EXPECT_EQ(files_on_disk(root), before);
}

}  // namespace
}  // namespace signalbox
