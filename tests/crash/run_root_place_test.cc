// Run roots that clients name: paths that can't be made end neither this server nor the next, and
// nothing about a path that isn't permitted becomes durable.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "tests/crash/server_test.h"
#include "tests/crash/small_disk.h"
#include "tests/eventually.h"
#include "tests/fixtures/needed_ability.h"

namespace signalbox::test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

const char* const job_pipeline = R"({"name":"one","station":[{"name":"work","executor":"process",
    "command":["true"],"retry":{"max_retries":0}}]})";

class RunRootPlace : public ServerTest {
 protected:
  void SetUp() override {
    fs::create_directories(server_.data());
    fs::create_directories(allowed_);
    std::ofstream(server_.data() / "signalbox.toml")
        << "run_roots = [\"" << allowed_.string() << "\"]\n";
    start();
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (scratch_.path() / name).string();
  }
  // Returns the files_error of a result, or "".
  std::string files_error(const char* method, const json::object& params) const {
    const json::object result = call(method, params);
    const json::value* error = result.if_contains("files_error");
    return error == nullptr ? "" : std::string(error->as_string());
  }
  [[nodiscard]] std::size_t failures() const {
    return call("server.status").at("run_root_failures").as_array().size();
  }
  [[nodiscard]] std::string metrics() const {
    return std::string(call("server.metrics").at("text").as_string());
  }
  [[nodiscard]] json::value position() const { return call("server.status").at("position"); }

  // Connects as the bearer of a new token of this role.
  [[nodiscard]] Connection connect_as(const std::string& role) const {
    const json::object issued = call("access.issue", {{"name", "a-" + role}, {"role", role}});
    auto connection = Connection::open(server_.socket());
    EXPECT_TRUE(connection);
    (void)result_of(
        connection->call("server.authenticate", {{"secret", issued.at("secret").as_string()}}));
    return std::move(*connection);
  }
  static std::string code_of(const std::optional<json::object>& answer) {
    return answer ? error_code_of(*answer) : "no answer";
  }

  const fs::path allowed_ = scratch_.path() / "allowed";
};

