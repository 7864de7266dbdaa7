// Snapshots and digests of the worlds of random histories.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "domain/invariants.h"
#include "projections/world_codec.h"
#include "projections/world_digest.h"
#include "projections/world_snapshot.h"
#include "store/little_endian.h"
#include "tests/domain/random_history.h"
#include "tests/domain/world_difference.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/newer_snapshot.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

// Returns a frontier of the right size. Its digests don't matter to snapshots.
MerkleFrontier frontier_of(const World& world) {
  MerkleFrontier frontier;
  frontier.leaves = world.position;
  for (std::uint64_t rest = world.position; rest != 0; rest &= rest - 1) {
    frontier.subtrees.emplace_back().bytes[0] = static_cast<std::uint8_t>(rest);
  }
  return frontier;
}

Stored<void> write(const std::filesystem::path& directory, const World& world) {
  return write_snapshot(directory, world, frontier_of(world), world_digest(world));
}

RandomHistory some_history(int steps = 600) {
  RandomHistory history;
  for (int i = 0; i < steps; ++i) {
    history.take({static_cast<std::uint8_t>(i * 7), static_cast<std::uint8_t>(i % 5),
                  static_cast<std::uint8_t>(i * 11)});
  }
  return history;
}

RC_GTEST_PROP(WorldDigestTest, ARefoldHasTheSameAndEveryEventChangesIt, ()) {  // P6
  RandomHistory history;
  for (const Step& step : *random_steps(2.0)) history.take(step);
  World again;
  WorldDigest kept;
  Digest latest = kept.of(again);
  for (const Record& record : history.records) {
    evolve(again, record);
    const Digest next = kept.of(again);
    RC_ASSERT(next != latest);
    RC_ASSERT(next == world_digest(again));  // the incremental digest equals the full one
    latest = next;
  }
  RC_ASSERT(latest == world_digest(history.world));
}

TEST(WorldDigestTest, ForgetsAWorldThatWasRolledBack) {
  RandomHistory history = some_history(100);
  WorldDigest kept;
  kept.of(history.world);
  kept.forget();
  EXPECT_EQ(kept.of(World{}), world_digest(World{}));
  EXPECT_EQ(kept.of(history.world), world_digest(history.world));
}

// Its priority changes without its `changed_at`.
TEST(WorldDigestTest, SeesThePriorityOfACard) {  // P6
  World world;
  Card card;
  card.id.bytes.back() = 1;
  world.board.insert(card);
  WorldDigest kept;
  const Digest before = kept.of(world);
  Card& changed = world.board.extract(card.id);
  changed.priority = 5;
  world.board.put_back(changed);
  EXPECT_NE(kept.of(world), before);
  EXPECT_EQ(kept.of(world), world_digest(world));
}

TEST(WorldDigestTest, SeesEachPartOfTheWorld) {
  RandomHistory history = some_history();
  World& world = history.world;
  ASSERT_FALSE(world.runs.empty());
  ASSERT_GT(world.ended_runs.size(), 0u);
  ASSERT_GT(world.commands.size(), 0u);
  Digest before = world_digest(world);
  const auto changed = [&] {
    const Digest after = world_digest(world);
    return std::exchange(before, after) != after;
  };
  EXPECT_FALSE(changed());
  world.server.incarnation += 1;
  EXPECT_TRUE(changed());
  world.server.pause = ServicePause{3, 0, "uid:1000", "an upgrade"};
  EXPECT_TRUE(changed());
  world.server.pause->reason += "x";
  EXPECT_TRUE(changed());
  world.position += 1;
  EXPECT_TRUE(changed());
  world.runs.begin()->second->previous += "x";
  EXPECT_TRUE(changed());
  world.runs.begin()->second->asked_at += 1;
  EXPECT_TRUE(changed());
  world.pipelines.begin()->second.open_runs += 1;
  EXPECT_TRUE(changed());
  world.commands.put("another", {{}, world.position});
  EXPECT_TRUE(changed());
  world.ended_runs.put(RunId{}, {RunStatus::failed, "", {}, world.position});
  EXPECT_TRUE(changed());
}

