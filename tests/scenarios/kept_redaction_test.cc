// A text of what a retention kept can be erased at any time: from the record, from the state that
// replaced the dropped records, and from the archive.
#include <utility>

#include "store/directory_lock.h"
#include "tests/scenarios/retention_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class KeptRedactionTest : public RetentionTest {
 protected:
  [[nodiscard]] std::string position_of(const std::string& run_id, const std::string& type) const {
    return std::to_string(number(events(run_id, type).at(0).as_object(), "position"));
  }
  // Runs a suggested command on this data directory, with this test's key. Returns its output.
  [[nodiscard]] Output follow(std::string command) const {
    const std::string program = "signalbox ";
    EXPECT_TRUE(command.starts_with(program)) << command;
    const std::string key = "audit.key";
    if (const auto place = command.find(" " + key); place != std::string::npos) {
      command.replace(place + 1, key.size(), at(key));
    }
    return run_process({"sh", "-c",
                        SIGNALBOX_BINARY " " + command.substr(program.size()) + " --data " +
                            server_.data().string()},
                       {});
  }
  // Returns whether a file below the directory has the text.
  static bool has_text(const fs::path& directory, const std::string& text) {
    for (const auto& file : fs::recursive_directory_iterator(directory)) {
      if (file.is_regular_file() && content_of(file.path()).find(text) != std::string::npos) {
        return true;
      }
    }
    return false;
  }
};

TEST_F(KeptRedactionTest, WhatARetentionKeptCanBeRedacted) {  // G17
  const std::string secret = "the-secret-0123456789abcdef";
  const std::string run_id = text(result({"run", "start", "use " + secret, "--pipeline", pipeline(),
                                          "--label", "who=" + secret}),
                                  "run_id");
  const std::string position = position_of(run_id, "RunStarted");
  const json::object held = rpc("lock.acquire", {{"key", "deploy"},
                                                 {"owner", "me"},
                                                 {"lease_ms", 3'600'000},
                                                 {"reason", "because " + secret}});
  const json::object tick = rpc("tick.begin", {{"loop", "outside"},
                                               {"stage", "stage " + secret},
                                               {"reason", "reason " + secret},
                                               {"lease_ms", 3'600'000}});
  const std::string gone = ended_run("gone with " + secret);
  const std::string gone_at = position_of(gone, "RunStarted");
  const json::object paused =
      rpc("server.pause", {{"reason", "paused for " + secret}}).at("paused").as_object();
  append_events(300);
  server_.stop();
  const std::string archive = text(retained(), "archive");
  ASSERT_TRUE(has_text(server_.data() / "log", secret));
  for (const std::string& each :
       {position, std::to_string(number(held, "token")), std::to_string(number(tick, "token")),
        std::to_string(number(paused, "position"))}) {
    SCOPED_TRACE(each);
    const Output output = server_.cli({"audit", "redact", each, "--reason", "a secret", "--json"});
    ASSERT_EQ(output.exit_code, 0) << output.out << output.err;
    const json::object done = one_object(output).at("result").as_object();
    EXPECT_TRUE(done.at("redacted").as_bool());
    const json::object& place = done.at("archives").at(0).as_object();
    EXPECT_EQ(text(place, "archive"), archive);
    const Output there = follow(std::string(place.at("commands").at(0).as_string()));
    EXPECT_EQ(there.exit_code, 0) << there.err;
    expect_verified(archive);
    EXPECT_EQ(server_.cli({"replay", "--verify"}).exit_code, 0);
  }
  EXPECT_FALSE(has_text(server_.data() / "log", secret));
  // A dropped record is refused with the archive's command.
  const Output dropped =
      server_.cli({"audit", "redact", gone_at, "--reason", "a secret", "--json"});
  EXPECT_EQ(code_of(dropped), "HISTORY_DROPPED");
  const json::object error = one_object(dropped).at("error").as_object();
  const std::string next(error.at("data").at("next_commands").at(0).as_string());
  ASSERT_TRUE(has_text(archive, secret));
  EXPECT_EQ(follow(next).exit_code, 0);
  EXPECT_FALSE(has_text(archive, secret));
  expect_verified(archive);
  EXPECT_EQ(follow(next).exit_code, 0) << "a repetition changes nothing";

  server_.start();
  EXPECT_EQ(text(run(run_id), "goal"), "[redacted]");
  for (const char* folder : {"log", "projections"}) {
    EXPECT_FALSE(has_text(server_.data() / folder, secret)) << folder;
  }
  EXPECT_EQ(result({"run", "list", "--label", "who=[redacted]"}).at("runs").as_array().size(), 1U);
  EXPECT_EQ(text(rpc("server.status", {}).at("paused").as_object(), "reason"), "[redacted]");
  result({"resume", "--all"});
  EXPECT_EQ(complete(run_id, "plan", claim(run_id), "succeeded").exit_code, 0);
  append_events(20);
  server_.stop();
  EXPECT_TRUE(retained().at("dropped").as_bool());
  EXPECT_EQ(server_.cli({"replay", "--verify"}).exit_code, 0);
}

