// A text is erased while the service serves: nothing that it answers shows the text afterwards, no
// file of the log or of what is derived from it has it, and those who are at work go on. All with
// the real binary.
#include <signal.h>

#include "tests/fixtures/random_seed.h"
#include "tests/scenarios/served_retention_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class ServedRedactionTest : public ServedRetentionTest {
 protected:
  // Random characters, so that compression doesn't hide it.
  static constexpr const char* text_to_erase = "w3Kd9sVbQ1xT7mZr5NcYh2LfJg8PaEu6oRiB4tWq";

  // Starts a run with the text in its goal, between other events.
  void start_run_with_text() {
    append_events(20);
    run_id_ = start_run(std::string("use the key ") + text_to_erase + " for it");
    const json::array started = events(run_id_, "RunStarted");
    ASSERT_EQ(started.size(), 1U);
    position_ = number(started.front().as_object(), "position");
    append_events(20);
  }
  [[nodiscard]] std::vector<std::string> redact_words(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"audit", "redact", std::to_string(position_), "--reason",
                                   "a key in the goal"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  [[nodiscard]] json::object params(json::object more = {}) const {
    more["position"] = position_;
    if (!more.contains("reason")) more["reason"] = "a key in the goal";
    return more;
  }
  // Calls `log.redact`, which has to refuse. Returns the error.
  [[nodiscard]] json::object refusal_of(const json::object& request) const {
    const Output output = server_.cli({"rpc", "log.redact", json::serialize(request), "--json"});
    EXPECT_NE(output.exit_code, 0) << output.out;
    const json::object printed = one_object(output);
    const json::value* const error = printed.if_contains("error");
    return error == nullptr ? json::object{{"data", {{"code", ""}}}} : error->as_object();
  }
  [[nodiscard]] static std::string code_in(const json::object& error) {
    return text(error.at("data").as_object(), "code");
  }
  // Returns the files with the text, of the log and of what is derived from it. The server may
  // remove files meanwhile.
  [[nodiscard]] static std::string files_with_text(const fs::path& data) {
    std::string found;
    for (const char* folder : {"log", "projections"}) {
      std::error_code failed;
      auto each = fs::recursive_directory_iterator(data / folder, failed);
      for (; !failed && each != fs::recursive_directory_iterator(); each.increment(failed)) {
        std::error_code unknown;
        if (!each->is_regular_file(unknown)) continue;
        if (content_of(each->path()).find(text_to_erase) != std::string::npos) {
          found += each->path().string() + "\n";
        }
      }
    }
    return found;
  }
  // Returns what the files below the directory have, one after the other.
  [[nodiscard]] static std::string texts_below(const fs::path& directory) {
    std::string texts;
    for (const auto& each : fs::recursive_directory_iterator(directory)) {
      if (each.is_regular_file()) texts += content_of(each.path());
    }
    return texts;
  }
  // Expects that a replay leads to the state of the living service.
  void expect_same_as_replay() const {
    const json::object live = result({"status"});
    const json::object folded =
        result({"replay", "--verify", "--to", json::serialize(live.at("position"))});
    EXPECT_EQ(folded.at("state_digest"), live.at("state_digest"));
  }

  std::string run_id_;
  std::int64_t position_ = 0;
};

