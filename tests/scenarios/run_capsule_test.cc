// R6: a run as one file, which is written from a live log, opened without the log, and tampered
// with.
#include <boost/json/serialize.hpp>

#include "store/sha256.h"
#include "tests/fixtures/random_seed.h"
#include "tests/scenarios/audit_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class CapsuleTest : public AuditTest {
 protected:
  // Returns a run that ended, between others of the same pipeline.
  std::string ended_run() {
    start_run("the one before");  // its record holds the pipeline's definition
    const std::string run_id = start_run("the one that is asked for");
    start_run("the secret of another run");
    for (const char* station : {"plan", "implement"}) {
      const std::string token = claim(run_id);
      EXPECT_EQ(server_
                    .cli({"station", "complete", "--run", run_id, "--station", station, "--token",
                          token, "--outcome", "succeeded", "--summary", "well done"})
                    .exit_code,
                0);
    }
    append_events(300);
    return run_id;
  }

  std::string export_run(const std::string& run_id, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"run",           "export", run_id,           "--signing-key",
                                   at("audit.key"), "-o",     at("run.capsule")};
    words.insert(words.end(), more.begin(), more.end());
    const Output output = server_.cli(std::move(words));
    EXPECT_EQ(output.exit_code, 0) << output.err;
    return at("run.capsule");
  }

  // Replays as on another machine: the data directory doesn't exist.
  Output replay_elsewhere(std::vector<std::string> more = {}) {
    std::vector<std::string> words{SIGNALBOX_BINARY, "replay", at("run.capsule"), "--data",
                                   at("nothing")};
    words.insert(words.end(), more.begin(), more.end());
    return run_process(std::move(words), {});
  }
};

TEST_F(CapsuleTest, TellsElsewhereWhatTheServerTells) {  // R6
  const std::string run_id = ended_run();
  const json::object live = run(run_id);
  const std::string capsule = export_run(run_id);
  expect_verified(capsule);
  const Output replayed = replay_elsewhere({"--key", verifier_key_, "--json"});
  ASSERT_EQ(replayed.exit_code, 0) << replayed.out << replayed.err;
  const json::object result = one_object(replayed).at("result").as_object();
  EXPECT_TRUE(result.at("signature_checked").as_bool());
  json::object shown = result.at("run").as_object();
  for (const char* key : {"status", "goal", "stations", "started_at", "ended_at", "pipeline"}) {
    EXPECT_EQ(shown.at(key), live.at(key)) << key;
  }
  const Output for_people = replay_elsewhere();
  EXPECT_EQ(for_people.exit_code, 0) << for_people.err;
  EXPECT_NE(for_people.out.find("the one that is asked for"), std::string::npos);
  EXPECT_NE(for_people.out.find("Nobody vouches"), std::string::npos);
}

TEST_F(CapsuleTest, HasNoPayloadOfAnotherRun) {
  const std::string bytes = content_of(export_run(ended_run()));
  EXPECT_NE(bytes.find("the one that is asked for"), std::string::npos);
  EXPECT_EQ(bytes.find("the secret of another run"), std::string::npos);
  EXPECT_EQ(bytes.find("the one before"), std::string::npos);
  EXPECT_EQ(server_
                .cli({"run", "export", "01234567-89ab-7cde-8f01-23456789abcd", "--signing-key",
                      at("audit.key"), "-o", at("none.capsule")})
                .exit_code,
            1);
  EXPECT_FALSE(std::filesystem::exists(at("none.capsule")));
}

TEST_F(CapsuleTest, TakesItsArtifactsAlong) {  // R6
  std::ofstream(pipeline()) << R"(
name = "writes"
[[station]]
name = "write"
executor = "process"
command = ["sh", "-c", "printf 'left behind' > \"$SIGNALBOX_ARTIFACTS_DIR/note.txt\""]
)";
  const std::string run_id = start_run("write something");
  await_status(run_id, "succeeded");
  const std::string capsule = export_run(run_id, {"--artifacts"});
  expect_verified(capsule);
  const Output replayed =
      replay_elsewhere({"--key", verifier_key_, "--artifacts-to", at("artifacts")});
  ASSERT_EQ(replayed.exit_code, 0) << replayed.err;
  bool found = false;
  for (const auto& file : std::filesystem::directory_iterator(at("artifacts"))) {
    found = found || content_of(file.path()) == "left behind";
  }
  EXPECT_TRUE(found);
}