RC_GTEST_PROP(WorldSnapshotTest, TheRoundTripGivesAnEqualWorld, ()) {
  RandomHistory history;
  for (const Step& step : *random_steps()) history.take(step);
  auto world = decode_world(encode_world(history.world));
  RC_ASSERT(world.has_value());
  RC_ASSERT(difference(*world, history.world) == "");
  RC_ASSERT(broken_invariants(*world).empty());
  RC_ASSERT(world_digest(*world) == world_digest(history.world));
  // Further records have the same effect on both worlds.
  for (const Step& step : *random_steps(1.0)) {
    const std::size_t before = history.records.size();
    history.take(step);
    for (std::size_t i = before; i < history.records.size(); ++i) {
      evolve(*world, history.records[i]);
    }
  }
  RC_ASSERT(difference(*world, history.world) == "");
}

TEST(WorldSnapshotTest, IsLoadedAsItWasWritten) {
  TemporaryDirectory directory;
  const RandomHistory history = some_history();
  ASSERT_TRUE(write(directory.path() / "s", history.world).has_value());
  const auto loaded = load_newest_snapshot(directory.path() / "s", history.world.position);
  EXPECT_TRUE(loaded.problems.empty());
  ASSERT_TRUE(loaded.snapshot.has_value());
  EXPECT_EQ(difference(loaded.snapshot->world, history.world), "");
  EXPECT_EQ(loaded.snapshot->frontier, frontier_of(history.world));
  EXPECT_EQ(loaded.snapshot->digest, world_digest(history.world));
}

TEST(WorldSnapshotTest, KeepsThePauseOfTheService) {  // O2
  RandomHistory history = some_history(50);
  history.world.server.pause = ServicePause{3, 1'700'000'000, "uid:1000", "an upgrade"};
  const auto world = decode_world(encode_world(history.world));
  ASSERT_TRUE(world) << world.error().message;
  EXPECT_EQ(world->server, history.world.server);
  EXPECT_EQ(world_digest(*world), world_digest(history.world));
}

// Bases on people's disks have these bytes at the end of the server's state (store/FORMAT.md).
TEST(WorldSnapshotTest, ThePauseOfTheServiceHasItsBytes) {  // O2
  World world;
  world.server.pause = ServicePause{3, 5, "me", "why"};
  std::string pause(1, '\x01');
  append_integer(pause, std::uint64_t{3});
  append_integer(pause, std::int64_t{5});
  append_integer(pause, std::uint32_t{2});
  pause += "me";
  append_integer(pause, std::uint32_t{3});
  pause += "why";
  EXPECT_NE(encode_world(world).find(pause), std::string::npos);
}

TEST(WorldSnapshotTest, TheNewestTwoAreKept) {
  TemporaryDirectory directory;
  World world;
  std::vector<Position> positions;
  const RandomHistory history = some_history();
  for (const Record& record : history.records) {
    evolve(world, record);
    if (world.position % 10 != 0) continue;
    positions.push_back(world.position);
    ASSERT_TRUE(write(directory.path(), world).has_value());
  }
  ASSERT_GT(positions.size(), 3u);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    ++files;
  }
  EXPECT_EQ(files, snapshots_kept);
  EXPECT_EQ(load_newest_snapshot(directory.path(), world.position).snapshot->world.position,
            positions.back());
  // A snapshot that is ahead of the log doesn't belong to it.
  const auto older = load_newest_snapshot(directory.path(), positions.back() - 1);
  ASSERT_TRUE(older.snapshot.has_value());
  EXPECT_EQ(older.snapshot->world.position, positions[positions.size() - 2]);
  EXPECT_EQ(older.problems.size(), 1u);
}

TEST(WorldSnapshotTest, WhatAKilledWriteLeftIsRemovedByTheNext) {
  TemporaryDirectory directory;
  const auto left = directory.path() / "00000000000000000007.snapshot.tmp";
  write_text(left, "the beginning of a snapshot");
  write_text(directory.path() / "notes.tmp", "of somebody else");
  const World world = some_history().world;
  ASSERT_TRUE(write(directory.path(), world).has_value());
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(directory.path() / "notes.tmp"));
  EXPECT_TRUE(load_newest_snapshot(directory.path(), world.position).snapshot.has_value());
}