// Pasted while the service runs, the commands erase what has the text, and nothing else.
TEST_F(ServedRedactionTest, CommandsForOtherPlacesHarmNothing) {  // G17
  start_run_with_text();
  const std::string other = start_run(std::string("again with ") + text_to_erase);
  const std::int64_t other_position =
      number(events(other, "RunStarted").front().as_object(), "position");
  const json::object done = result(redact_words());
  std::string commands;
  for (const json::value& place : done.at("remaining").as_array()) {
    for (const json::value& each : place.at("commands").as_array()) {
      commands += std::string(each.as_string()) + "\n";
    }
  }
  for (const char* folder : {"log", "projections"}) {
    EXPECT_EQ(commands.find((server_.data() / folder).string()), std::string::npos) << commands;
  }
  const std::size_t begin = commands.find("audit redact " + std::to_string(other_position) + " ");
  ASSERT_NE(begin, std::string::npos) << commands;
  const std::string command = commands.substr(begin, commands.find('\n', begin) - begin);
  EXPECT_TRUE(command.ends_with(" --field 'goal'")) << command;

  // What an earlier redaction left is in every redacted record.
  const std::string later = start_run("it was before:\n[redacted]");
  position_ = number(events(later, "RunStarted").front().as_object(), "position");
  const json::object of_later = result(redact_words());
  EXPECT_EQ(of_later.at("fields"), (json::array{"goal"}));
  for (const json::value& place : of_later.at("remaining").as_array()) {
    EXPECT_FALSE(place.as_object().contains("position")) << json::serialize(place);
  }
}

TEST_F(ServedRedactionTest, NothingShowsTheTextAndTheWorkGoesOn) {  // G17
  server_.stop();
  write_text(server_.data() / "signalbox.toml", "snapshot_events = 1000\n");
  server_.start();
  start_run_with_text();
  append_events(1200);
  const fs::path snapshots = server_.data() / "projections" / "snapshots";
  await([&] { return fs::exists(snapshots) && !fs::is_empty(snapshots); });
  const std::string old_checkpoint = checkpoint("before.checkpoint");
  const std::string token = claim(run_id_);
  ASSERT_NE(files_with_text(server_.data()), "");
  // The service remembers a past world that has the text.
  const auto in_the_past = [this] {
    return server_
        .cli({"run", "get", run_id_, "--at", std::to_string(position_), "--socket",
              server_.socket().string()})
        .out;
  };
  EXPECT_NE(in_the_past().find(text_to_erase), std::string::npos);
  EXPECT_FALSE(result(redact_words({"--dry-run"})).at("redacted").as_bool());
  const std::int64_t before = incarnation();

  const json::object done = result(redact_words());
  EXPECT_EQ(incarnation(), before) << "the service serves on";
  EXPECT_TRUE(done.at("redacted").as_bool()) << json::serialize(done);
  EXPECT_EQ(done.at("fields"), (json::array{"goal"}));
  EXPECT_FALSE(done.contains("files_error")) << json::serialize(done);
  EXPECT_EQ(files_with_text(server_.data()), "");
  EXPECT_EQ(text(run(run_id_), "goal"), "[redacted]");
  EXPECT_NE(in_the_past().find("[redacted]"), std::string::npos);
  EXPECT_EQ(in_the_past().find(text_to_erase), std::string::npos);
  const json::object started = events(run_id_, "RunStarted").front().as_object();
  EXPECT_TRUE(started.at("redacted").as_bool());
  const json::array notes = of_type("PayloadRedacted");
  ASSERT_EQ(notes.size(), 1U);
  const json::object note = notes.front().as_object();
  EXPECT_EQ(note.at("position"), done.at("redaction_position"));
  EXPECT_EQ(number(note, "cause"), position_);
  EXPECT_EQ(text(note, "actor"), "uid:" + std::to_string(::getuid()));
  EXPECT_EQ(text(note.at("data").as_object(), "reason"), "a key in the goal");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"events"}, {"run", "list"}, {"run", "get", run_id_}, {"board"}, {"status"}}) {
    const Output shown = server_.cli(words);
    EXPECT_EQ(shown.out.find(text_to_erase), std::string::npos) << words.front() << shown.out;
  }
  expect_same_as_replay();
  EXPECT_EQ(complete(run_id_, "plan", token, "succeeded").exit_code, 0)
      << "its token is still good";

  const json::object again = result(redact_words());
  EXPECT_FALSE(again.at("redacted").as_bool());
  EXPECT_EQ(again.at("redaction_position"), done.at("redaction_position"));
  append_events(1200);
  await([&] { return fs::exists(snapshots) && !fs::is_empty(snapshots); });
  EXPECT_EQ(files_with_text(server_.data()), "");
  ASSERT_EQ(export_to("after").exit_code, 0);
  expect_verified(at("after"), {"--old-checkpoint", old_checkpoint});
  server_.kill();
  server_.start();
  EXPECT_EQ(text(run(run_id_), "goal"), "[redacted]");
  expect_same_as_replay();
}

