// Settings: what a wrong one is told, with file and line, and that a flag stands over the file.
#include "server/config.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

class ConfigTest : public ::testing::Test {
 protected:
  tl::expected<Config, std::string> load(const std::string& file) {
    write_text(directory_.path() / "signalbox.toml", file);
    return load_config(options_);
  }
  // What it says of a file that is wrong, or "taken".
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

// Else the loop would be silent for ever, and nobody would know why.
TEST_F(ConfigTest, ALoopThatIsNeverDueIsNamedWithItsLine) {
  for (const char* key : {"heartbeat", "synthesizer", "prune"}) {
    const std::string error = error_of("[board]\n" + std::string(key) + " = \"0 0 30 2 *\"\n");
    EXPECT_NE(error.find("signalbox.toml:1: board." + std::string(key)), std::string::npos)
        << error;
    EXPECT_NE(error.find("never due: none of the months (2) has a day 30"), std::string::npos)
        << error;
  }
  EXPECT_TRUE(load("[board]\nprune = \"0 0 29 2 *\"\n"));
}

TEST_F(ConfigTest, AnUnknownSettingIsNamedWithThoseThereAre) {
  const std::string error = error_of("\nwatchdog = \"5s\"\n");
  EXPECT_NE(error.find("signalbox.toml:2: there is no setting watchdog"), std::string::npos);
  EXPECT_NE(error.find("watchdog_interval"), std::string::npos) << error;
}

}  // namespace
}  // namespace signalbox