// G1
TEST_F(RunRootPlace, APathThatCantBeMadeIsAnErrorOfItsFilesAndEndsNothing) {
  fs::create_symlink(path("nothing"), path("dangling"));
  fs::create_symlink(path("loop"), path("loop"));
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  fs::create_directory(path("fifo-as-lock"));
  ASSERT_EQ(::mkfifo(path("fifo-as-lock/.lock").c_str(), 0600), 0);
  struct Case {
    std::string root;
    const char* reason;
  };
  const std::vector<Case> cases = {
      {"/proc/x", "No such file or directory"},
      {"/proc/x/y", "No such file or directory"},
      {path("dangling"), "No such file or directory"},
      {path("loop"), "Too many levels of symbolic links"},
      {path("fifo"), "Not a directory"},
      {path("fifo/below"), "Not a directory"},
      {path(std::string(300, 'x')), "File name too long"},
  };
  int number = 0;
  for (const Case& each : cases) {
    const std::string name = "c" + std::to_string(number++);
    const std::string locked =
        files_error("lock.acquire", {{"key", name}, {"owner", "o"}, {"run_root", each.root}});
    EXPECT_NE(locked.find(each.reason), std::string::npos) << each.root << ": " << locked;
    const std::string begun = files_error("tick.begin", {{"loop", name}, {"run_root", each.root}});
    EXPECT_NE(begun.find(each.reason), std::string::npos) << each.root << ": " << begun;
  }
  // A FIFO in a file's place is replaced, and not waited for.
  EXPECT_EQ(files_error("lock.acquire",
                        {{"key", "f"}, {"owner", "o"}, {"run_root", path("fifo-as-lock")}}),
            "");
  EXPECT_TRUE(fs::is_regular_file(path("fifo-as-lock/.lock")));

  const std::string run =
      start_run({{"goal", "g"}, {"run_root", "/proc/x"}, {"pipeline", json::parse(job_pipeline)}});
  EXPECT_TRUE(eventually([&] { return count(run, "RunFailed") == 1; })) << server_.log();
  const json::object rebuilt = call("run.rebuild_artifacts", {{"run_id", run}});
  for (const json::value& file : rebuilt.at("files").as_array()) {
    EXPECT_TRUE(file.as_object().contains("error")) << json::serialize(file);
  }
  const std::string watched = start_run(
      {{"goal", "g"}, {"run_root", "/proc/y"}, {"pipeline", json::parse(R"({"name":"w","station":[
      {"name":"work","timeout":"1s","retry":{"max_retries":0}}]})")}});
  (void)call("station.claim", {{"worker", "w"}, {"lease_ms", 60'000}});
  EXPECT_TRUE(eventually([&] { return count(watched, "WatchdogTimedOut") == 1; }));

  EXPECT_GT(failures(), 0U);
  EXPECT_EQ(metrics().find("\nsignalbox_run_root_failures 0\n"), std::string::npos);
  EXPECT_NE(metrics().find("\nsignalbox_run_root_failures "), std::string::npos);
  EXPECT_TRUE(server_.logs("can't create the directory /proc/x"));

  // The next start has the same paths before it, and says so.
  crash_and_start();
  EXPECT_EQ(files_error("lock.acquire", {{"key", "fine"}, {"owner", "o"}, {"run_root", path("a")}}),
            "");
  EXPECT_TRUE(fs::exists(path("a/.lock")));
  EXPECT_TRUE(eventually([&] { return failures() > 0; }));
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
}

// G1
TEST_F(RunRootPlace, AFullDiskIsAnErrorOfTheFilesThere) {
  fs::create_directory(path("full"));
  SmallDisk disk;
  if (const std::string why = disk.mount(path("full"), 1024 * 1024); !why.empty()) {
    SIGNALBOX_CANNOT_RUN(why);
  }
  server_.kill();
  start();  // in the mount namespace of this process
  ASSERT_TRUE(disk.fill());
  const json::object params{{"key", "k"}, {"owner", "o"}, {"run_root", path("full/root")}};
  const std::string error = files_error("lock.acquire", params);
  EXPECT_NE(error.find("No space left on device"), std::string::npos) << error;
  disk.make_space();
  EXPECT_TRUE(eventually([&] { return fs::exists(path("full/root/.lock")); }));
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
}

// G1
TEST_F(RunRootPlace, WhatMayNotBeARunRootIsRefusedBeforeItIsDurable) {
  const std::string data = server_.data().string();
  fs::create_directory_symlink(data, path("to-data"));
  const json::value before = position();
  for (const std::string& root :
       {std::string("relative"), path("cut") + std::string("\0/x", 3), data, data + "/",
        data + "/log", data + "/log/x", data + "/runs", data + "/runs/a/b", data + "/../data/log",
        path("to-data"), path("to-data/log"), path("missing/../data/jobs"),
        "/" + std::string(5000, 'x')}) {
    for (const char* method : {"lock.acquire", "tick.begin", "run.start"}) {
      json::object params{{"run_root", root}};
      if (method == std::string("lock.acquire")) params["key"] = params["owner"] = "k";
      if (method == std::string("tick.begin")) params["loop"] = "l";
      if (method == std::string("run.start")) params["goal"] = "g";
      const std::string code = refusal(method, params);
      EXPECT_TRUE(code == "INVALID_PARAMS" || code == "LIMIT_EXCEEDED")
          << method << " " << root << ": " << code;
    }
  }
  EXPECT_EQ(refusal("project.put", {{"name", "p"}, {"repository", std::string("/tmp\0/x", 7)}}),
            "INVALID_PARAMS");
  EXPECT_EQ(position(), before);
  EXPECT_FALSE(fs::exists(path("cut")));
  EXPECT_FALSE(fs::exists(server_.data() / "log" / ".lock"));
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
}

// G1
TEST_F(RunRootPlace, WhoIsntAdminNamesRunRootsBelowTheConfiguredOnes) {
  fs::create_directory(path("elsewhere"));
  fs::create_directory_symlink(path("elsewhere"), allowed_ / "out");
  const std::string run = start_run({{"goal", "g"}, {"run_root", path("of-a-run")}});
  const std::string other_run = start_run({{"goal", "g"}});
  Connection worker = connect_as("worker");
  Connection operator_ = connect_as("operator");
  int number = 0;
  const auto acquire = [&](Connection& as, const std::string& root) {
    return code_of(
        as.call("lock.acquire",
                {{"key", "k" + std::to_string(number++)}, {"owner", "o"}, {"run_root", root}}));
  };
  EXPECT_EQ(acquire(worker, (allowed_ / "a").string()), "");
  EXPECT_EQ(acquire(worker, path("of-a-run")), "") << "the root of an open run";
  EXPECT_EQ(acquire(worker, (server_.data() / "runs" / other_run).string()), "");
  for (const std::string& root :
       {path("elsewhere"), allowed_.string(), allowed_.string() + "/",
        (allowed_ / "out/x").string(), (allowed_ / "../elsewhere").string(),
        allowed_.string() + "-not", (server_.data() / "runs/made-up").string(),
        std::string("/proc/x")}) {
    EXPECT_EQ(acquire(worker, root), "FORBIDDEN") << root;
    EXPECT_EQ(code_of(worker.call("tick.begin", {{"loop", "l"}, {"run_root", root}})), "FORBIDDEN")
        << root;
    EXPECT_EQ(code_of(operator_.call("run.start", {{"goal", "g"}, {"run_root", root}})),
              "FORBIDDEN")
        << root;
  }
  EXPECT_EQ(code_of(operator_.call("run.start",
                                   {{"goal", "g"}, {"run_root", (allowed_ / "b").string()}})),
            "");
  EXPECT_EQ(code_of(worker.call("tick.begin", {{"loop", "l"}, {"run_id", run}})), "");
  EXPECT_TRUE(fs::is_empty(path("elsewhere")));
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
}

// Who may write below a configured directory can put a link there at any time.
TEST_F(RunRootPlace, ALinkThatIsPutThereAfterTheCheckIsNotFollowed) {  // G1
  fs::create_directories(path("elsewhere/b"));
  Connection worker = connect_as("worker");
  const auto acquire = [&](const std::string& key, const fs::path& root) {
    return result_of(
        worker.call("lock.acquire", {{"key", key}, {"owner", "o"}, {"run_root", root.string()}}));
  };
  const json::object held = acquire("k", allowed_ / "a");
  const json::object deep = acquire("deep", allowed_ / "team/b");
  EXPECT_FALSE(held.contains("files_error"));
  EXPECT_FALSE(deep.contains("files_error"));
  fs::rename(allowed_ / "a", allowed_ / "was-a");
  fs::create_directory_symlink(path("elsewhere"), allowed_ / "a");
  fs::rename(allowed_ / "team", allowed_ / "was-team");
  fs::create_directory_symlink(path("elsewhere"), allowed_ / "team");
  for (const auto& [key, token] :
       {std::pair("k", held.at("token")), std::pair("deep", deep.at("token"))}) {
    const json::object refreshed =
        result_of(worker.call("lock.refresh", {{"key", key}, {"token", token}}));
    ASSERT_TRUE(refreshed.contains("files_error")) << key;
    EXPECT_NE(refreshed.at("files_error").as_string().find("is a symbolic link"),
              std::string_view::npos)
        << refreshed.at("files_error");
  }
  EXPECT_FALSE(fs::exists(path("elsewhere/.lock")));
  EXPECT_TRUE(fs::is_empty(path("elsewhere/b")));
  // It is the same for whoever may name any directory: they name that one.
  EXPECT_EQ(refusal("lock.acquire",
                    {{"key", "n"}, {"owner", "o"}, {"run_root", (allowed_ / "a/new").string()}}),
            "INVALID_PARAMS");
  EXPECT_EQ(files_error("lock.acquire",
                        {{"key", "n"}, {"owner", "o"}, {"run_root", path("elsewhere/new")}}),
            "");
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
}

// The configured directories may be on disks that hang, so a check doesn't look at them.
TEST_F(RunRootPlace, WhereAConfiguredOneLeadsIsFoundOutAtTheStartAndAtAReload) {  // G6
  server_.kill();
  fs::create_directory(path("first"));
  fs::create_directory(path("second"));
  fs::remove(allowed_);
  fs::create_directory_symlink(path("first"), allowed_);
  start();
  Connection worker = connect_as("worker");
  int number = 0;
  const auto acquire = [&](const std::string& root) {
    return code_of(
        worker.call("lock.acquire",
                    {{"key", "k" + std::to_string(number++)}, {"owner", "o"}, {"run_root", root}}));
  };
  EXPECT_EQ(acquire((allowed_ / "a").string()), "");
  EXPECT_TRUE(fs::exists(path("first/a/.lock")));
  fs::remove(allowed_);
  fs::create_directory_symlink(path("second"), allowed_);
  EXPECT_EQ(acquire((allowed_ / "b").string()), "FORBIDDEN");
  ASSERT_EQ(::kill(server_.pid(), SIGHUP), 0);
  EXPECT_TRUE(eventually([&] { return acquire((allowed_ / "b").string()).empty(); }))
      << server_.log();
  EXPECT_EQ(acquire(path("first/c")), "FORBIDDEN");
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
}

}  // namespace
}  // namespace signalbox::test
