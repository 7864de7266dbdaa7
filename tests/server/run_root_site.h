// Fixture for tests of run roots: a log followed by the run root writer, without a server. Commands
// are decided, appended to the log, and applied by the writer.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>

#include "domain/decide.h"
#include "domain/evolve.h"
#include "projections/memory_table.h"
#include "server/followers/run_root/run_root_writer.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {

class RunRootSite {
 public:
  // The writer reads `writers_log`, if there is one, in place of `log`.
  RunRootSite(EventLog& log, std::filesystem::path data, const EventLog* writers_log = nullptr)
      : log_(log), writers_log_(writers_log), data_(std::move(data)) {
    EXPECT_TRUE(log_.scan(1, log_.tail(), [this](Record&& record) {
      evolve(world, record);
      return true;
    }));
  }
  ~RunRootSite() { stop(); }

  // Starts the followers as the server does.
  void start() {
    EXPECT_TRUE(projector.catch_up());
    projector.start();
    writer = std::make_unique<RunRootWriter>(
        writers_log_ == nullptr ? log_ : *writers_log_, projector, data_,
        [this](bool ok, auto& text) { notes.emplace_back(ok, text); });
    writer->start(world);
  }
  void stop() { writer.reset(); }

  // Decides the commands as one commit and appends it; the writer doesn't get it yet.
  Commit append(const std::vector<Command>& commands) {
    Commit commit;
    now_ns += 1'000'000;
    for (const Command& command : commands) {
      auto decided = decide(world, command, Now{now_ns});
      if (!decided) {
        ADD_FAILURE() << decided.error().message;
        continue;
      }
      for (NewEvent& event : *decided) {
        Record& record = commit.emplace_back();
        record.position = world.position + 1;
        record.stream = std::move(event.stream);
        record.recorded_at_ns = now_ns;
        record.actor = "uid:1";
        record.cause = event.cause;
        record.span_id = event.span_id;
        record.event = std::move(event.event);
        evolve(world, record);
      }
    }
    if (commit.empty()) return commit;
    const std::vector<Commit> batch = {commit};
    EXPECT_EQ(log_.append(commit.front().position - 1, batch).status, AppendStatus::ok);
    projector.notify();
    return commit;
  }
  // Appends the commands, hands the commit to the writer, and returns written().
  std::string apply(const std::vector<Command>& commands) {
    const std::vector<Commit> batch = {append(commands)};
    if (!batch.front().empty()) writer->apply(world, batch);
    return written();
  }
  // Waits until all files are written; returns the error of the files, or "".
  std::string written() {
    std::promise<std::string> promise;
    auto error = promise.get_future();
    writer->when_written(world.position,
                         [&promise](const std::string& text) { promise.set_value(text); });
    return error.get();
  }

  World world;
  MemoryTable table;
  RunIndex index{table};
  std::int64_t now_ns = 1'700'000'000'000'000'000;
  std::vector<std::pair<bool, std::string>> notes;  // appended on the writer's thread

 private:
  EventLog& log_;
  const EventLog* writers_log_;
  std::filesystem::path data_;

 public:
  Projector projector{log_, index, [](const StoreError&) {}};
  std::unique_ptr<RunRootWriter> writer;  // last: its thread uses the rest
};

// Returns the contents of the files below a root, by their paths. A symbolic link counts as a file.
inline std::map<std::string, std::string> files_on_disk(const std::filesystem::path& root) {
  std::map<std::string, std::string> files;
  std::error_code error;
  for (const auto& each : std::filesystem::recursive_directory_iterator(root, error)) {
    if (each.is_directory() && !each.is_symlink()) continue;
    files[std::filesystem::relative(each.path(), root).string()] = content_of(each.path());
  }
  return files;
}

// Returns the files of locks, ticks and timeouts below a root, as derived from the whole log.
inline std::map<std::string, std::string> files_from_log(const EventLog& log,
                                                         const std::filesystem::path& data,
                                                         const std::string& root) {
  RunRootProjection projection({}, data / "runs");
  RunRootBacklog backlog;
  EXPECT_TRUE(log.scan(1, log.tail(), [&](Record&& record) {
    if (!RunRootProjection::concerns(record)) return true;
    for (FileChange& change : projection.apply(record)) {
      if (change.root == root) backlog.add(std::move(change));
    }
    return true;
  }));
  std::map<std::string, std::string> files;
  for (const auto& [key, entry] : backlog.entries()) {
    if (entry.change.kind != FileChange::Kind::remove) files[key.second] = entry.change.bytes;
  }
  return files;
}

inline AcquireLock acquire_lock(const std::string& key, const std::string& owner,
                                const std::string& root) {
  AcquireLock command;
  command.key = key;
  command.owner = owner;
  command.lease_ms = 60'000;
  command.reason = "a test";
  command.run_root = root;
  return command;
}

inline BeginTick begin_tick(const std::string& loop, const std::string& root) {
  BeginTick command;
  command.loop = loop;
  command.stage = "plan";
  command.reason = "due";
  command.lease_ms = 1'000;
  command.run_root = root;
  return command;
}

}  // namespace signalbox
