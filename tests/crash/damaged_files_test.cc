// The real server on damaged files: a log whose files don't fit together is refused as it is, and
// read models are computed from the log again while the service goes on.
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <boost/json/serialize.hpp>

#include "tests/crash/server_test.h"
#include "tests/eventually.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/random_seed.h"

namespace signalbox::test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr int run_count = 60;

class DamagedFiles : public ServerTest {
 protected:
  // Starts runs in several lives, so that the log and the read models have several tables.
  void fill() {
    for (int life = 0; life < 3; ++life) {
      start();
      for (int number = 0; number < run_count / 3; ++number) {
        ids_.insert(start_run({{"goal", std::string(200, 'g')}}));
      }
      ASSERT_EQ(server_.stop().exit_code, 0) << server_.log();
    }
  }

  [[nodiscard]] fs::path log() const { return server_.data() / "log"; }
  [[nodiscard]] fs::path read_models() const { return server_.data() / "projections/read_models"; }

  static std::vector<fs::path> files(const fs::path& directory, const std::string& part) {
    std::vector<fs::path> found;
    for (const auto& file : fs::directory_iterator(directory)) {
      if (file.path().filename().string().find(part) != std::string::npos) {
        found.push_back(file.path());
      }
    }
    std::ranges::sort(found);
    return found;
  }

  static std::map<std::string, std::string> contents(const fs::path& directory) {
    std::map<std::string, std::string> all;
    for (const auto& file : fs::directory_iterator(directory)) {
      all[file.path().filename().string()] = content_of(file.path());
    }
    return all;
  }

  // Returns the runs that the server lists; nullopt if it asks to try again.
  std::optional<std::set<std::string>> listed() const {
    const auto answer = answer_to("run.list", {{"limit", 500}});
    if (!answer) return std::nullopt;
    if (const std::string code = error_code_of(*answer); !code.empty()) {
      EXPECT_EQ(code, "READ_MODELS_REBUILDING") << json::serialize(*answer);
      return std::nullopt;
    }
    std::set<std::string> all;
    const json::object page = result_of(answer);
    for (const json::value& run : page.at("runs").as_array()) {
      all.emplace(run.at("run_id").as_string());
    }
    return all;
  }

  // Every answer has all runs, and in the end there is one.
  void expect_all_runs() {
    EXPECT_TRUE(eventually([this] {
      const auto all = listed();
      if (all) {
        EXPECT_TRUE(*all == ids_) << all->size() << " runs are listed, not " << ids_.size();
      }
      return all.has_value() || !server_.running();
    }));
    EXPECT_TRUE(server_.running()) << server_.log();
  }

  static void flip(const fs::path& file, std::size_t offset) {
    std::string bytes = content_of(file);
    bytes.at(offset) = static_cast<char>(bytes[offset] ^ 0x04);
    // In place: the server has the file open.
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(offset));
    stream.put(bytes[offset]);
  }

  std::set<std::string> ids_;
};

TEST_F(DamagedFiles, ALogWhoseManifestWasCutIsRefusedAndNothingIsDeleted) {  // G2
  fill();
  const auto good = contents(log());
  const fs::path manifest = files(log(), "MANIFEST-").back();
  const std::string bytes = content_of(manifest);
  std::set<std::size_t> sizes{0, 1, 96, 152, 300, bytes.size() - 1, bytes.size() / 2};
  for (std::size_t at = 1; at < 8; ++at) sizes.insert(bytes.size() * at / 8);
  int refused = 0;
  for (const std::size_t size : sizes) {
    if (size >= bytes.size()) continue;
    const TemporaryDirectory copy;
    fs::copy(server_.data(), copy / "data",
             fs::copy_options::recursive | fs::copy_options::skip_symlinks);
    write_text(copy / "data/log" / manifest.filename(), bytes.substr(0, size));
    auto before = good;
    before[manifest.filename().string()] = bytes.substr(0, size);
    ServerProcess server(copy / "data");
    if (server.start()) {
      const json::object page =
          result_of(answer_of(server.socket(), "events.read", {{"from", 1}, {"limit", 1000}}));
      std::set<std::string> started;
      for (const json::value& event : page.at("events").as_array()) {
        if (event.at("type") == "RunStarted") started.emplace(event.at("run_id").as_string());
      }
      EXPECT_TRUE(started == ids_) << "cut to " << size << ": records were lost";
      continue;
    }
    ++refused;
    EXPECT_EQ(server.wait().exit_code, 78) << "cut to " << size << server.log();
    EXPECT_TRUE(contents(copy / "data/log") == before) << "cut to " << size << ": files changed";
    EXPECT_TRUE(server.logs("Nothing was deleted")) << server.log();
    EXPECT_TRUE(server.logs(manifest.filename().string())) << server.log();
  }
  EXPECT_GE(refused, 5);
}

