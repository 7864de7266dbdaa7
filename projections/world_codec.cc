#include "projections/world_codec.h"

#include <exception>
#include <memory>
#include <utility>

#include "domain/pipeline.h"
#include "domain/placement.h"
#include "domain/sorted_entries.h"
#include "projections/world_additions.h"
#include "store/described_archive.h"
#include "store/frozen_project_events.h"
#include "store/pipeline_definition_v2.h"

namespace signalbox {
namespace {

using described::Malformed;
using described::Reader;
using described::Writer;

void write_pipelines(Writer& writer, const World& world) {
  write_count(writer, world.pipelines.size());
  for (const auto* entry : sorted_entries(world.pipelines)) {
    writer.write(entry->first);
    writer.write(*entry->second.definition);
    writer.write(entry->second.open_runs);
    writer.write(entry->second.idle_since);
  }
}

// Up to format 9 the server's state doesn't say whether it is paused.
void read_server(Reader& reader, ServerState& server, std::uint32_t format) {
  if (format > 9) return reader.read(server);
  reader.read(server.incarnation);
  reader.read(server.serving);
  reader.read(server.recovered_at);
  reader.read(server.crash_report);
}

PipelineDefinition read_pipeline(Reader& reader, std::uint32_t format) {
  if (format > 8) {
    PipelineDefinition definition;
    reader.read(definition);
    return definition;
  }
  PipelineDefinitionV2 old;
  reader.read(old);
  return upcast(std::move(old));
}

void read_pipelines(Reader& reader, World& world, std::uint32_t format) {
  for (std::uint64_t left = read_count(reader); left > 0; --left) {
    Digest digest;
    PinnedPipeline pinned;
    reader.read(digest);
    PipelineDefinition definition = read_pipeline(reader, format);
    reader.read(pinned.open_runs);
    reader.read(pinned.idle_since);
    if (definition.stations.empty()) throw Malformed("a pipeline without stations");
    pinned.definition = std::make_shared<const PipelineDefinition>(std::move(definition));
    world.pipelines.insert_or_assign(digest, std::move(pinned));
  }
}

template <class Remembered>
void write_remembered(Writer& writer, const Remembered& remembered) {
  write_count(writer, remembered.size());
  remembered.for_each([&writer](const auto& key, const auto& value) {
    writer.write(key);
    writer.write(value);
  });
}

// Calls `put(key, value)` for each, oldest first. reserve() allocates no more than the collection's
// limit.
template <class Key, class Value, class Remembered, class Put>
void read_remembered(Reader& reader, Remembered& remembered, Put&& put) {
  const std::uint64_t count = read_count(reader);
  remembered.reserve(count);
  for (std::uint64_t left = count; left > 0; --left) {
    Key key{};
    Value value;
    reader.read(key);
    reader.read(value);
    put(std::move(key), std::move(value));
  }
}

template <class Map>
void write_map(Writer& writer, const Map& map) {
  write_count(writer, map.size());
  for (const auto* entry : sorted_entries(map)) writer.write(entry->second);
}

void read_locks(Reader& reader, World& world) {
  for (std::uint64_t left = read_count(reader); left > 0; --left) {
    Lock lock;
    reader.read(lock);
    world.lock_by_token.insert_or_assign(lock.token, lock.key);
    std::string key = lock.key;
    world.locks.insert_or_assign(std::move(key), std::move(lock));
  }
}

void read_ticks(Reader& reader, World& world) {
  for (std::uint64_t left = read_count(reader); left > 0; --left) {
    Tick tick;
    reader.read(tick);
    std::string loop = tick.loop;
    world.ticks.insert_or_assign(std::move(loop), std::move(tick));
  }
}

// Reads a project as worlds up to format 8 have it: field by field, with the older shapes of its
// pipeline and, up to format 7, of its policy.
Project read_older_project(Reader& reader, std::uint32_t format) {
  Project project;
  reader.read(project.name);
  reader.read(project.repository);
  reader.read(project.base);
  reader.read(project.remote);
  PipelineDefinitionV2 pipeline;
  reader.read(pipeline);
  project.pipeline = upcast(std::move(pipeline));
  if (format > 7) {
    reader.read(project.policy);
  } else {
    PolicyV1 policy;
    reader.read(policy);
    project.policy = upcast(policy);
  }
  reader.read(project.policy_digest);
  reader.read(project.refused_digest);
  // Only where a file was seen is there a policy of one, or policy_without_file(), which the
  // defaults are not: they start cards. Up to format 7 a file that was never understood left the
  // defaults in force; one that may only have been unreadable closes the project, too.
  project.policy_file_seen = !project.policy_digest.is_zero() || !project.policy.process_backlog ||
                             (format <= 7 && !project.refused_digest.is_zero());
  reader.read(project.changed_at);
  return project;
}

Project read_project(Reader& reader, std::uint32_t format) {
  if (format <= 8) return read_older_project(reader, format);
  Project project;
  reader.read(project);
  return project;
}

void read_board(Reader& reader, World& world, std::uint32_t format) {
  for (std::uint64_t left = read_count(reader); left > 0; --left) {
    Loop loop;
    reader.read(loop);
    std::string name = loop.name;
    world.loops.insert_or_assign(std::move(name), std::move(loop));
  }
  for (std::uint64_t left = read_count(reader); left > 0; --left) {
    Project project = read_project(reader, format);
    std::string name = project.name;
    world.projects.insert_or_assign(std::move(name), std::move(project));
  }
  for (std::uint64_t left = read_count(reader); left > 0; --left) {
    Card card;
    reader.read(card);
    if (world.find_project(card.project) == nullptr) throw Malformed("a card without its project");
    if (world.board.find(card.id) != nullptr) throw Malformed("a card that is there twice");
    world.board.insert(std::move(card));
  }
  for (std::uint64_t left = read_count(reader); left > 0; --left) {
    CardWorktree worktree;
    reader.read(worktree);
    world.worktrees.insert_or_assign(worktree.run_id, std::move(worktree));
  }
}

void read_runs(Reader& reader, World& world) {
  for (std::uint64_t left = read_count(reader); left > 0; --left) {
    auto run = std::make_unique<Run>();
    reader.read(*run);
    const auto pinned = world.pipelines.find(run->pipeline_digest);
    if (pinned == world.pipelines.end()) throw Malformed("a run without its pipeline");
    run->pipeline = pinned->second.definition;
    if (run->stations.size() != run->pipeline->stations.size() ||
        run->current >= run->stations.size()) {
      throw Malformed("a run with other stations than its pipeline");
    }
    Run& placed = *run;
    if (!world.runs.emplace(placed.id, std::move(run)).second) {
      throw Malformed("a run that is there twice");
    }
    if (!placed.idempotency_key.empty()) {
      world.run_by_idempotency_key.insert_or_assign(placed.idempotency_key, placed.id);
    }
    world.run_roots.insert(placed);
    if (placed.plan) world.planned.insert(placed.id);
  }
}

}  // namespace

void index_ready_stations(World& world) {
  world.ready = {};
  for (const auto& [id, run] : world.runs) {
    const Position ready_at = run->station().ready_at;
    if (ready_at == 0) continue;
    const ReadyQueue queue = ready_queue_of(*run);
    world.ready.insert(queue.executor, queue.name, ready_at, id);
  }
}

std::string encode_world(const World& world) {
  std::string bytes;
  Writer writer;
  writer.begin(bytes);
  writer.write(world.position);
  writer.write(world.server);
  write_pipelines(writer, world);
  write_remembered(writer, world.ended_runs);
  writer.write(world.forgotten_keys);
  write_remembered(writer, world.commands);
  write_count(writer, world.runs.size());
  for (const auto* entry : sorted_entries(world.runs)) writer.write(*entry->second);
  write_map(writer, world.locks);
  write_remembered(writer, world.ended_locks);
  write_map(writer, world.ticks);
  writer.write(world.access);
  write_map(writer, world.loops);
  write_map(writer, world.projects);
  write_count(writer, world.board.cards().size());
  for (const auto* entry : sorted_entries(world.board.cards())) writer.write(*entry->second);
  write_map(writer, world.worktrees);
  write_additions(writer, world);
  return bytes;
}

void index_lock_holders(World& world) {
  world.locks_of_holder.clear();
  for (const auto& [key, lock] : world.locks) {
    const auto holder = world.holders.find(lock.token);
    if (holder != world.holders.end()) ++world.locks_of_holder[holder->second];
  }
}

Stored<World> decode_world(std::string_view bytes, std::uint32_t format) {
  World world;
  try {
    described::decode(bytes, [&world, format](Reader& reader) {
      reader.read(world.position);
      read_server(reader, world.server, format);
      read_pipelines(reader, world, format);
      // An idempotency key maps to the newest run that has it: to an open one rather than to an
      // ended one.
      read_remembered<RunId, EndedRun>(
          reader, world.ended_runs, [&world](const RunId& id, EndedRun&& ended) {
            if (!ended.idempotency_key.empty()) {
              world.run_by_idempotency_key.insert_or_assign(ended.idempotency_key, id);
            }
            world.ended_runs.put(id, std::move(ended));
          });
      reader.read(world.forgotten_keys);
      read_remembered<std::string, RememberedCommand>(
          reader, world.commands, [&world](const std::string& id, RememberedCommand&& command) {
            world.commands.put(id, std::move(command));
          });
      read_runs(reader, world);
      read_locks(reader, world);
      read_remembered<std::string, EndedLock>(reader, world.ended_locks,
                                              [&world](const std::string& key, EndedLock&& ended) {
                                                world.ended_locks.put(key, std::move(ended));
                                              });
      read_ticks(reader, world);
      reader.read(world.access);
      read_board(reader, world, format);
      read_additions(reader, world, format);
      index_ready_stations(world);
      index_lock_holders(world);
    });
  } catch (const std::exception& malformed) {
    return store_failure(StoreError::Kind::damaged,
                         std::string("the world can't be read: it has ") + malformed.what());
  }
  return world;
}

}  // namespace signalbox