// A flipped byte, a truncation or a trailing byte is detected, and the older snapshot is loaded
// instead.
TEST(WorldSnapshotTest, ABadOneIsReportedAndSkipped) {
  TemporaryDirectory directory;
  World world;
  const RandomHistory history = some_history(60);
  for (const Record& record : history.records) {
    evolve(world, record);
    if (world.position != 10) continue;
    ASSERT_TRUE(write(directory.path(), world).has_value());
  }
  ASSERT_TRUE(write(directory.path(), world).has_value());
  std::filesystem::path newest;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    if (newest.empty() || entry.path() > newest) newest = entry.path();
  }
  const std::string good = content_of(newest);
  const auto expect_skipped = [&](const std::string& bytes, const std::string& change) {
    write_text(newest, bytes);
    const auto loaded = load_newest_snapshot(directory.path(), world.position);
    ASSERT_EQ(loaded.problems.size(), 1u) << change;
    EXPECT_NE(loaded.problems[0].find(newest.string()), std::string::npos);
    ASSERT_TRUE(loaded.snapshot.has_value()) << change;
    EXPECT_EQ(loaded.snapshot->world.position, 10u);
  };
  for (std::size_t at = 0; at < good.size(); at += 7) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    expect_skipped(bad, "byte " + std::to_string(at));
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{11}, std::size_t{12},
                                 std::size_t{60}, good.size() - 1}) {
    expect_skipped(good.substr(0, size), "cut at " + std::to_string(size));
  }
  expect_skipped(good + "x", "with a byte more");
}

TEST(WorldSnapshotTest, ADigestOfAnotherWorldIsFound) {
  TemporaryDirectory directory;
  const RandomHistory history = some_history();
  ASSERT_TRUE(write_snapshot(directory.path(), history.world, frontier_of(history.world), Digest{})
                  .has_value());
  const auto loaded = load_newest_snapshot(directory.path(), history.world.position);
  EXPECT_FALSE(loaded.snapshot.has_value());
  ASSERT_EQ(loaded.problems.size(), 1u);
  EXPECT_NE(loaded.problems[0].find("digest"), std::string::npos);
}

// The log before it may have such an event, which this program has to refuse.
TEST(WorldSnapshotTest, OneOfAProgramThatKnewMoreIsNotUsed) {
  TemporaryDirectory directory;
  const World world = some_history().world;
  const EventTag& known = event_tags().back();
  const std::pair<std::uint16_t, std::uint16_t> newer[] = {
      {std::uint16_t{999}, std::uint16_t{1}},
      {known.number, static_cast<std::uint16_t>(known.version + 1)}};
  for (const auto& [number, version] : newer) {
    ASSERT_TRUE(write(directory.path(), world));
    const auto file = std::filesystem::directory_iterator(directory.path())->path();
    add_known_event(file, number, version);
    const auto loaded = load_snapshot(file);
    ASSERT_FALSE(loaded) << number;
    EXPECT_EQ(loaded.error().kind, StoreError::Kind::unsupported) << loaded.error().message;
  }
  ASSERT_TRUE(write(directory.path(), world));
  const auto file = std::filesystem::directory_iterator(directory.path())->path();
  add_known_event(file, known.number, known.version);
  EXPECT_TRUE(load_snapshot(file));
  ASSERT_TRUE(write(directory.path(), world));
  remove_known_events(file);
  EXPECT_TRUE(load_snapshot(file)) << "one of an earlier version";
}

TEST(WorldSnapshotTest, NoDirectoryMeansNoSnapshot) {
  TemporaryDirectory directory;
  const auto loaded = load_newest_snapshot(directory.path() / "none", 10);
  EXPECT_FALSE(loaded.snapshot.has_value());
  EXPECT_TRUE(loaded.problems.empty());
}

}  // namespace
}  // namespace signalbox