// The event that redacted one record is a record with a text of its own.
TEST_F(KeptRedactionTest, TheReasonOfARedactionThatWasKeptCanBeRedacted) {  // G17
  const std::string open_run = start_run("use the-secret-0123456789");
  const std::string position = position_of(open_run, "RunStarted");
  const auto redacted =
      result({"audit", "redact", position, "--reason", "sk-123-0123456789 was in the goal"});
  const std::string event = json::serialize(redacted.at("redaction_position"));
  ended_run("gone");
  server_.stop();
  (void)retained();
  EXPECT_EQ(server_.cli({"audit", "redact", event, "--reason", "x"}).exit_code, 0);
  EXPECT_FALSE(has_text(server_.data() / "log", "sk-123"));
  EXPECT_EQ(server_.cli({"replay", "--verify"}).exit_code, 0);
  server_.start();
  EXPECT_EQ(text(run(open_run), "goal"), "[redacted]");
  ASSERT_EQ(export_to("export").exit_code, 0);
  // And the record once more, by an event behind all of them.
  result({"audit", "redact", position, "--reason", "again"});
  server_.stop();
  fs::remove_all(server_.data() / "projections");
  server_.start();
}

// Both copies of an archive are as they were signed: only a later export says which of them is
// from before the redaction.
TEST_F(KeptRedactionTest, AnArchiveFromBeforeARedactionIsRefusedBesideALaterOne) {  // G17
  const std::string secret = "the-secret-0123456789abcdef";
  const std::string open_run = start_run("use " + secret);
  const std::string position = position_of(open_run, "RunStarted");
  ended_run("gone");
  server_.stop();
  const std::string archive = text(retained(), "archive");
  const fs::path before = at("before");
  fs::copy(archive, before);
  ASSERT_TRUE(has_text(before, secret));
  const Output redacted =
      server_.cli({"audit", "redact", position, "--reason", "a secret", "--json"});
  ASSERT_EQ(redacted.exit_code, 0) << redacted.err;
  const json::object place = one_object(redacted).at("result").at("archives").at(0).as_object();
  ASSERT_EQ(follow(std::string(place.at("commands").at(0).as_string())).exit_code, 0);
  // An export of what the log has now says as much as the next archive.
  ASSERT_EQ(export_to("now").exit_code, 0);
  server_.start();
  ended_run("gone, too");
  server_.stop();
  const std::string later = text(retained(), "archive");
  const auto verdicts_of = [&](const std::vector<std::string>& paths) {
    std::vector<Output> both;
    for (std::vector<std::string> words :
         {std::vector<std::string>{SIGNALBOX_BINARY, "audit", "verify"},
          std::vector<std::string>{SIGNALBOX_PYTHON,
                                   SIGNALBOX_SOURCE_DIR "/tools/verify_export"}}) {
      words.insert(words.end(), paths.begin(), paths.end());
      words.insert(words.end(), {"--key", verifier_key_});
      both.push_back(run_process(words, {}));
    }
    return both;
  };
  for (const std::string& next : {later, at("now")}) {
    for (const Output& each : verdicts_of({archive, next})) {
      EXPECT_EQ(each.exit_code, 0) << each.err;
    }
  }

  fs::remove_all(archive);
  fs::copy(before, archive);
  expect_verified(archive);
  for (const std::string& next : {later, at("now")}) {
    for (const Output& each : verdicts_of({next, archive})) {
      EXPECT_EQ(each.exit_code, 1) << each.out;
      EXPECT_NE(each.err.find("position " + position), std::string::npos) << each.err;
      EXPECT_NE(each.err.find("a text of it was erased from the log"), std::string::npos)
          << each.err;
    }
  }
}

