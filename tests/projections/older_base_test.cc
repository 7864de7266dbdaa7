// Bases that older versions wrote: what their formats don't say is taken from elsewhere.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "domain/decide.h"
#include "domain/evolve.h"
#include "domain/retry_policy.h"
#include "projections/history_base.h"
#include "projections/memory_table.h"
#include "projections/run_index.h"
#include "projections/world_codec.h"
#include "projections/world_digest.h"
#include "store/described_archive.h"
#include "store/frozen_project_events.h"
#include "store/little_endian.h"
#include "store/pipeline_definition_v2.h"
#include "tests/projections/golden_base.h"

namespace signalbox::test {
namespace {

// Returns the pipeline of asking_records(), whose station names its retries.
PipelineDefinition asking_pipeline() {
  StationDefinition ask;
  ask.name = "ask";
  ask.executor = ExecutorKind::approval;
  name_max_retries(ask.retry, 2);
  return {"asked", {ask}};
}

// Returns a history in which a run asks for a decision, early enough to be before the horizon.
std::vector<Record> asking_records() {
  World world;
  std::vector<Record> records;
  const auto decided = [&](const Command& command) {
    const auto events = decide(world, command, Now{});
    if (!events) throw std::runtime_error(events.error().message);
    for (const NewEvent& event : *events) {
      Record record;
      record.position = world.position + 1;
      record.stream = event.stream;
      record.recorded_at_ns =
          1'700'000'000'000'000'000 + static_cast<std::int64_t>(record.position) * 1'000'000'000;
      record.actor = "uid:1000";
      record.cause = event.cause;
      record.event = event.event;
      evolve(world, record);
      records.push_back(std::move(record));
    }
  };
  decided(NoteClockJump{1, 1, "before"});
  StartRun start;
  start.goal = "release";
  start.run_id.bytes.back() = 1;
  start.pipeline_digest.bytes.front() = 1;
  start.pipeline = asking_pipeline();
  decided(start);
  for (int padding = 0; padding < 12; ++padding) decided(NoteClockJump{1, 1, "after"});
  return records;
}

constexpr std::size_t world_size_place = 2 * sizeof(std::uint32_t);

// Returns the base, of a service that has never started, without what format 10 says of its pause:
// a byte of zero among those of a state that is all zeros.
std::string without_pause(std::string base) {
  std::string server;
  described::encode(ServerState{}, server);
  const std::size_t place = base.find(server.substr(1));  // the byte order isn't repeated
  if (place == std::string::npos) throw std::runtime_error("the world has no state of the server");
  base.erase(place, 1);
  std::string world_bytes;
  append_integer(world_bytes,
                 read_integer<std::uint64_t>(base.data() + world_size_place) - std::uint64_t{1});
  return base.replace(world_size_place, world_bytes.size(), world_bytes);
}

// Returns the base without the places of runs and of worktrees and the decisions about runners, of
// which it has none: up to formats 10, 11 and 12 there are no such lists at the end of the world.
std::string without_places(std::string base) {
  constexpr std::size_t header = world_size_place + sizeof(std::uint64_t);
  constexpr std::size_t count = 3 * sizeof(std::uint64_t);
  const auto world_bytes = read_integer<std::uint64_t>(base.data() + world_size_place) - count;
  if (base.find_first_not_of('\0', header + world_bytes) < header + world_bytes + count) {
    throw std::runtime_error("a run has a place, or a runner is drained");
  }
  std::string size;
  append_integer(size, world_bytes);
  base.erase(header + world_bytes, count);
  return base.replace(world_size_place, size.size(), size);
}

// Returns the base of asking_records() with the pipeline as the formats 8 and 5 have it, in the
// world and in its row. Both encodings are equally long: a strategy more, a flag less.
std::string as_formats_8_and_5(const std::string& base) {
  std::string now;
  described::encode(asking_pipeline(), now);
  std::string before;
  described::encode(as_stored_in_v2(asking_pipeline()), before);
  if (now.size() != before.size()) throw std::runtime_error("the rows have other lengths");
  std::string old;
  append_integer(old, std::uint32_t{8});
  append_integer(old, std::uint32_t{5});
  old += without_pause(without_places(base)).substr(old.size());
  std::size_t places = 0;
  // In the world the byte order isn't repeated.
  for (std::size_t at = 0; (at = old.find(now.substr(1), at)) != std::string::npos; ++places) {
    old.replace(at, now.size() - 1, before.substr(1));
  }
  if (places != 2) throw std::runtime_error("the pipeline isn't in the world and in a row");
  return old;
}

// Returns `base`, whose world has one open question, as a version with format 6 wrote it.
std::string as_format_6(const std::string& base) {
  constexpr std::size_t header = world_size_place + sizeof(std::uint64_t);
  const std::string older = as_formats_8_and_5(base);
  constexpr std::size_t questions = sizeof(std::uint64_t) + sizeof(RunId) + sizeof(Position);
  const auto world_bytes = read_integer<std::uint64_t>(older.data() + world_size_place) - questions;
  std::string old;
  append_integer(old, std::uint32_t{6});
  append_integer(old, std::uint32_t{5});
  append_integer(old, world_bytes);
  old += older.substr(header, world_bytes);
  old += older.substr(header + world_bytes + questions);
  return old;
}

// What the base doesn't say is in the records of the run, which are kept because it is open.
TEST(OlderBases, OfFormat6GetTheirQuestionsFromTheRecords) {  // G10
  const std::vector<Record> records = asking_records();
  const std::string today = base_today(records);
  MemoryEventLog old;
  make_dropped(old, records, as_format_6(today));
  MemoryEventLog now;
  make_dropped(now, records, today);
  const auto world = initial_world(old);
  ASSERT_TRUE(world) << world.error().message;
  const auto* const run = world->find_run(records.at(1).stream.run_id);
  ASSERT_NE(run, nullptr);
  ASSERT_NE(event_as<StationHeld>(records.at(2).event), nullptr);
  EXPECT_EQ(run->asked_at, records.at(2).position);
  EXPECT_EQ(world_digest(*world), world_digest(initial_world(now).value()));
}

// Returns the golden base of format 7; in it the project `site` has a policy file that was refused
// and no version of which was ever valid.
GoldenBase never_understood_of_format_7() {
  for (GoldenBase& golden : read_bases()) {
    if (golden.world != 7) continue;
    std::string policy;
    described::encode(PolicyV1{}, policy);
    policy.erase(0, 1);  // the byte order, which isn't repeated
    const std::size_t project = golden.base.find("site");
    const std::size_t place = golden.base.find(policy, project);
    if (place == std::string::npos) throw std::runtime_error("the base has no such policy");
    const std::size_t refused = place + policy.size() + sizeof(Digest);
    golden.base.replace(refused, sizeof(Digest), sizeof(Digest), '\7');
    return std::move(golden);
  }
  throw std::runtime_error("there is no golden base of format 7");
}

// The policy in such a base is the default one, which starts cards.
TEST(OlderBases, OfFormat7KeepAProjectClosedWhoseFileWasNeverUnderstoodAndGoes) {  // A8
  const GoldenBase golden = never_understood_of_format_7();
  MemoryEventLog log;
  make_dropped(log, golden.records, golden.base);
  auto begun = initial_world(log);
  ASSERT_TRUE(begun) << begun.error().message;
  World& world = *begun;
  EXPECT_EQ(policy_hold(*world.find_project("site")), PolicyHold::never_understood);
  const auto gone = decide(world, AdoptPolicy{"site", {}, {}}, Now{});
  ASSERT_TRUE(gone) << gone.error().message;
  ASSERT_EQ(gone->size(), 1U);
  Record record;
  record.position = world.position + 1;
  record.stream = gone->front().stream;
  record.event = gone->front().event;
  evolve(world, record);
  EXPECT_EQ(policy_hold(*world.find_project("site")), PolicyHold::gone);
  EXPECT_EQ(world.find_project("site")->policy, policy_without_file({}));
}

// A pipeline that names max_retries had its last strategy twice there.
TEST(OlderBases, OfFormats8And5NameTheirRetriesAsTheyDid) {  // A13
  const std::vector<Record> records = asking_records();
  const std::string today = base_today(records);
  MemoryEventLog old;
  make_dropped(old, records, as_formats_8_and_5(today));
  const Digest digest = event_as<RunStarted>(records.at(1).event)->pipeline_digest;
  const auto world = initial_world(old);
  ASSERT_TRUE(world) << world.error().message;
  EXPECT_EQ(*world->pipelines.at(digest).definition, asking_pipeline());
  MemoryTable table;
  RunIndex index(table);
  const auto begun = index.begin(old);
  ASSERT_TRUE(begun) << begun.error().message;
  EXPECT_EQ(index.find_pipeline(digest).value(), asking_pipeline());
  const auto base = read_history_base(old);
  ASSERT_TRUE(base) << base.error().message;
  EXPECT_TRUE(encode_history_base(*base) == today) << "it is rewritten in today's formats";
}

}  // namespace
}  // namespace signalbox::test
