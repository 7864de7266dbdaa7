// A program whose file is removed or replaced while it runs, as by an upgrade or a build: it goes
// on with what it was started as.
#include <gtest/gtest.h>

#include "tests/scenarios/repository_fixture.h"
#include "tests/scenarios/runner_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// What the job's supervisor is shown as.
constexpr const char* names_of_shim =
    "tr '\\0' ' ' </proc/$PPID/cmdline >'SCRATCH/shown'; cat /proc/$PPID/comm >>'SCRATCH/shown'";

// Serves with a copy of the program.
class ReplacedProgram : public RepositoryTest {
 protected:
  void SetUp() override {
    make_repository_and_remote({{"a.txt", "a\n"}});
    fs::copy_file(SIGNALBOX_BINARY, program_);
    fs::create_directories(server_.data());
    const std::string log = (scratch_.path() / "server.log").string();
    pid_ = spawn_process({program_.string(), "serve", "--data", server_.data().string()}, log, log);
    ASSERT_TRUE(eventually([&] {
      return test::answer_of(server_.socket(), "server.status", {}).has_value();
    })) << content_of(log);
  }
  void TearDown() override {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] std::string start_in_repository(const std::string& more_stations = "") const {
    return start_run_of("name = \"p\"\n[[station]]\nname = \"intake\"\nexecutor = \"builtin\"\n" +
                            with_scratch(more_stations),
                        "work", {"--repository", repository().string()});
  }
  void expect_success(const std::string& id) const {
    await([&] {
      const std::string now = text(run(id), "status");
      return now != "queued" && now != "running";
    });
    EXPECT_EQ(text(run(id), "status"), "succeeded") << boost::json::serialize(run(id));
  }

  const fs::path program_ = scratch_.path() / "signalbox";
  pid_t pid_ = -1;
};

TEST_F(ReplacedProgram, JobsAreExecutedByTheOneThatRuns) {  // S6
  fs::remove(program_);
  expect_success(
      start_in_repository("[[station]]\nname = \"work\"\nexecutor = \"process\"\n"
                          "command = [\"sh\", \"-c\", '''" +
                          std::string(names_of_shim) + "''']\n"));
  const std::string shown = content_of(scratch_.path() / "shown");
  EXPECT_TRUE(shown.starts_with(program_.string() + " shim --job-dir ")) << shown;
  EXPECT_TRUE(shown.ends_with("signalbox\n")) << shown;
}

TEST_F(ReplacedProgram, AnotherOneInItsPlaceExecutesNothing) {  // S6
  fs::remove(program_);
  write_text(program_, "#!/bin/sh\ntouch '" + (scratch_.path() / "executed").string() + "'\n");
  fs::permissions(program_, fs::perms::owner_all);
  expect_success(start_in_repository());
  EXPECT_FALSE(fs::exists(scratch_.path() / "executed"));
}

class ReplacedRunner : public RunnerTest {
 protected:
  void TearDown() override {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid_ = -1;
};

TEST_F(ReplacedRunner, ExecutesItsJobs) {  // N1
  const fs::path program = scratch_.path() / "signalbox";
  fs::copy_file(SIGNALBOX_BINARY, program);
  pid_ = spawn_process({program.string(), "runner", "--data", server_.data().string(), "--work",
                        at("one"), "--name", "one", "--labels", "gpu"},
                       at("log"), at("log"));
  await([&] { return !id_of("one").empty(); });
  fs::remove(program);
  RunnerTest::expect_success(start_run("true"));
}

}  // namespace
}  // namespace signalbox
