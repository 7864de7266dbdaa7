// A log with a secret in the goal of a run, for tests that erase it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/scenarios/audit_fixture.h"

namespace signalbox {

class RedactionTest : public AuditTest {
 protected:
  // Random characters, so that compression doesn't hide the secret.
  static inline const std::string secret = "q7Zt0vXw4LbR9sKyJ2mNfHcPdGaE8uT5iQo1xWz6";

  static std::vector<std::filesystem::path> files_with_secret(
      const std::filesystem::path& directory) {
    std::vector<std::filesystem::path> found;
    for (const auto& file : std::filesystem::recursive_directory_iterator(directory)) {
      if (file.is_regular_file() && content_of(file.path()).find(secret) != std::string::npos) {
        found.push_back(file.path());
      }
    }
    return found;
  }

  static std::string listed(const std::vector<std::filesystem::path>& files) {
    std::string text;
    for (const std::filesystem::path& file : files) text += file.string() + "\n";
    return text;
  }

  // Starts a run with the secret in its goal, recorded at `position_`.
  void start_run_with_secret() {
    append_events(20);
    run_id_ = start_run("use the key " + secret + " for it");
    const boost::json::array started = events(run_id_, "RunStarted");
    ASSERT_EQ(started.size(), 1U);
    position_ = boost::json::serialize(started.front().at("position"));
    append_events(20);
  }
  void stop() { ASSERT_EQ(server_.stop(), 0) << server_.messages(); }
  std::vector<std::string> redact_words(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"audit", "redact", position_, "--reason", "a key in the goal"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // Returns the files of the log, and of what is derived from it, that hold the secret.
  [[nodiscard]] std::string log_with_secret(const std::filesystem::path& data) const {
    std::vector<std::filesystem::path> found;
    for (const char* folder : {"log", "projections"}) {
      if (!std::filesystem::exists(data / folder)) continue;
      for (std::filesystem::path& file : files_with_secret(data / folder))
        found.push_back(std::move(file));
    }
    return listed(found);
  }
  Output signalbox(const std::filesystem::path& data, std::vector<std::string> words) const {
    words.insert(words.begin(), SIGNALBOX_BINARY);
    words.insert(words.end(), {"--data", data.string()});
    return run_process(std::move(words), {});
  }

  std::string run_id_;
  std::string position_;
};

}  // namespace signalbox
