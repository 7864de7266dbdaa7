// Tests the configuration: errors name file and line, and a flag overrides the file.
#include "server/config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <tuple>
#include <vector>

#include "domain/limits.h"
#include "server/limits.h"
#include "store/signed_note.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

class ConfigTest : public ::testing::Test {
 protected:
  tl::expected<Config, std::string> load(const std::string& file) {
    write_text(directory_.path() / "signalbox.toml", file);
    return load_config(options_);
  }
  // Returns the error for a configuration file, or "taken".
  std::string error_of(const std::string& file) {
    const auto config = load(file);
    return config ? "taken" : config.error();
  }

  TemporaryDirectory directory_;
  ServeOptions options_ = [this] {
    ServeOptions options;
    options.data = directory_.path();
    return options;
  }();
};

TEST_F(ConfigTest, WhatIsNotSetHasItsDefault) {  // W1, H2, H4, H5, H8, A12
  EXPECT_EQ(load("")->watchdog_interval_ms, 5000);
  EXPECT_EQ(load("")->default_pipeline, DefaultPipeline::agents);
  const BoardTexts board;
  EXPECT_EQ(board.heartbeat, "10m");
  EXPECT_EQ(board.synthesizer, "19,39 * * * *");
  EXPECT_EQ(board.prune_after, "1h");
  EXPECT_EQ(read_board_settings(board)->prune_after_ms, limits::prune_after_ms_default);
  const Policy policy;
  EXPECT_EQ(policy.max_concurrent_agents, 2U);
  EXPECT_EQ(policy.max_concurrent_agents_per_project, 1U);
  EXPECT_EQ(policy.blocked_retry_minutes, 30);
}

// The service reads it again while it runs: what is no file must neither end nor hold it.
TEST_F(ConfigTest, WhatIsNoFileIsRefused) {  // G1, G13
  const std::string file = (directory_.path() / "signalbox.toml").string();
  const auto error = [&] {
    const auto config = load_config(options_);
    return config ? "taken" : config.error();
  };
  ASSERT_EQ(::mkdir(file.c_str(), 0700), 0);
  EXPECT_NE(error().find(file), std::string::npos) << error();
  ASSERT_EQ(::rmdir(file.c_str()), 0);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_NE(error().find(file), std::string::npos) << error();
  for (const std::string& target : {std::string("/dev/zero"), file}) {  // without an end, a loop
    ASSERT_EQ(::unlink(file.c_str()), 0);
    ASSERT_EQ(::symlink(target.c_str(), file.c_str()), 0);
    EXPECT_NE(error().find(file), std::string::npos) << error();
  }
  // A link to a file is as good as the file.
  write_text(directory_.path() / "other.toml", "jobs_max = 3\n");
  ASSERT_EQ(::unlink(file.c_str()), 0);
  ASSERT_EQ(::symlink("other.toml", file.c_str()), 0);
  EXPECT_EQ(load_config(options_)->jobs_max, 3U);
  options_.config = "/dev/null";  // no settings at all
  EXPECT_EQ(load_config(options_)->jobs_max, Config{}.jobs_max);
}

TEST_F(ConfigTest, AWrongWatchdogIntervalIsNamedWithItsLine) {
  for (const char* value : {R"("soon")", R"("99ms")", R"("61m")", R"("-5s")", R"("")", R"("5")"}) {
    const std::string error =
        error_of("# how often\nwatchdog_interval = " + std::string(value) + "\n");
    EXPECT_NE(error.find("signalbox.toml:2: watchdog_interval must be a duration"),
              std::string::npos)
        << value << ": " << error;
  }
  EXPECT_NE(error_of("watchdog_interval = 5\n").find("watchdog_interval must be a string"),
            std::string::npos);
}

TEST_F(ConfigTest, AWordThatIsNoneOfThoseThatThereAreIsNamedWithItsLine) {
  for (const char* wrong :
       {"log_level = \"verbose\"", "log_format = \"xml\"", "listen = \"box:7070\""}) {
    const std::string key(wrong, std::string_view(wrong).find(' '));
    const std::string error = error_of("\n" + std::string(wrong));
    EXPECT_NE(error.find("signalbox.toml:2: " + key + " is "), std::string::npos) << error;
  }
}