// What the service keeps of a held lock beside its state and the read models loses the text, too.
TEST_F(ServedRedactionTest, AHeldLockKeepsItsTokenAndLosesTheText) {  // G17
  const json::object held = rpc("lock.acquire", {{"key", "deploy"},
                                                 {"owner", "me"},
                                                 {"lease_ms", 3'600'000},
                                                 {"reason", std::string("for ") + text_to_erase},
                                                 {"run_root", at("root")}});
  append_events(20);
  position_ = number(held, "token");
  EXPECT_EQ(result(redact_words()).at("fields"), (json::array{"reason"}));
  EXPECT_EQ(files_with_text(server_.data()), "");
  const std::string shown = json::serialize(rpc("lock.get", {{"key", "deploy"}}));
  EXPECT_NE(shown.find("[redacted]"), std::string::npos) << shown;
  EXPECT_EQ(shown.find(text_to_erase), std::string::npos) << shown;
  expect_same_as_replay();
  const json::object refresh{
      {"key", "deploy"}, {"token", held.at("token")}, {"lease_ms", 3'600'000}};
  EXPECT_EQ(text(rpc("lock.refresh", refresh), "key"), "deploy");
  const json::object release{{"key", "deploy"}, {"token", held.at("token")}};
  EXPECT_TRUE(rpc("lock.release", release).at("released").as_bool());
}

// Followers get the record without the text, wherever they begin.
TEST_F(ServedRedactionTest, SubscribersGetTheRecordWithoutTheText) {  // G17
  start_run_with_text();
  ASSERT_EQ(server_.cli(redact_words()).exit_code, 0);
  const pid_t follower = spawn_process(
      {SIGNALBOX_BINARY, "events", "--follow", "--json", "--from", "1"}, at("follower.out"),
      at("follower.err"), {"SIGNALBOX_DATA=" + server_.data().string()});
  await([&] {
    return content_of(at("follower.out")).find("\"PayloadRedacted\"") != std::string::npos;
  });
  ::kill(follower, SIGTERM);
  wait_for_exit(follower);
  const std::string received = content_of(at("follower.out"));
  EXPECT_NE(received.find("[redacted]"), std::string::npos);
  EXPECT_EQ(received.find(text_to_erase), std::string::npos);
}

TEST_F(ServedRedactionTest, ARepeatedCommandGetsTheFirstResult) {  // G17
  start_run_with_text();
  const json::object request = params({{"command_id", "erase-1"}});
  const json::object first = rpc("log.redact", request);
  EXPECT_TRUE(first.at("redacted").as_bool()) << json::serialize(first);
  EXPECT_EQ(number(first, "redacted_position"), position_);
  const json::object second = rpc("log.redact", request);
  EXPECT_TRUE(second.at("replayed").as_bool()) << json::serialize(second);
  for (const char* key : {"redacted_position", "redaction_position", "type", "fields"}) {
    EXPECT_EQ(second.at(key), first.at(key)) << key;
  }
  EXPECT_EQ(count("PayloadRedacted"), 1U);
  EXPECT_EQ(code_in(refusal_of(params({{"command_id", "erase-1"}, {"reason", "another"}}))),
            "IDEMPOTENCY_CONFLICT");
}

