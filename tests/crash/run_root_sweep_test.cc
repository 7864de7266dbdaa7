// T7 with the real server: killed at random moments under ticks, locks and runs that have files in
// run roots. Each file is complete or absent at any time; after the next start the files match the
// log; and deleted files are rebuilt with the same bytes.
//
//   SIGNALBOX_KILLS=200 SIGNALBOX_SEED=7 test_crash --gtest_filter='RunRootSweep.*'
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "tests/crash/run_root_load.h"
#include "tests/crash/server_test.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/random_seed.h"

namespace signalbox::test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::uint64_t sweep_kills_default = 20;
// Unless the number of kills is given, no more are begun after this time, if each kind of file was
// seen, but always the fewest.
constexpr std::chrono::seconds root_sweep_time_max{10};
constexpr std::uint64_t root_sweep_kills_min = 8;
constexpr std::size_t lanes = 3;
constexpr const char* temporary_end = ".signalbox-tmp";

using Files = std::map<std::string, std::string>;

// Returns the files below a root, except temporary ones, whose contents are unspecified.
Files files_below(const fs::path& root) {
  Files files;
  std::error_code error;
  for (const auto& each : fs::recursive_directory_iterator(root, error)) {
    if (!each.is_regular_file() || each.path().string().ends_with(temporary_end)) continue;
    files[fs::relative(each.path(), root).string()] = content_of(each.path());
  }
  return files;
}

std::string schema_of(const std::string& path) {
  static const std::map<std::string, std::string> schemas = {
      {".lock", "lock.v1"},
      {"logs/tick-in-progress.json", "tick_in_progress.v1"},
      {"logs/ticks.jsonl", "tick_ledger.v1"},
      {"logs/timeout-checkpoint.json", "timeout_checkpoint.v1"},
      {"manifest.json", "run_manifest.v1"},
      {"run_config.json", "run_config.v1"}};
  if (const auto known = schemas.find(path); known != schemas.end()) return known->second;
  if (path.starts_with("operator/halt/")) return "halt.v1";
  if (path.starts_with("prompts/")) return "attempt_prompt.v1";
  if (path.starts_with("outputs/")) return "attempt_output.v1";
  return "none that is known";
}

// Requires that a file is complete and has the schema that its path implies.
void expect_whole(const fs::path& root, const std::string& path, const std::string& text) {
  const std::string where = (root / path).string();
  if (path == "logs/timeout-checkpoint.md") {
    EXPECT_TRUE(text.starts_with("# ") && text.ends_with("```\n")) << where << ": " << text;
    return;
  }
  EXPECT_TRUE(text.ends_with("\n")) << where << ": " << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    json::error_code error;
    const json::value value = json::parse(line, error);
    ASSERT_TRUE(!error && value.is_object()) << where << ": " << line;
    EXPECT_EQ(value.at("schema_version").as_string(), schema_of(path)) << where;
  }
}

class RunRootSweep : public ServerTest {
 protected:
  // The service's own watchdog loop would keep appending to the log.
  RunRootSweep() : ServerTest({"--watchdog-interval", "1h"}) {}

  std::uint64_t position() { return number_of(call("server.status", {}).at("position")); }