// Its end looks like what a crash tears, and was acknowledged.
TEST_F(DamagedFiles, ADamagedEndOfTheLogIsRefusedAndStaysAsItIs) {  // G2
  fill();
  const fs::path last = files(log(), ".log").back();
  flip(last, fs::file_size(last) - 40);
  const auto before = contents(log());
  EXPECT_FALSE(server_.start());
  EXPECT_EQ(server_.wait().exit_code, 78) << server_.log();
  EXPECT_TRUE(server_.logs(last.string() + " can't be read from byte")) << server_.log();
  EXPECT_TRUE(contents(log()) == before);
}

// A start doesn't read the whole log. The last bytes of a table are read by nobody.
TEST_F(DamagedFiles, ATableOfTheLogThatNobodyReadIsToldWhileTheServiceGoesOn) {  // G2
  fill();
  const fs::path table = files(log(), ".sst").front();
  flip(table, fs::file_size(table) - 16);
  start();
  EXPECT_TRUE(eventually([&] {
    const std::string status = json::serialize(result_of(answer_to("server.status", {})));
    return status.find(table.filename().string() + " isn't as it was written") != std::string::npos;
  })) << server_.log();
  const std::string inbox = json::serialize(result_of(answer_to("attention.list", {})));
  EXPECT_NE(inbox.find("restore one that is whole"), std::string::npos) << inbox;
  EXPECT_TRUE(server_.logs(table.string() + " isn't as it was written"));
  ids_.insert(start_run({{"goal", "it goes on"}}));
  expect_all_runs();
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
}

// RocksDB writes its options down for who looks, so it doesn't matter how long such a file is.
TEST_F(DamagedFiles, NoFileOfOptionsIsEverOpened) {  // G2
  fill();
  const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(watch, 0);
  const auto was_any_opened = [watch] {
    alignas(inotify_event) std::array<char, 65536> events;
    const ssize_t bytes = read(watch, events.data(), events.size());
    for (ssize_t at = 0; at < bytes;) {
      const auto& event = *reinterpret_cast<const inotify_event*>(events.data() + at);
      if ((event.mask & IN_OPEN) != 0) return true;
      at += static_cast<ssize_t>(sizeof(event) + event.len);
    }
    return false;
  };
  auto options = files(log(), "OPTIONS-");
  std::ranges::copy(files(read_models(), "OPTIONS-"), std::back_inserter(options));
  ASSERT_GE(options.size(), 2U);
  for (const fs::path& file : options) {
    ASSERT_GE(inotify_add_watch(watch, file.c_str(), IN_OPEN), 0) << file;
  }
  EXPECT_FALSE(content_of(options.front()).empty());
  EXPECT_TRUE(was_any_opened()) << "the watch sees who opens a file";
  start();
  expect_all_runs();
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
  const auto verified =
      run_program({SIGNALBOX_BINARY, "replay", "--verify", "--data", server_.data().string()});
  EXPECT_EQ(verified.end.exit_code, 0) << verified.text;
  EXPECT_FALSE(was_any_opened());
  close(watch);
}