TEST_F(CapsuleTest, LeavesOutWhatIsDamagedAndSaysSo) {  // R6
  std::ofstream(pipeline()) << R"(
name = "writes"
[[station]]
name = "write"
executor = "process"
command = ["sh", "-c", "printf 'left behind' > \"$SIGNALBOX_ARTIFACTS_DIR/note.txt\""]
)";
  const std::string run_id = start_run("write something");
  await_status(run_id, "succeeded");
  const std::string hex = to_hex(sha256("left behind"));
  write_text(server_.data() / "artifacts" / "sha256" / hex.substr(0, 2) / hex.substr(2),
             "left behinD");
  const Output exported = server_.cli({"run", "export", run_id, "--signing-key", at("audit.key"),
                                       "-o", at("run.capsule"), "--artifacts", "--json"});
  ASSERT_EQ(exported.exit_code, 0) << exported.out << exported.err;
  const json::object result = one_object(exported).at("result").as_object();
  EXPECT_EQ(json::serialize(result.at("damaged_artifacts")), "[\"" + hex + "\"]");
  EXPECT_EQ(result.at("artifacts"), 2) << "its summary and its log";
  expect_verified(at("run.capsule"));
}

TEST_F(CapsuleTest, WhatIsNoCapsuleIsSaidToBeThat) {  // R6
  const Output missing = replay_elsewhere();
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.err.find("can't open " + at("run.capsule") + ": No such file or directory"),
            std::string::npos)
      << missing.err;
  for (const char* const text : {"", "{}\n"}) {
    write_text(at("run.capsule"), text);
    const Output other = replay_elsewhere();
    EXPECT_EQ(other.exit_code, 2);
    EXPECT_NE(other.err.find("is not the capsule of a run"), std::string::npos) << other.err;
  }
}

TEST_F(CapsuleTest, IsRefusedWhenItWasTamperedWith) {  // R6
  const std::string capsule = export_run(ended_run());
  const std::string whole = content_of(capsule);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < whole.size(); at = whole.find('\n', at) + 1) {
    lines.push_back(whole.substr(at, whole.find('\n', at) + 1 - at));
  }
  ASSERT_GE(lines.size(), 6U);
  // Three programs are started for each change, so the changes take turns.
  const FaultRotation rotation(8);
  std::size_t changes = 0;
  std::size_t tried = 0;
  const auto refused = [&](const std::string& name, const std::vector<std::string>& changed) {
    if (changes++ % rotation.stride != rotation.first) return;
    ++tried;
    SCOPED_TRACE(name);
    std::string bytes;
    for (const std::string& line : changed) bytes += line;
    ASSERT_NE(bytes, whole);
    write_text(capsule, bytes);
    expect_refused(1, "run.capsule", capsule);
    EXPECT_EQ(replay_elsewhere({"--key", verifier_key_}).exit_code, 1);
  };
  for (std::size_t number = 0; number < lines.size(); ++number) {
    for (std::size_t at = 20; at < lines[number].size(); at += lines[number].size() / 4) {
      auto changed = lines;
      changed[number][at] = static_cast<char>(changed[number][at] ^ 1);
      refused("line " + std::to_string(number) + ", byte " + std::to_string(at), changed);
    }
    if (number == 0) continue;  // without its first line the file isn't a capsule
    auto changed = lines;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(number));
    refused("without line " + std::to_string(number), changed);
    changed = lines;
    changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(number), lines[number]);
    refused("line " + std::to_string(number) + " twice", changed);
  }
  auto changed = lines;
  std::swap(changed[2], changed[3]);
  refused("two swapped", changed);
  changed = lines;
  changed.back().pop_back();
  refused("cut", changed);
  EXPECT_GE(tried, 24 / rotation.stride);
  write_text(capsule, whole);
  std::filesystem::resize_file(capsule, std::uintmax_t{1} << 40);  // a line that never ends
  expect_refused(1, "longer than any line", capsule);
  make_key("foreign.key");
  const std::string own = verifier_key_;
  write_text(capsule, whole);
  verifier_key_ = make_key("other.key");
  expect_refused(1, "run.capsule", capsule);
  verifier_key_ = own;
  expect_verified(capsule);
}

}  // namespace
}  // namespace signalbox
