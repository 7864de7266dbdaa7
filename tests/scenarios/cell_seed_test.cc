// `signalbox cell seed`: the log of a server that goes on, for a new server of its cell
// (BEHAVIOURS, chapter K).
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include <sys/stat.h>

#include "store/directory_lock.h"
#include "tests/crash/small_disk.h"
#include "tests/fixtures/needed_ability.h"
#include "tests/fixtures/random_seed.h"
#include "tests/scenarios/cell_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& each : fs::directory_iterator(directory)) {
    names.push_back(each.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class CellSeedTest : public CellTest {
 protected:
  void TearDown() override {
    is_over_ = true;
    if (load_.joinable()) load_.join();
    CellTest::TearDown();
  }
  // Starts runs and ends them, one after the other, until the end of the test.
  void start_load() {
    load_ = std::thread([this] {
      for (int count = 0; !is_over_; ++count) {
        const std::string run_id = start_run("load", "load-" + std::to_string(count));
        if (!run_id.empty()) (void)result({"run", "cancel", run_id});
      }
    });
  }
  void end_load() {
    is_over_ = true;
    load_.join();
  }

  std::atomic<bool> is_over_ = false;
  std::thread load_;
};

TEST_F(CellSeedTest, NewServersBeginWithSeedsOfRunningOnes) {  // K7
  start_both();
  for (int count = 0; count < 5; ++count) {
    (void)start_run("before", "before-" + std::to_string(count));
  }
  const std::uint64_t before = position_of(a_);
  await_position(b_, before);
  // What the database no longer has, a new server can't follow.
  (void)nodes_.query("delete from sb_entry where last < " + std::to_string(before));
  CellPeer c("c", nodes_.url());
  CellPeer d("d", nodes_.url());
  c.server().launch();
  EXPECT_TRUE(eventually([&] { return !c.server().running(); }));
  EXPECT_EQ(c.server().stop(), 78);  // how it has ended
  EXPECT_TRUE(c.server().logs("signalbox cell seed")) << c.server().messages();
  start_load();
  const auto joins = [&](CellPeer& from, CellPeer& added) {
    const std::uint64_t at_least = position_of(from);
    const json::object made = seed(from, added);
    ASSERT_FALSE(made.empty());
    EXPECT_EQ(text_at(made, "cell"), "main");
    const auto position = made.at("position").to_number<std::uint64_t>();
    EXPECT_GE(position, at_least);
    added.server().start();
    await_role(added, "standby");
    await_position(added, std::max(position, position_of(a_)));
  };
  joins(b_, c);
  joins(a_, d);
  EXPECT_EQ(a_.role(), "active");
  EXPECT_EQ(b_.role(), "standby");
  end_load();
  const std::string last_run = start_run("last", "last");
  for (const CellPeer* peer : {&b_, &c, &d}) await_position(*peer, position_of(a_));
  EXPECT_EQ(text_at(d.rpc("run.get", {{"run_id", last_run}}).at("run").as_object(), "goal"),
            "last");
  // They are servers like others: one of them takes the cell.
  EXPECT_TRUE(eventually([&] { return a_.ask({"cell", "switch", "--to", "c"}).exit_code == 0; }));
  await_role(c, "active");
  await_role(a_, "standby");
  await_position(a_, position_of(c));
  expect_same({&a_, &b_, &d, &c});
}

// A seed is of the cell of its server: nobody goes on with it alone, nor in an empty database.
TEST_F(CellSeedTest, StaysInItsCell) {  // K7
  start_both();
  (void)start_run("before", "before");
  CellPeer c("c", nodes_.url());
  (void)seed(a_, c);
  const std::string settings = content_of(c.server().data() / "signalbox.toml");
  c.configure("");
  c.server().launch();
  EXPECT_TRUE(eventually([&] { return !c.server().running(); }));
  EXPECT_EQ(c.server().stop(), 78);
  EXPECT_TRUE(c.server().logs("is a replica of the cell main")) << c.server().messages();
  write_text(c.server().data() / "signalbox.toml", settings);
  for (CellPeer* peer : {&b_, &a_}) EXPECT_EQ(peer->server().stop(), 0);
  (void)nodes_.query("delete from sb_cell");
  c.server().launch();
  EXPECT_TRUE(eventually([&] { return !c.server().running(); }));
  EXPECT_EQ(c.server().stop(), 78);
  EXPECT_TRUE(c.server().logs("this server was one of the cell main")) << c.server().messages();
}

// As a loss of power leaves it, which takes some of what wasn't synced yet.
TEST_F(CellSeedTest, AReplicaThatItsDiskHasDamagedGoesOnWithASeed) {  // K5
  start_both();
  const auto damage = [&](const std::string& goal) {
    for (int count = 0; count < 5; ++count) {
      (void)start_run(goal, goal + std::to_string(count));
      await_position(b_, position_of(a_));
    }
    b_.server().kill();
    fs::path last;
    for (const auto& each : fs::directory_iterator(b_.server().data() / "log")) {
      if (each.path().extension() == ".log" && each.path() > last) last = each.path();
    }
    std::string bytes = content_of(last);
    ASSERT_GT(bytes.size(), 1000U);
    bytes.replace(bytes.size() / 2, 64, std::string(64, '\0'));
    write_text(last, bytes);
    b_.server().launch();
    EXPECT_TRUE(eventually([&] { return !b_.server().running(); }));
    EXPECT_EQ(b_.server().stop(), 78) << b_.server().messages();  // how it has ended
    EXPECT_TRUE(b_.server().logs("put what `signalbox cell seed DIR` makes"))
        << b_.server().messages();
  };
  damage("before");
  (void)seed(a_, b_);
  b_.server().start();
  await_role(b_, "standby");
  // The database has the whole log.
  damage("after");
  for (const char* part : {"log", "anchor", "projections"}) {
    fs::remove_all(b_.server().data() / part);
  }
  b_.server().start();
  await_position(b_, position_of(a_));
  expect_same({&b_, &a_});
}

// The command by itself, at a directory that looks like that of a server of a cell.
class SeedCommand : public testing::Test {
 protected:
  SeedCommand() {
    server_.start();
    for (int count = 0; count < 3; ++count) {
      EXPECT_EQ(server_.cli({"run", "start", "something", "--pipeline", pipeline()}).exit_code, 0);
    }
    write_text(server_.data() / "cell", "main");
  }
  [[nodiscard]] std::string pipeline() const {
    write_text(scratch_.path() / "one.toml",
               "name = \"one\"\n[[station]]\nname = \"work\"\nexecutor = \"approval\"\n");
    return (scratch_.path() / "one.toml").string();
  }
  [[nodiscard]] fs::path at(const std::string& name) const { return scratch_.path() / name; }
  [[nodiscard]] Output seed(const fs::path& target) const {
    return server_.cli({"cell", "seed", target.string()});
  }
  void expect_refused(const fs::path& target, const std::string& why, int exit_code = 2) const {
    const Output output = seed(target);
    EXPECT_EQ(output.exit_code, exit_code) << output.out << output.err;
    EXPECT_NE(output.err.find(why), std::string::npos) << output.err;
  }
  // Expects a whole seed of the server, which goes on.
  void expect_seed(const fs::path& directory) const {
    EXPECT_EQ(names_in(directory),
              (std::vector<std::string>{"anchor", "cell", "cell_seen", "log"}));
    EXPECT_FALSE(fs::exists(directory.string() + ".incomplete"));
    EXPECT_EQ(content_of(directory / "cell"), "main");
    const Output verified = run_process(
        {SIGNALBOX_BINARY, "replay", "--verify", "--json", "--data", directory.string()});
    EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
    struct stat status {};
    ASSERT_EQ(::stat(directory.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700U);
  }

  TemporaryDirectory scratch_;
  RealServer server_;
};

TEST_F(SeedCommand, MakesADirectoryWithTheLogAlone) {  // K7
  const Output made = seed(at("seed/"));               // as a shell completes a name
  ASSERT_EQ(made.exit_code, 0) << made.out << made.err;
  EXPECT_NE(made.out.find("Merkle root "), std::string::npos) << made.out;
  EXPECT_NE(made.out.find("cell.keep"), std::string::npos) << made.out;
  expect_seed(at("seed"));
  EXPECT_TRUE(server_.running());
  // Of a stopped one, too.
  EXPECT_EQ(server_.stop(), 0);
  const Output again = server_.cli({"cell", "seed", at("again").string(), "--json"});
  ASSERT_EQ(again.exit_code, 0) << again.out << again.err;
  const json::object result = json::parse(again.out).at("result").as_object();
  EXPECT_EQ(result.at("directory").as_string(), at("again").string());
  EXPECT_EQ(result.at("root").as_string().size(), 64U);
  EXPECT_GT(result.at("bytes").to_number<std::uint64_t>(), 0U);
  expect_seed(at("again"));
  EXPECT_EQ(content_of(at("again") / "cell_seen"),
            std::to_string(result.at("position").to_number<std::uint64_t>()) + " main");
}

TEST_F(SeedCommand, ReplacesNothing) {  // K7
  fs::create_directories(at("empty"));
  write_text(at("file"), "mine");
  fs::create_symlink(at("nowhere"), at("link"));
  for (const char* name : {"empty", "file", "link"}) expect_refused(at(name), "is there already");
  expect_refused("/", "is there already");
  expect_refused(at("missing") / "seed", "isn't a directory that can be reached");
  expect_refused(at("file") / "seed", "isn't a directory that can be reached");
  expect_refused(server_.data() / "seed", "lies in the data directory");
  fs::create_symlink(server_.data() / "log", at("inside"));
  expect_refused(at("inside") / "seed", "lies in the data directory");
  expect_refused("", "is empty");
  EXPECT_EQ(content_of(at("file")), "mine");
  EXPECT_FALSE(fs::exists(at("nowhere")));
  // What isn't left of an attempt isn't removed.
  fs::create_directories(at("seed.incomplete") / "log");
  write_text(at("seed.incomplete") / "thesis", "mine");
  expect_refused(at("seed"), "isn't what an interrupted attempt leaves");
  EXPECT_EQ(content_of(at("seed.incomplete") / "thesis"), "mine");
  fs::remove_all(at("seed.incomplete"));
  fs::create_symlink(at("empty"), at("seed.incomplete"));
  expect_refused(at("seed"), "isn't what an interrupted attempt of this user left");
  fs::remove(at("seed.incomplete"));
  // Nor what another process is making.
  fs::create_directories(at("seed.incomplete"));
  {
    const auto lock = DirectoryLock::take(at("seed.incomplete") / "server.lock", "another");
    ASSERT_TRUE(lock);
    expect_refused(at("seed"), "is in use by `another`", 75);
  }
  EXPECT_EQ(seed(at("seed")).exit_code, 0);
  expect_seed(at("seed"));
}

TEST_F(SeedCommand, IsForServersOfACell) {  // K7
  fs::remove(server_.data() / "cell");
  expect_refused(at("seed"), "isn't the data directory of a server that has joined a cell");
  const Output none = run_process(
      {SIGNALBOX_BINARY, "cell", "seed", at("seed").string(), "--data", at("nowhere").string()});
  EXPECT_EQ(none.exit_code, 2) << none.err;
  // A directory that lost its log.
  fs::create_directories(at("other"));
  write_text(at("other") / "cell", "main");
  const Output gone = run_process(
      {SIGNALBOX_BINARY, "cell", "seed", at("seed").string(), "--data", at("other").string()});
  EXPECT_EQ(gone.exit_code, 2) << gone.err;
  EXPECT_NE(gone.err.find("there is no log in"), std::string::npos) << gone.err;
  EXPECT_EQ(names_in(at("other")), (std::vector<std::string>{"cell"}));
  EXPECT_FALSE(fs::exists(at("seed")));
  EXPECT_FALSE(fs::exists(at("seed.incomplete")));
  const Output past = server_.cli({"cell", "seed", at("seed").string(), "--at", "1"});
  EXPECT_EQ(past.exit_code, 2) << past.err;
}

TEST_F(SeedCommand, LeavesNothingOnADiskThatIsTooSmall) {  // K7
  fs::create_directories(at("small"));
  test::SmallDisk disk;
  if (const std::string why = disk.mount(at("small"), std::uint64_t{8} << 20); !why.empty()) {
    SIGNALBOX_CANNOT_RUN("no disk of our own can be mounted here (" + why +
                         "): run it as root, or where user namespaces are permitted");
  }
  expect_refused(at("small") / "seed", "name a directory on another disk", 74);
  EXPECT_TRUE(names_in(at("small")).empty());
}

// Sends SIGKILL at the n-th of the calls that write, remove or make something durable, for
// n = 1, 2, … in turns, until the command ends by itself.
TEST_F(SeedCommand, KilledAnywhereIsWholeOrNotThere) {  // K7
  const FaultRotation rotation(6);
  const int stride = static_cast<int>(rotation.stride);
  int killed = 0;
  for (const char* call : {"fdatasync,fsync", "unlink,unlinkat", "rename,renameat,renameat2",
                           "write", "mkdir", "link,linkat"}) {
    for (int n = 1 + static_cast<int>(rotation.first);; n += stride) {
      ASSERT_LT(n, 300) << call;
      const std::string where = std::string(call) + " " + std::to_string(n);
      const Output output = run_process(
          {"strace", "-f", "-qq", "-o", "/dev/null", "-E", "ASAN_OPTIONS=detect_leaks=0", "-e",
           std::string("inject=") + call + ":signal=KILL:when=" + std::to_string(n),
           SIGNALBOX_BINARY, "cell", "seed", at("seed").string(), "--data",
           server_.data().string()},
          {});
      ASSERT_EQ(output.err.find("strace:"), std::string::npos) << where << output.err;
      if (!fs::exists(at("seed"))) {
        ASSERT_NE(output.exit_code, 0) << where;
        ++killed;
        const Output again = seed(at("seed"));
        ASSERT_EQ(again.exit_code, 0) << where << again.out << again.err;
      }
      fs::remove(at("seed") / "server.lock");  // its end may be killed between the two
      expect_seed(at("seed"));
      fs::remove_all(at("seed"));
      if (output.exit_code == 0) break;
    }
  }
  EXPECT_GT(killed, 5);
  EXPECT_TRUE(server_.running());
}

}  // namespace
}  // namespace signalbox