// The log, an export of it and an archive are each redacted when somebody asks for it. Whatever the
// order, what was signed stays proven.
TEST_F(KeptRedactionTest, AnExportAndItsLogAreRedactedInAnyOrder) {  // G17
  const std::string run_id = text(result({"run", "start", "use secret-one-0123456789", "--pipeline",
                                          pipeline(), "--label", "who=secret-two-0123456789"}),
                                  "run_id");
  const std::string position = position_of(run_id, "RunStarted");
  const auto redact_log = [&](const std::string& field) {
    return result({"audit", "redact", position, "--field", field, "--reason", "a secret"});
  };
  const std::vector<std::string> redact_export{
      "audit", "redact", position, "--archive", at("export"), "--signing-key", at("audit.key")};
  ASSERT_EQ(export_to("export").exit_code, 0);
  ASSERT_EQ(export_to("between").exit_code, 0);
  const std::string fields = json::serialize(
      result({"audit", "redact", position, "--reason", "a secret", "--dry-run"}).at("fields"));
  ASSERT_EQ(fields, "[\"goal\",\"labels\"]");
  redact_log("goal");
  fs::remove_all(at("between"));
  ASSERT_EQ(export_to("between").exit_code, 0);
  ASSERT_EQ(export_to("export").exit_code, 0);
  expect_verified(at("export"));
  // The export has the event of a redaction whose replacement only the log has.
  const json::object erased = result(redact_export);
  EXPECT_FALSE(has_text(at("export"), "secret-one"));
  EXPECT_FALSE(has_text(at("export"), "secret-two"));
  expect_verified(at("export"));
  // It names what the log still has, with a command. That makes a second redaction of the record:
  // each export has a copy from before it.
  const json::object there = erased.at("remaining").at(0).as_object();
  EXPECT_EQ(json::serialize(there.at("position")), position);
  const Output done = follow(std::string(there.at("commands").at(0).as_string()));
  EXPECT_EQ(done.exit_code, 0) << done.err;
  ASSERT_EQ(export_to("export").exit_code, 0);
  expect_verified(at("export"));
  fs::copy(at("between"), at("before"));
  ASSERT_EQ(export_to("between").exit_code, 0);
  expect_verified(at("between"));
  expect_refused(1, "is still here", at("before"), {at("export")});
}

// Two that read, change and write the same files would each undo the other's.
TEST_F(KeptRedactionTest, OneRedactionAtATimeChangesAnArchive) {  // G17
  const std::string run_id = start_run("use secret-one-0123456789");
  ASSERT_EQ(export_to("export").exit_code, 0);
  const std::vector<std::string> redact{
      "audit",         "redact",     position_of(run_id, "RunStarted"),
      "--archive",     at("export"), "--signing-key",
      at("audit.key"), "--json"};
  {
    const auto other = DirectoryLock::take_directory(at("export"));
    ASSERT_TRUE(other);
    const Output refused = server_.cli(redact);
    EXPECT_EQ(refused.exit_code, 75) << refused.out;
    EXPECT_EQ(code_of(refused), "IN_USE") << refused.out;
    EXPECT_TRUE(has_text(at("export"), "secret-one"));
  }
  EXPECT_EQ(server_.cli(redact).exit_code, 0);
  EXPECT_FALSE(has_text(at("export"), "secret-one"));
  expect_verified(at("export"));
}

// What the log has at the end is also in an export that ends before the log tells of it.
TEST_F(KeptRedactionTest, AnExportMayEndBetweenTheRedactionsOfARecord) {  // G17
  const std::string run_id = text(result({"run", "start", "use secret-one-0123456789", "--pipeline",
                                          pipeline(), "--label", "who=secret-two-0123456789"}),
                                  "run_id");
  const std::string position = position_of(run_id, "RunStarted");
  std::string ends;
  for (const char* field : {"goal", "labels"}) {
    const auto done =
        result({"audit", "redact", position, "--field", field, "--reason", "a secret"});
    ends = json::serialize(done.at("redaction_position"));
    append_events(10);
  }
  const std::string before = std::to_string(std::stoull(ends) - 1);
  ASSERT_EQ(export_to("export", {"--to", before}).exit_code, 0);
  expect_verified(at("export"));
  ASSERT_EQ(export_to("export").exit_code, 0);
  expect_verified(at("export"));
  ASSERT_EQ(export_to("later", {"--from", std::to_string(std::stoull(before) + 1)}).exit_code, 0);
  ASSERT_EQ(export_to("first", {"--to", before}).exit_code, 0);
  expect_verified(at("first"), {at("later")});
}

