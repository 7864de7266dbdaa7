// T7: kills the process that writes run roots at random moments, again and again. Each file must be
// complete at any time, and match the log after the next start.
//
//   SIGNALBOX_KILLS=200 SIGNALBOX_SEED=7 test_server --gtest_filter='RunRootKill.*'
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>

#include "store/rocks_event_log.h"
#include "tests/fixtures/random_seed.h"
#include "tests/server/run_root_site.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr int kills_default = 12;

// Returns commands for a random next step of the lock and of the loop in their current states.
std::vector<Command> next_commands(const World& world, const std::string& root,
                                   std::mt19937_64& random) {
  std::vector<Command> commands;
  if (const Lock* lock = world.find_lock("deploy")) {
    switch (random() % 3) {
      case 0:
        commands.push_back(RefreshLock{"deploy", lock->token, 50, {}});
        break;
      case 1:
        commands.push_back(ReleaseLock{"deploy", lock->token, {}});
        break;
      default:
        commands.push_back(ExpireLock{"deploy", lock->token, lock->renewed_at});
        commands.push_back(acquire_lock("deploy", "next", root));
    }
  } else {
    commands.push_back(acquire_lock("deploy", "first", root));
  }
  const Tick* tick = world.find_tick("loop");
  if (tick == nullptr) {
    commands.push_back(begin_tick("loop", root));
  } else if (tick->status == TickStatus::running && random() % 2 == 0) {
    EndTick end;
    end.loop = "loop";
    end.token = tick->token;
    commands.push_back(end);
  } else if (tick->status == TickStatus::running) {
    commands.push_back(TimeOutTick{"loop", tick->token, 1'000});
    commands.push_back(NoteTickIncomplete{begin_tick("loop", root)});
  } else {
    commands.push_back(RecoverTick{"loop", "checked", std::nullopt});
  }
  return commands;
}

// Runs `body` in a forked process, so that this one never has the log's threads; returns its pid.
template <class Body>
pid_t in_child(const Body& body) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  body();
  ::_exit(testing::Test::HasFailure() ? 1 : 0);
}

// Writes run roots without end, and a byte to `begun` once the first files are there.
void write_until_killed(const fs::path& data, const std::string& root, std::uint64_t seed,
                        int begun) {
  auto log = RocksEventLog::open(data, {});
  ASSERT_TRUE(log) << log.error().message;
  RunRootSite site(**log, data);
  site.start();
  std::mt19937_64 random(seed);
  for (bool first = true;; first = false) {
    const std::vector<Commit> batch = {site.append(next_commands(site.world, root, random))};
    site.writer->apply(site.world, batch);
    if (random() % 4 == 0 || first) site.written();
    if (first) {
      ASSERT_EQ(::write(begun, "b", 1), 1);
    }
  }
}

void check(const fs::path& data, const std::string& root) {
  auto log = RocksEventLog::open(data, {});
  ASSERT_TRUE(log) << log.error().message;
  RunRootSite site(**log, data);
  site.start();
  EXPECT_EQ(site.written(), "");
  auto files = files_on_disk(root);
  std::erase_if(files, [](const auto& file) { return file.first.ends_with(".signalbox-tmp"); });
  EXPECT_EQ(files, files_from_log(**log, data, root));
  EXPECT_EQ(files.contains(".lock"), site.world.find_lock("deploy") != nullptr);
  EXPECT_EQ(files.contains("logs/tick-in-progress.json"), site.world.find_tick("loop") != nullptr);
}

// Expects a complete file with a known schema.
void expect_whole(const std::string& path, const std::string& text) {
  if (path.ends_with(".signalbox-tmp")) return;
  ASSERT_TRUE(text.ends_with("\n")) << path << ": " << text;
  if (path.ends_with(".md")) {
    EXPECT_TRUE(text.ends_with("```\n")) << text;
    return;
  }
  static const std::map<std::string, std::string> schemas = {
      {".lock", "lock.v1"},
      {"logs/tick-in-progress.json", "tick_in_progress.v1"},
      {"logs/ticks.jsonl", "tick_ledger.v1"},
      {"logs/timeout-checkpoint.json", "timeout_checkpoint.v1"}};
  const auto known = schemas.find(path);
  const std::string schema = known == schemas.end() ? "halt.v1" : known->second;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    boost::json::error_code error;
    const auto value = boost::json::parse(line, error);
    ASSERT_TRUE(!error && value.is_object()) << path << ": " << line;
    EXPECT_EQ(value.at("schema_version").as_string(), schema) << path;
  }
}

// What comes after the first start is written after a kill as well: by the saved progress.
TEST(RunRootKill, TheFirstStartSavesWhereItBegan) {  // T7
  for (int start = 0; start < 20; ++start) {
    const TemporaryDirectory data;
    auto log = RocksEventLog::open(data.path(), {});
    ASSERT_TRUE(log) << log.error().message;
    RunRootSite site(**log, data.path());
    site.start();
    ASSERT_TRUE(fs::exists(data.path() / "projections" / "run_roots.json"))
        << "a kill now would lose rows";
  }
}

TEST(RunRootKill, FilesAreWholeAndFollowTheLog) {  // T7
  const std::uint64_t seed = random_seed();
  const std::uint64_t kills = number_from_environment("SIGNALBOX_KILLS").value_or(kills_default);
  std::cout << "again with: SIGNALBOX_SEED=" << seed << " SIGNALBOX_KILLS=" << kills
            << " test_server --gtest_filter='RunRootKill.*'" << std::endl;
  const TemporaryDirectory directory;
  const fs::path data = directory.path() / "data";
  const std::string root = (directory.path() / "root").string();
  fs::create_directories(data);
  std::mt19937_64 random(seed);
  std::size_t files_seen = 0;
  for (std::uint64_t kill = 0; kill < kills && !HasFailure(); ++kill) {
    const std::uint64_t own_seed = random();
    int begun[2];
    ASSERT_EQ(::pipe(begun), 0);
    const pid_t writer = in_child([&] { write_until_killed(data, root, own_seed, begun[1]); });
    ::close(begun[1]);
    // A quarter of the kills come at any moment of a start. The others come while it writes,
    // however long its start takes.
    char byte = 0;
    if (random() % 4 != 0) {
      ASSERT_EQ(::read(begun[0], &byte, 1), 1) << "it ended by itself";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 250));
    ::kill(writer, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(writer, &status, 0), writer);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself";
    ::close(begun[0]);
    const auto files = files_on_disk(root);
    files_seen += files.size();
    for (const auto& [path, text] : files) expect_whole(path, text);
    const pid_t checker = in_child([&] { check(data, root); });
    ASSERT_EQ(::waitpid(checker, &status, 0), checker);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "after kill " << kill + 1;
  }
  EXPECT_GT(files_seen, 0U) << "no file was ever written: this proves nothing";
}

}  // namespace
}  // namespace signalbox