TEST_F(ConfigTest, TheDefaultPipelineIsOneOfTwo) {  // A12
  EXPECT_EQ(load("default_pipeline = \"agents\"\n")->default_pipeline, DefaultPipeline::agents);
  EXPECT_EQ(load("default_pipeline = \"workers\"\n")->default_pipeline, DefaultPipeline::workers);
  EXPECT_NE(error_of("\ndefault_pipeline = \"mine\"\n")
                .find("signalbox.toml:2: default_pipeline is agents or workers; not mine"),
            std::string::npos);
  options_.default_pipeline = "agents";
  EXPECT_EQ(load("default_pipeline = \"workers\"\n")->default_pipeline, DefaultPipeline::agents);
  options_.default_pipeline = "mine";
  EXPECT_EQ(error_of(""), "default_pipeline is agents or workers; not mine");
}

TEST_F(ConfigTest, NamesOfHostsAreOneWord) {  // G5
  EXPECT_EQ(load("http_hosts = [\"box.example.org\"]")->http_hosts.size(), 1U);
  for (const char* wrong :
       {R"(["a\r\nb"])", R"(["a b"])", R"(["a:1"])", R"([""])", R"(["\u007f"])"}) {
    const std::string error = error_of("\nhttp_hosts = " + std::string(wrong));
    EXPECT_NE(error.find("signalbox.toml:2: http_hosts has names such as"), std::string::npos)
        << wrong << ": " << error;
  }
}

// G1
TEST_F(ConfigTest, RunRootsAreAbsoluteDirectories) {
  using Paths = std::vector<std::filesystem::path>;
  EXPECT_TRUE(load("")->run_roots.empty());
  EXPECT_EQ(load("run_roots = [\"/srv/runs\", \"/home/ci\"]")->run_roots,
            (Paths{"/srv/runs", "/home/ci"}));
  for (const char* wrong : {"\"/srv/runs\"", "[\"runs\"]", "[1]", "[\"\"]", "[\"/a\\u0000b\"]"}) {
    const std::string error = error_of("\nrun_roots = " + std::string(wrong));
    EXPECT_NE(error.find("signalbox.toml:2: run_roots "), std::string::npos) << error;
  }
  options_.run_roots = {"/srv/other"};
  EXPECT_EQ(load("run_roots = [\"/srv/runs\"]")->run_roots, (Paths{"/srv/other"}));
  options_.run_roots = {"other"};
  EXPECT_NE(error_of("").find("run_roots has absolute paths"), std::string::npos);
  options_.run_roots.assign(limits::run_roots_max, "/srv/runs");
  EXPECT_EQ(error_of(""), "taken");
  options_.run_roots.emplace_back("/srv/one/too/many");
  EXPECT_EQ(error_of(""), "run_roots has at most 64 paths");
}

TEST_F(ConfigTest, AWrongWatchdogIntervalOfTheCommandLineIsNamed) {
  for (const char* value : {"soon", "99ms", "2h", ""}) {
    options_.watchdog_interval = value;
    const std::string error = error_of("");
    EXPECT_EQ(error,
              std::string("watchdog_interval must be a duration from 100ms to 1h; not ") + value);
  }
}

TEST_F(ConfigTest, TheBoundsOfTheWatchdogIntervalAreTaken) {
  EXPECT_EQ(load("")->watchdog_interval_ms, 5000);
  EXPECT_EQ(load("watchdog_interval = \"100ms\"\n")->watchdog_interval_ms, 100);
  EXPECT_EQ(load("watchdog_interval = \"1h\"\n")->watchdog_interval_ms, 3'600'000);
  options_.watchdog_interval = "2s";
  EXPECT_EQ(load("watchdog_interval = \"1h\"\n")->watchdog_interval_ms, 2000);
}

// Otherwise the loop would never run, and nothing would say why.
TEST_F(ConfigTest, ALoopThatIsNeverDueIsNamedWithItsLine) {
  for (const char* key : {"heartbeat", "synthesizer", "prune"}) {
    const std::string error = error_of("[board]\n" + std::string(key) + " = \"0 0 30 2 *\"\n");
    EXPECT_NE(error.find("signalbox.toml:2: board." + std::string(key)), std::string::npos)
        << error;
    EXPECT_NE(error.find("never due: none of the months (2) has a day 30"), std::string::npos)
        << error;
  }
  EXPECT_TRUE(load("[board]\nprune = \"0 0 29 2 *\"\n"));
}