TEST_F(ServedRedactionTest, WhatCantBeErasedIsRefused) {  // G17
  start_run_with_text();
  EXPECT_EQ(code_in(refusal_of({{"position", 999'999}, {"reason", "x"}})), "POSITION_NOT_FOUND");
  EXPECT_EQ(code_in(refusal_of({{"position", 1}, {"reason", "x"}})), "NOTHING_TO_REDACT");
  EXPECT_EQ(code_in(refusal_of(params({{"reason", ""}}))), "INVALID_PARAMS");
  EXPECT_EQ(code_in(refusal_of(params({{"reason", std::string(1025, 'x')}}))), "LIMIT_EXCEEDED");
  const json::object field = refusal_of(params({{"fields", json::array{"station"}}}));
  EXPECT_EQ(code_in(field), "INVALID_PARAMS");
  EXPECT_NE(text(field, "message").find("goal"), std::string::npos) << json::serialize(field);
  // While the attempt is under way its external ref is needed: a fold in another process says so.
  const std::string token = claim(run_id_);
  const std::string ref = std::string("job-") + text_to_erase;
  ASSERT_EQ(server_
                .cli({"station", "set-external-ref", "--run", run_id_, "--station", "plan",
                      "--token", token, ref})
                .exit_code,
            0);
  const json::array set = events(run_id_, "StationExternalRefSet");
  ASSERT_EQ(set.size(), 1U);
  const json::object request{{"position", set.front().at("position")}, {"reason", "x"}};
  const json::object impossible = refusal_of(request);
  EXPECT_EQ(code_in(impossible), "REDACTION_IMPOSSIBLE") << json::serialize(impossible);
  EXPECT_EQ(count("PayloadRedacted"), 0U);
  EXPECT_EQ(complete(run_id_, "plan", token, "succeeded").exit_code, 0);
  EXPECT_TRUE(rpc("log.redact", request).at("redacted").as_bool()) << "it isn't needed any more";
  expect_same_as_replay();
}

// Only while the server is stopped the state that the log begins with can be renewed.
TEST_F(ServedRedactionTest, WhatARetentionKeptNeedsAStop) {  // G17
  start_run_with_text();
  ended_run("the one that is dropped");
  append_events(300);
  server_.stop();
  ASSERT_TRUE(retained().at("dropped").as_bool());
  server_.start();
  const json::object refused = refusal_of(params());
  EXPECT_EQ(code_in(refused), "REDACTION_NEEDS_STOP") << json::serialize(refused);
  const json::array next = refused.at("data").at("next_commands").as_array();
  ASSERT_EQ(next.size(), 3U);
  EXPECT_EQ(std::string(next.at(0).as_string()), "kill " + std::to_string(server_.pid()));
  EXPECT_EQ(text(run(run_id_), "goal").find("[redacted]"), std::string::npos);
  // The archive that is named has the text, and its command erases it there while the server goes
  // on.
  const fs::path archive = text(refused.at("data").at("details").as_object(), "archive");
  EXPECT_NE(text(refused, "message").find(archive.string()), std::string::npos);
  EXPECT_NE(texts_below(archive).find(text_to_erase), std::string::npos) << archive;
  const Output archived =
      paste("cd '" + scratch_.path().string() + "' && " + std::string(next.at(2).as_string()));
  EXPECT_EQ(archived.exit_code, 0) << archived.out << archived.err;
  EXPECT_EQ(texts_below(archive).find(text_to_erase), std::string::npos);
  server_.stop();
  const Output done = paste(std::string(next.at(1).as_string()));
  EXPECT_EQ(done.exit_code, 0) << done.out << done.err;
  server_.start();
  EXPECT_EQ(text(run(run_id_), "goal"), "[redacted]");
  EXPECT_EQ(files_with_text(server_.data()), "");
}

// A retention and a redaction both rewrite the log, so they don't run at the same time.
TEST_F(ServedRedactionTest, WaitsForARetention) {  // G17
  ended_run("the one that ended");
  append_events(50);
  serve_under("1s");
  pass_a_second();
  const pid_t tracer = hold("syncfs", "delay_enter=600000000");
  result({"loop", "trigger", "retention"});
  await([&] { return fs::exists(at("archive")); });
  start_run_with_text();
  const Output busy = server_.cli(redact_words({"--json"}));
  EXPECT_EQ(busy.exit_code, 75) << busy.out;
  EXPECT_EQ(code_of(busy), "OVERLOADED");
  ::kill(tracer, SIGKILL);
  wait_for_exit(tracer);
  await([&] { return !is_retaining(); });
  EXPECT_EQ(count("HistoryDropped"), 1U);
  EXPECT_EQ(server_.cli(redact_words()).exit_code, 0);
  EXPECT_EQ(files_with_text(server_.data()), "");
  expect_same_as_replay();
}

// Sends SIGKILL to the server at the n-th of the calls of one of its threads that make something
// durable or remove it, for n = 1, 2, … until the redaction is answered.
TEST_F(ServedRedactionTest, KilledAnywhereItIsFinishedOrWasNeverBegun) {  // G17
  start_run_with_text();
  server_.kill();
  fs::remove(server_.socket());  // sockets can't be copied
  const FaultRotation rotation(3);
  int killed = 0;
  for (const std::string calls :
       {"fdatasync,fsync", "unlink,unlinkat", "rename,renameat,renameat2"}) {
    for (std::size_t n = 1 + rotation.first; !HasFailure(); n += rotation.stride) {
      ASSERT_LT(n, 200U) << calls;
      SCOPED_TRACE(calls + " " + std::to_string(n));
      const fs::path data = at("killed");
      fs::remove_all(data);
      fs::copy(server_.data(), data, fs::copy_options::recursive);
      test::ServerProcess server(data);
      ASSERT_TRUE(server.start()) << server.log();
      const pid_t tracer = spawn_process(
          {"strace", "-f", "-qq", "-o", "/dev/null", "-p", std::to_string(server.pid()), "-e",
           "trace=" + calls, "-e", "inject=" + calls + ":signal=KILL:when=" + std::to_string(n)},
          at("strace.out"), at("strace.err"));
      await([&] {
        if (!server.running()) return true;
        const std::string status = content_of("/proc/" + std::to_string(server.pid()) + "/status");
        return status.find("TracerPid:\t") != std::string::npos &&
               status.find("TracerPid:\t0\n") == std::string::npos;
      });
      // Not `audit redact`, which would redact by itself if the server is killed before.
      const bool answered = run_process({SIGNALBOX_BINARY, "rpc", "log.redact",
                                         json::serialize(params()), "--data", data.string()})
                                .exit_code == 0;
      ::kill(tracer, SIGKILL);
      wait_for_exit(tracer);
      server.kill();
      // Reading repairs nothing and accepts what it finds.
      const auto run_there = [&](std::vector<std::string> what) {
        what.insert(what.begin(), SIGNALBOX_BINARY);
        what.insert(what.end(), {"--data", data.string()});
        return run_process(what);
      };
      const Output replayed = run_there({"replay", "--verify", "--json"});
      ASSERT_EQ(replayed.exit_code, 0) << replayed.out << replayed.err;
      const std::string shown = run_there({"replay", "--run", run_id_, "--json"}).out;
      const bool redacted = shown.find("[redacted]") != std::string::npos;
      ASSERT_NE(redacted, shown.find(text_to_erase) != std::string::npos) << shown;
      ASSERT_TRUE(redacted || !answered);
      ASSERT_TRUE(server.start()) << server.log();
      if (!redacted) {
        const Output again = run_there(redact_words());
        ASSERT_EQ(again.exit_code, 0) << again.out << again.err;
      }
      ASSERT_EQ(files_with_text(data), "");
      ASSERT_EQ(run_there({"replay", "--verify"}).exit_code, 0);
      server.kill();
      if (answered) break;
      ++killed;
    }
  }
  EXPECT_GT(killed, 0);
}

}  // namespace
}  // namespace signalbox
