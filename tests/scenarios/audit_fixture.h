// Fixture for audits: a real log, its key, exports of it, and two verifiers: ours, and the one in
// tools/ that shares no code with it.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "tests/crash/connection.h"
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {

// The outcome of one verifier.
struct VerifierOutcome {
  int exit_code = -1;
  std::string text;
};

class AuditTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    verifier_key_ = make_key("audit.key");
  }

  // Returns the path of a name relative to the scratch directory.
  [[nodiscard]] std::string at(const std::string& name) const {
    return (scratch_.path() / name).string();
  }

  // Generates a key. Returns its verifier key.
  std::string make_key(const std::string& file, const std::string& name = "example.com/box") const {
    return text(result({"audit", "keygen", "-o", at(file), "--name", name}), "verifier_key");
  }

  // Appends at least `count` events over one connection.
  void append_events(std::size_t count) const {
    auto connection = test::Connection::open(server_.socket());
    ASSERT_TRUE(connection);
    for (std::size_t pair = 0; pair < (count + 1) / 2; ++pair) {
      const std::string key = "key \"" + std::to_string(pair % 7) + "\"";
      const auto held = test::result_of(connection->call(
          "lock.acquire",
          {{"key", key}, {"owner", "tester"}, {"lease_ms", 60'000}, {"reason", "to have events"}}));
      test::result_of(
          connection->call("lock.release", {{"key", key}, {"token", held.at("token")}}));
    }
  }

  // Runs `signalbox audit export …` of this log with the key.
  Output export_to(const std::string& directory, std::vector<std::string> options = {},
                   const std::string& key = "audit.key") const {
    std::vector<std::string> words{"audit",       "export",        "-o",
                                   at(directory), "--signing-key", at(key)};
    words.insert(words.end(), options.begin(), options.end());
    return server_.cli(std::move(words));
  }

  // Writes a signed checkpoint. Returns its path.
  std::string checkpoint(const std::string& file, std::vector<std::string> options = {},
                         const std::string& key = "audit.key") const {
    std::vector<std::string> words{"audit", "checkpoint", "--signing-key", at(key), "-o", at(file)};
    words.insert(words.end(), options.begin(), options.end());
    const Output output = server_.cli(std::move(words));
    EXPECT_EQ(output.exit_code, 0) << output.err;
    return at(file);
  }

  // Runs both verifiers on a path.
  [[nodiscard]] std::vector<VerifierOutcome> verdicts(
      const std::string& path, const std::vector<std::string>& more = {}) const {
    std::vector<VerifierOutcome> both;
    for (std::vector<std::string> words :
         {std::vector<std::string>{SIGNALBOX_BINARY, "audit", "verify", path},
          std::vector<std::string>{SIGNALBOX_PYTHON, SIGNALBOX_SOURCE_DIR "/tools/verify_export",
                                   path}}) {
      words.insert(words.end(), more.begin(), more.end());
      words.insert(words.end(), {"--key", verifier_key_});
      const Output output = run_process(words, {});
      both.push_back({output.exit_code, output.out + output.err});
    }
    return both;
  }

  void expect_verified(const std::string& path, const std::vector<std::string>& more = {}) const {
    for (const VerifierOutcome& verdict : verdicts(path, more)) {
      EXPECT_EQ(verdict.exit_code, 0) << path << ": " << verdict.text;
      EXPECT_NE(verdict.text.find("verified"), std::string::npos) << verdict.text;
    }
  }

  // Expects both verifiers to end with `exit_code` and to name `where`.
  void expect_refused(int exit_code, const std::string& where, const std::string& path,
                      const std::vector<std::string>& more = {}) const {
    for (const VerifierOutcome& verdict : verdicts(path, more)) {
      EXPECT_EQ(verdict.exit_code, exit_code) << verdict.text;
      EXPECT_NE(verdict.text.find(where), std::string::npos) << where << ": " << verdict.text;
      EXPECT_EQ(verdict.text.find("not understood: "), std::string::npos) << verdict.text;
    }
  }

  std::string verifier_key_;
};

}  // namespace signalbox