  // Waits until the files are up to date with the log; returns their position.
  std::uint64_t wait_for_files() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30 * slowness);
    for (;;) {
      const json::object status = call("server.status", {});
      const std::uint64_t log = number_of(status.at("position"));
      // What fails is tried again: on a disk that other tests keep busy for seconds it may.
      if (number_of(status.at("run_roots_position")) >= log &&
          status.at("run_root_failures").as_array().empty()) {
        return log;
      }
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "the files don't follow: " << json::serialize(status);
        return log;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  // Returns the result of `check` for a period in which the log didn't change: a lease may end at
  // any time.
  template <class Check>
  std::string at_stable_position(const Check& check) {
    for (int time = 0; time < 100; ++time) {
      const std::uint64_t before = wait_for_files();
      std::string problem = check();
      if (position() == before) return problem;
    }
    return "the log never holds still";
  }
  // Requires that the files match the log, within some time: those about the run as a whole follow
  // a moment later.
  void expect_files_of_log(const std::string& run_id, const RunRootLoad::Run& run) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10 * slowness);
    for (;;) {
      const std::string problem = at_stable_position([&] { return difference(run_id, run); });
      if (problem.empty()) return;
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << problem << server_.log();
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  // Checks every file that exists while the server isn't running.
  void check_files() {
    std::error_code error;
    for (const auto& root : fs::directory_iterator(roots_, error)) {
      for (const auto& [path, text] : files_below(root)) {
        expect_whole(root, path, text);
        ++kinds_[schema_of(path)];
        ++files_checked_;
      }
      for (const auto& each : fs::recursive_directory_iterator(root)) {
        unfinished_ += each.path().string().ends_with(temporary_end) ? 1 : 0;
      }
    }
  }

  // Returns how the run's files differ from the log's contents; "" if they don't.
  std::string difference(const std::string& run_id, const RunRootLoad::Run& run) {
    const json::object report =
        call("run.rebuild_artifacts", {{"run_id", run_id}, {"check", true}});
    Files on_disk = files_below(run.root);
    std::string problem;
    for (const json::value& file : report.at("files").as_array()) {
      const std::string path(file.at("path").as_string());
      const std::string found(file.at("found").as_string());
      // The files about the run as a whole are written when the first attempt ends.
      const bool comes_later = path == "manifest.json" || path == "run_config.json" ||
                               path.starts_with("prompts/") || path.starts_with("outputs/");
      const bool fits = found == "same" || (found == "missing" && comes_later && !run.ended);
      if (!fits) problem += (run.root / path).string() + " is " + found + "\n";
      on_disk.erase(path);
    }
    for (const auto& [path, text] : on_disk) {
      problem += (run.root / path).string() + " isn't of the log: " + text + "\n";
    }
    return problem;
  }
  // Deletes all files of a run and has them rebuilt; returns the differences, or "".
  std::string rebuild(const std::string& run_id, const fs::path& root) {
    const Files before = files_below(root);
    for (const auto& [path, text] : before) fs::remove(root / path);
    ProcessOutput output;
    // A disk that other tests keep busy for seconds is refused as one that hangs: ask again.
    for (int attempt = 0; attempt < 5; ++attempt) {
      output = run_program(
          {SIGNALBOX_BINARY, "artifacts", "rebuild", run_id, "--data", server_.data().string()});
      if (output.text.find("(OVERLOADED)") == std::string::npos) break;
    }
    if (output.end.exit_code != 0) return output.text;
    Files after = files_below(root);
    std::string problem;
    for (const auto& [path, text] : before) {
      if (after[path] != text) problem += path + " was\n" + text + "and is\n" + after[path];
    }
    return problem;
  }

  // Returns the schemas of files that must be there at some kill and have not been.
  [[nodiscard]] std::string unseen_kinds() const {
    std::string unseen;
    for (const char* schema :
         {"lock.v1", "tick_in_progress.v1", "tick_ledger.v1", "halt.v1", "timeout_checkpoint.v1",
          "run_manifest.v1", "run_config.v1", "attempt_prompt.v1", "attempt_output.v1"}) {
      if (!kinds_.contains(schema)) unseen += std::string(schema) + " ";
    }
    return unseen;
  }

  const fs::path roots_ = scratch_.path() / "roots";
  std::map<std::string, std::size_t> kinds_;
  std::size_t files_checked_ = 0;
  std::size_t unfinished_ = 0;
};

TEST_F(RunRootSweep, FilesAreWholeAtEveryKillAndComeBackWithTheSameBytes) {  // T7
  const std::uint64_t seed = random_seed();
  const auto kills_wanted = number_from_environment("SIGNALBOX_KILLS");
  const std::uint64_t kills = kills_wanted.value_or(sweep_kills_default);
  std::cout << "again with: SIGNALBOX_SEED=" << seed << " SIGNALBOX_KILLS=" << kills
            << " test_crash --gtest_filter='RunRootSweep.*'" << std::endl;
  std::mt19937_64 random(seed);
  ASSERT_TRUE(server_.start()) << server_.log();
  RunRootLoad load(server_.socket(), roots_, lanes, seed);
  // Ended, and checked since: these are rechecked only now and then.
  std::set<std::string> checked_after_end;
  const auto began = std::chrono::steady_clock::now();
  std::uint64_t killed = 0;
  for (; killed < kills && !HasFailure(); ++killed) {
    const bool enough = killed >= root_sweep_kills_min &&
                        std::chrono::steady_clock::now() - began > root_sweep_time_max &&
                        unseen_kinds().empty();
    if (!kills_wanted && enough) break;
    const std::size_t taken = load.taken();
    const std::chrono::milliseconds at_random(20 + random() % 230);
    std::this_thread::sleep_for(at_random);
    while (load.taken() == taken && server_.running()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    server_.kill();
    check_files();
    ASSERT_TRUE(server_.start()) << server_.log();
    load.hold();
    const auto runs = load.runs();
    auto rebuilt = runs.begin();
    std::advance(rebuilt, random() % runs.size());
    for (const auto& [run_id, run] : runs) {
      if (checked_after_end.contains(run_id) && random() % 20 != 0) continue;
      expect_files_of_log(run_id, run);
      if (run.ended) checked_after_end.insert(run_id);
    }
    EXPECT_EQ(at_stable_position([&] { return rebuild(rebuilt->first, rebuilt->second.root); }),
              "");
    load.go_on();
  }
  load.hold();
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
  std::cout << killed << " kills, " << load.taken() << " commands, " << load.runs().size()
            << " runs, " << files_checked_ << " files looked at, " << unfinished_
            << " unfinished ones beside them" << std::endl;
  EXPECT_EQ(unseen_kinds(), "") << "was never seen: this proves little";
}

}  // namespace
}  // namespace signalbox::test