// The key that signed the archive may be gone by now, such as because it leaked.
TEST_F(KeptRedactionTest, AnArchiveIsRedactedAfterItsKeyWasReplaced) {  // G17
  const std::string gone = ended_run("use secret-one-0123456789");
  const std::string position = position_of(gone, "RunStarted");
  const std::string former = verifier_key_;
  server_.stop();
  const std::string archive = text(retained(), "archive");
  fs::remove(at("audit.key"));
  verifier_key_ = make_key("next.key");
  const std::vector<std::string> redact{"audit", "redact",        position,      "--archive",
                                        archive, "--signing-key", at("next.key")};
  EXPECT_NE(server_.cli(redact).err.find("--key"), std::string::npos);
  std::vector<std::string> with_key = redact;
  with_key.insert(with_key.end(), {"--key", former});
  const Output done = server_.cli(with_key);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_FALSE(has_text(archive, "secret-one"));
  expect_verified(archive);  // nobody has to trust the former one any more
  std::vector<std::string> foreign = with_key;
  foreign[6] = at("other.key");
  foreign.back() = verifier_key_;
  make_key("other.key", "example.com/other");
  EXPECT_EQ(server_.cli(foreign).exit_code, 2);
  expect_verified(archive);
}

// The service's key is another one by then.
TEST_F(KeptRedactionTest, TheCommandForAnArchiveNamesTheKeyThatItWasSignedWith) {  // G17
  const std::string secret = "the-secret-0123456789abcdef";
  const std::string kept_at = position_of(start_run("use " + secret), "RunStarted");
  const std::string one_at = position_of(ended_run("one with " + secret), "RunStarted");
  const std::string other_at = position_of(ended_run("other with " + secret), "RunStarted");
  server_.stop();
  const std::string archive = text(retained(), "archive");
  const auto command_for = [&](const std::string& position) {
    const Output output =
        server_.cli({"audit", "redact", position, "--reason", "a secret", "--json"});
    EXPECT_EQ(code_of(output), "HISTORY_DROPPED") << output.out;
    const json::object error = one_object(output).at("error").as_object();
    return std::string(error.at("data").at("next_commands").at(0).as_string());
  };
  const auto replace_key = [&](bool adopts) {
    const std::string former = std::exchange(verifier_key_, "");
    const std::string key = (server_.data() / "audit.key").string();
    fs::remove(key);
    verifier_key_ =
        text(result({"audit", "keygen", "-o", key, "--name", "example.com/box"}), "verifier_key");
    if (adopts) {
      server_.start();
      result({"audit", "adopt", verifier_key_});
      server_.stop();
    }
    return former;
  };
  EXPECT_EQ(command_for(one_at).find("--key "), std::string::npos) << "the log's latest key did";
  const auto expect_erased_by = [&](const std::string& command) {
    const Output done = follow(command);
    EXPECT_EQ(done.exit_code, 0) << command << "\n" << done.err;
    expect_verified(archive);
  };
  const std::string first = replace_key(/*adopts=*/true);
  std::string command = command_for(one_at);
  EXPECT_NE(command.find(" --key '" + first), std::string::npos) << command;
  expect_erased_by(command);
  const std::string second = replace_key(/*adopts=*/false);
  const auto redacted = result({"audit", "redact", kept_at, "--reason", "a secret"});
  command = redacted.at("archives").at(0).at("commands").at(0).as_string();
  EXPECT_NE(command.find(" --key '" + second), std::string::npos) << command;
  expect_erased_by(command);
  // That key, which the log has never had, is gone.
  const std::string third = replace_key(/*adopts=*/true);
  command = command_for(other_at);
  const std::string unknown = "VERIFIER_KEY";
  ASSERT_NE(command.find(" --key " + unknown), std::string::npos) << command;
  expect_erased_by(command.replace(command.find(unknown), unknown.size(), third));
  EXPECT_EQ(command_for(other_at).find("--key "), std::string::npos) << "its own key did";
  EXPECT_FALSE(has_text(archive, secret));
}

TEST_F(KeptRedactionTest, AnArchiveFromBeforeASecondRedactionIsRefusedBesideALaterOne) {  // G17
  const std::string run_id = text(result({"run", "start", "use secret-one-0123456789", "--pipeline",
                                          pipeline(), "--label", "who=secret-two-0123456789"}),
                                  "run_id");
  const std::string position = position_of(run_id, "RunStarted");
  result({"audit", "redact", position, "--field", "goal", "--reason", "a secret"});
  ended_run("gone");
  server_.stop();
  const std::string archive = text(retained(), "archive");
  expect_verified(archive);
  const json::object again =
      result({"audit", "redact", position, "--field", "labels", "--reason", "a secret"});
  ASSERT_EQ(export_to("later").exit_code, 0);
  expect_refused(1, "is still here", archive, {at("later")});
  const std::string command(again.at("archives").at(0).at("commands").at(0).as_string());
  EXPECT_EQ(follow(command).exit_code, 0);
  EXPECT_FALSE(has_text(archive, "secret-two"));
  expect_verified(archive, {at("later")});
}

}  // namespace
}  // namespace signalbox