TEST_F(ConfigTest, TheNumberOfConnectionsIsASetting) {  // G5
  EXPECT_EQ(load("")->connections_max, connections_max);
  EXPECT_EQ(load("")->caller_connections_max, caller_connections_max);
  EXPECT_EQ(load("connections_max = 20000\n")->connections_max, 20'000U);
  EXPECT_EQ(load("caller_connections_max = 2000\n")->caller_connections_max, 2'000U);
  // With fewer there would be no room for newcomers and the server's own user.
  EXPECT_NE(
      error_of("\nconnections_max = 1023\n").find("signalbox.toml:2: connections_max must be"),
      std::string::npos);
  EXPECT_NE(error_of("caller_connections_max = 0\n").find("must be a whole number from 1"),
            std::string::npos);
}

TEST_F(ConfigTest, AnUnknownSettingIsNamedWithThoseThereAre) {
  const std::string error = error_of("\nwatchdog = \"5s\"\n");
  EXPECT_NE(error.find("signalbox.toml:2: there is no setting watchdog"), std::string::npos);
  EXPECT_NE(error.find("watchdog_interval"), std::string::npos) << error;
}

TEST_F(ConfigTest, TheKeyThatSignsCheckpointsIsReadAtTheStart) {  // C4
  EXPECT_TRUE(load("")->audit_key.empty());
  write_text(directory_.path() / "audit.key",
             NoteSigner::generate("example.com/box").private_text() + "\n");
  EXPECT_EQ(load("audit_key = \"audit.key\"\n")->audit_key, directory_.path() / "audit.key");
  for (const char* wrong : {"gone.key", "signalbox.toml"}) {
    const std::string error = error_of("\naudit_key = \"" + std::string(wrong) + "\"\n");
    EXPECT_NE(error.find("signalbox.toml:2: audit_key: "), std::string::npos) << error;
    EXPECT_NE(error.find("signalbox audit keygen -o "), std::string::npos) << error;
  }
}

TEST_F(ConfigTest, AKeyThatIsNoRegularFileIsRefusedAndNotWaitedFor) {  // G6
  ASSERT_EQ(::mkfifo((directory_.path() / "audit.fifo").c_str(), 0600), 0);
  EXPECT_NE(error_of("audit_key = \"audit.fifo\"\n").find("audit.fifo is no regular file; "),
            std::string::npos);
  const std::string archive = (directory_.path().parent_path() / "archive").string();
  EXPECT_NE(error_of("[retention]\nolder_than = \"30d\"\nkey = \"audit.fifo\"\narchive = \"" +
                     archive + "\"\n")
                .find("retention.key: " + (directory_.path() / "audit.fifo").string() +
                      " is no regular file; "),
            std::string::npos);
}

// A flag has the bounds of its setting: with no place for a job none would ever run.
TEST_F(ConfigTest, ANumberOfTheCommandLineHasBounds) {
  const auto expect = [this](auto& option, auto value, const std::string& error) {
    option = value;
    EXPECT_EQ(error_of(""), error);
    option.reset();
  };
  expect(options_.jobs_max, 0U, "jobs_max must be a whole number from 1 to 10000; not 0");
  expect(options_.jobs_max, 10'001U, "jobs_max must be a whole number from 1 to 10000; not 10001");
  expect(options_.jobs_max, 1U, "taken");
  expect(options_.remote_jobs_max, 0U,
         "remote_jobs_max must be a whole number from 1 to 10000; not 0");
  expect(options_.snapshot_events, 0U,
         "snapshot_events must be a whole number from 1 to 1000000000; not 0");
  expect(options_.snapshot_events, 5U, "taken");
  EXPECT_EQ(error_of("snapshot_events = 5"), "taken") << "as by the flag";
  options_.listen = "localhost:7070";
  EXPECT_EQ(error_of(""),
            "listen is an address and a port, such as 127.0.0.1:7070; not localhost:7070");
}

TEST_F(ConfigTest, AWrongKeyOfATableIsNamedWithItsOwnLine) {
  for (const auto& [text, place] : std::vector<std::pair<std::string, std::string>>{
           {"[board]\nheartbeat = \"10m\"\nprune_after = \"soon\"\n", ":3: board.prune_after"},
           {"[retention]\n\nfiles_older_than = \"soon\"\n", ":3: retention.files_older_than"},
           {"[retention]\nfiles_branches = \"365d\"\n", ":1: retention.files_older_than is "},
           {"[traces]\nendpoint = \"collector\"\n", ":2: traces.endpoint "},
           {"[traces]\nendpoint = \"http://127.0.0.1:4318\"\nheaders_file = \"none\"\n",
            ":3: traces.headers_file"},
           {"[traces]\n\nbackfill = \"soon\"\n", ":3: traces.backfill "}}) {
    const std::string error = error_of(text);
    EXPECT_NE(error.find("signalbox.toml" + place), std::string::npos) << error;
  }
}

// What only all settings together show is wrong.
TEST_F(ConfigTest, SettingsThatDontGoTogetherAreNamedWithTheLineOfOne) {
  const std::string cell =
      "[cell]\nname = \"main\"\nengine = \"postgresql://db/box\"\naddress = "
      "\"tcp://127.0.0.1:7070\"\n";
  for (const auto& [text, place] : std::vector<std::pair<std::string, std::string>>{
           {"\ntls_certificate = \"a.pem\"\n", ":2: tls_certificate and tls_key go together"},
           {"\ntls_key = \"a.pem\"\n", ":2: tls_certificate and tls_key go together"},
           {"\nlisten = \"192.0.2.1:7070\"\n", ":2: 192.0.2.1 is not a loopback address"},
           {"\n" + cell, ":2: a server of a cell needs `listen`"}}) {
    const std::string error = error_of(text);
    EXPECT_NE(error.find("signalbox.toml" + place), std::string::npos) << error;
  }
  options_.listen = "192.0.2.1:7070";
  options_.traces_endpoint = "collector";
  EXPECT_TRUE(error_of("[traces]\nendpoint = \"http://127.0.0.1:4318\"\n")
                  .starts_with("traces.endpoint must be a URL"));
  options_.traces_endpoint.reset();
  EXPECT_TRUE(error_of("listen = \"127.0.0.1:7070\"\n").starts_with("192.0.2.1 is not"));
}

// [retention]: errors are reported at the start, not when retention first runs at half past three.
TEST_F(ConfigTest, AWrongRetentionIsNamedWithItsLine) {
  write_text(directory_.path() / "audit.key",
             NoteSigner::generate("example.com/box").private_text());
  write_text(directory_.path() / "no.key", "not a key\n");
  const auto with = [this](const std::string& line, const std::string& instead_of) {
    std::string text = "[retention]\n";
    for (const std::string& each :
         {std::string("older_than = \"30d\"\n"),
          "archive = \"" + (directory_.path().parent_path() / "archive").string() + "\"\n",
          std::string("key = \"audit.key\"\n")}) {
      text += each.starts_with(instead_of) ? "" : each;
    }
    return error_of(text + line + "\n");
  };
  EXPECT_EQ(with("", "none"), "taken");
  // Files may go while records stay.
  const auto files = load("[retention]\nfiles_older_than = \"30d\"\ntime_zone = \"UTC\"\n");
  ASSERT_TRUE(files);
  EXPECT_TRUE(files->file_retention && !files->retention);
  EXPECT_FALSE(files->file_retention->branches_ms) << "branches with work stay";
  const auto branches =
      load("[retention]\nfiles_older_than = \"30d\"\nfiles_branches = \"365d\"\n");
  ASSERT_TRUE(branches && branches->file_retention);
  EXPECT_EQ(branches->file_retention->branches_ms, 365LL * 24 * 60 * 60 * 1000);
  for (const auto& [line, instead_of, sentence] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"", "older_than", "retention.older_than is missing: write older_than = \"30d\""},
           {"", "archive", "retention.archive is missing"},
           {"", "key", "retention.key is missing"},
           {"older_than = \"0s\"", "older_than", "must be an age from 1s to 36600d"},
           {"older_than = \"soon\"", "older_than", "must be an age from 1s to 36600d"},
           {"older_than = \"40000d\"", "older_than", "must be an age from 1s to 36600d"},
           {"older_than = 30", "older_than", "retention.older_than must be a string"},
           {"archive = \"projections/x\"", "archive", "is in the data directory"},
           {"archive = \".\"", "archive", "is in the data directory"},
           {"key = \"gone.key\"", "key", "signalbox audit keygen -o "},
           {"key = \"no.key\"", "key", "holds no private key"},
           {"schedule = \"at night\"", "none", "retention.schedule: "},
           {"time_zone = \"Nowhere\"", "none", "retention.schedule: "},
           {"keep = \"30d\"", "none",
            "there is no setting retention.keep; there are older_than, failed_runs, archive, key, "
            "schedule"},
           {"failed_runs = \"soon\"", "failed_runs", "must be an age from 0s to 36600d"},
           {"files_older_than = \"soon\"", "none",
            "retention.files_older_than must be an age from 1s to 36600d"},
           {"files_older_than = \"30d\"\nfiles_branches = \"never\"", "none",
            "retention.files_branches must be an age from 1s to 36600d"},
           {"files_branches = \"365d\"", "none", "retention.files_older_than is missing"}}) {
    const std::string error = with(line, instead_of);
    EXPECT_NE(error.find(sentence), std::string::npos) << line << ": " << error;
    EXPECT_NE(error.find("signalbox.toml:"), std::string::npos) << error;
  }
  EXPECT_NE(error_of("retention = 5\n").find("retention must be a table"), std::string::npos);
  EXPECT_FALSE(load("")->retention.has_value());
}

}  // namespace
}  // namespace signalbox