TEST_F(DamagedFiles, ReadModelsWhoseManifestWasCutAreBuiltAgain) {  // G2 G3
  fill();
  const fs::path manifest = files(read_models(), "MANIFEST-").back();
  write_text(manifest, content_of(manifest).substr(0, 96));
  start();
  expect_all_runs();
  EXPECT_TRUE(eventually([this] { return events("ProjectionRebuilt").size() == 1; }));
  const json::object rebuilt = events("ProjectionRebuilt")[0].at("data").as_object();
  EXPECT_EQ(rebuilt.at("projection"), "read_models");
  EXPECT_NE(rebuilt.at("reason").as_string().find("MANIFEST-"), std::string::npos);
  EXPECT_TRUE(call("server.status").at("read_models_rebuild").is_null());
  ASSERT_EQ(server_.stop().exit_code, 0) << server_.log();
  start();
  expect_all_runs();
  EXPECT_EQ(events("ProjectionRebuilt").size(), 1U) << "it is mended";
}

TEST_F(DamagedFiles, AnyFileOfTheProjectionsCanBeDamagedBeforeAStart) {  // G3
  fill();
  std::vector<fs::path> all;
  for (const auto& file : fs::recursive_directory_iterator(server_.data() / "projections")) {
    if (file.is_regular_file() && file.file_size() > 0) all.push_back(file.path());
  }
  std::ranges::sort(all);
  const FaultRotation rotation(3);
  std::size_t tried = 0;
  // Each file is emptied, and cut in half.
  for (std::size_t turn = rotation.first; turn < 2 * all.size(); turn += rotation.stride, ++tried) {
    const fs::path& file = all[turn / 2];
    const std::string bytes = content_of(file);
    const TemporaryDirectory copy;
    fs::copy(server_.data(), copy / "data",
             fs::copy_options::recursive | fs::copy_options::skip_symlinks);
    write_text(copy / "data" / fs::relative(file, server_.data()),
               turn % 2 == 0 ? std::string() : bytes.substr(0, bytes.size() / 2));
    ServerProcess server(copy / "data");
    ASSERT_TRUE(server.start()) << file << server.log();
    EXPECT_TRUE(eventually([&] {
      const auto answer = answer_of(server.socket(), "run.list", {{"limit", 500}});
      if (!answer) return false;
      if (error_code_of(*answer) == "READ_MODELS_REBUILDING") return false;
      EXPECT_EQ(result_of(answer).at("runs").as_array().size(), ids_.size()) << file;
      return true;
    })) << file;
    EXPECT_EQ(server.stop().exit_code, 0) << file << server.log();
  }
  EXPECT_GE(tried, 3U);
}

TEST_F(DamagedFiles, ABitOfTheReadModelsMayFlipWhileTheServerServes) {  // G3
  fill();
  start();
  const std::size_t before = events("ProjectionRebuilt").size();
  std::size_t flips = 0;
  for (const fs::path& table : files(read_models(), ".sst")) {
    std::error_code gone;  // a rebuild deletes the tables
    const std::size_t bytes = fs::file_size(table, gone);
    for (std::size_t at = 0; at < 8 && fs::exists(table); ++at, ++flips) {
      flip(table, bytes * at / 8);
      expect_all_runs();
      ids_.insert(start_run({{"goal", "after a flipped bit"}}));
      expect_all_runs();
    }
  }
  EXPECT_GT(flips, 8U);
  // Bits in blocks that no query reads are found when the files are read as a whole.
  ASSERT_EQ(server_.stop().exit_code, 0) << server_.log();
  for (const fs::path& table : files(read_models(), ".sst")) {
    flip(table, fs::file_size(table) / 3);
  }
  start();
  EXPECT_TRUE(eventually([&] { return events("ProjectionRebuilt").size() > before; }));
  expect_all_runs();
  const auto metrics = call("server.metrics");
  EXPECT_NE(json::serialize(metrics).find("signalbox_projection_rebuilds_total"),
            std::string::npos);
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
}

}  // namespace
}  // namespace signalbox::test
