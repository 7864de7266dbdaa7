#include "projections/world_additions.h"

#include <string>
#include <utility>
#include <vector>

#include "domain/placement.h"
#include "domain/sorted_entries.h"
#include "store/described_archive.h"

namespace signalbox {
namespace {

using described::Malformed;
using described::Reader;
using described::Writer;

// The machines of the attempts' jobs, by run.
void write_machines(Writer& writer, const World& world) {
  std::vector<const Run*> with_machine;
  for (const auto* entry : sorted_entries(world.runs)) {
    const Run& run = *entry->second;
    if (run.attempt && !run.attempt->machine.empty()) with_machine.push_back(&run);
  }
  write_count(writer, with_machine.size());
  for (const Run* run : with_machine) {
    writer.write(run->id);
    writer.write(run->attempt->machine);
  }
}

void read_machines(Reader& reader, World& world) {
  for (std::uint64_t left = read_count(reader); left > 0; --left) {
    RunId id{};
    reader.read(id);
    const auto place = world.runs.find(id);
    if (place == world.runs.end() || !place->second->attempt) {
      throw Malformed("a machine without its attempt");
    }
    reader.read(place->second->attempt->machine);
  }
}

void write_holders(Writer& writer, const World& world) {
  write_count(writer, world.holders.size());
  for (const auto& [token, actor] : world.holders) {
    writer.write(token);
    writer.write(actor);
  }
}

void read_holders(Reader& reader, World& world) {
  for (std::uint64_t left = read_count(reader); left > 0; --left) {
    Token token = 0;
    std::string actor;
    reader.read(token);
    reader.read(actor);
    world.holders.emplace_hint(world.holders.end(), token, std::move(actor));
  }
}

// The questions that are open, by run.
void write_questions(Writer& writer, const World& world) {
  std::vector<const Run*> asking;
  for (const auto* entry : sorted_entries(world.runs)) {
    if (entry->second->asked_at != 0) asking.push_back(entry->second.get());
  }
  write_count(writer, asking.size());
  for (const Run* run : asking) {
    writer.write(run->id);
    writer.write(run->asked_at);
  }
}

void read_questions(Reader& reader, World& world) {
  for (std::uint64_t left = read_count(reader); left > 0; --left) {
    RunId id{};
    reader.read(id);
    const auto place = world.runs.find(id);
    if (place == world.runs.end()) throw Malformed("a question without its run");
    reader.read(place->second->asked_at);
  }
}

// The machines that have the runs' workspaces, by run.
void write_places(Writer& writer, const World& world) {
  std::vector<const Run*> placed;
  for (const auto* entry : sorted_entries(world.runs)) {
    if (!entry->second->machine.empty()) placed.push_back(entry->second.get());
  }
  write_count(writer, placed.size());
  for (const Run* run : placed) {
    writer.write(run->id);
    writer.write(run->machine);
  }
}

void read_places(Reader& reader, World& world) {
  for (std::uint64_t left = read_count(reader); left > 0; --left) {
    RunId id{};
    reader.read(id);
    const auto place = world.runs.find(id);
    if (place == world.runs.end()) throw Malformed("a place without its run");
    reader.read(place->second->machine);
  }
}

// The runners that have worktrees of cards' runs.
void write_worktree_places(Writer& writer, const World& world) {
  std::vector<const CardWorktree*> placed;
  for (const auto& [id, worktree] : world.worktrees) {
    if (!worktree.runner.empty()) placed.push_back(&worktree);
  }
  write_count(writer, placed.size());
  for (const CardWorktree* worktree : placed) {
    writer.write(worktree->run_id);
    writer.write(worktree->runner);
  }
}

void read_worktree_places(Reader& reader, World& world) {
  for (std::uint64_t left = read_count(reader); left > 0; --left) {
    RunId id{};
    reader.read(id);
    const auto place = world.worktrees.find(id);
    if (place == world.worktrees.end()) throw Malformed("a place without its worktree");
    reader.read(place->second.runner);
  }
}

// Up to format 11 only the runs themselves say where they are; of those that had ended, nothing
// does.
void find_worktree_places(World& world) {
  for (auto& [id, worktree] : world.worktrees) {
    const Run* const run = world.find_run(id);
    if (run != nullptr && is_runner(run->machine)) worktree.runner = run->machine;
  }
}

// What is decided about runners.
void write_decided_runners(Writer& writer, const World& world) {
  write_count(writer, world.runners.size());
  for (const auto& [runner, decision] : world.runners) {
    writer.write(runner);
    writer.write(decision);
  }
}

void read_decided_runners(Reader& reader, World& world) {
  for (std::uint64_t left = read_count(reader); left > 0; --left) {
    std::string runner;
    RunnerDecision decision;
    reader.read(runner);
    reader.read(decision);
    if (decision.standing == RunnerStanding::free) throw Malformed("a runner without a decision");
    if (!world.runners.emplace(std::move(runner), decision).second) {
      throw Malformed("a runner that is there twice");
    }
  }
}

}  // namespace

void write_count(Writer& writer, std::size_t count) {
  writer.write(static_cast<std::uint64_t>(count));
}

std::uint64_t read_count(Reader& reader) {
  std::uint64_t count = 0;
  reader.read(count);
  return count;
}

void write_additions(Writer& writer, const World& world) {
  write_machines(writer, world);
  write_holders(writer, world);
  write_questions(writer, world);
  write_places(writer, world);
  write_worktree_places(writer, world);
  write_decided_runners(writer, world);
}

void read_additions(Reader& reader, World& world, std::uint32_t format) {
  if (format > 5) read_machines(reader, world);
  if (format > 5) read_holders(reader, world);
  if (format > 6) read_questions(reader, world);
  if (format > 10) read_places(reader, world);
  if (format > 11) {
    read_worktree_places(reader, world);
  } else {
    find_worktree_places(world);
  }
  if (format > 12) read_decided_runners(reader, world);
}

}  // namespace signalbox
