// `audit redact` erases a text that should never have been written from every file. The log still
// proves everything it proved, and says who erased it. If it is killed at any step, the redaction
// is finished or was never begun.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "store/base64.h"
#include "store/sha256.h"
#include "store/signed_note.h"
#include "tests/fixtures/random_seed.h"
#include "tests/scenarios/redaction_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

TEST_F(RedactionTest, TakesAGoalOutOfEverythingAndProvesTheSame) {
  stop();
  write_text(server_.data() / "signalbox.toml", "snapshot_events = 1000\n");
  server_.start();
  start_run_with_secret();
  append_events(1200);
  // A start would continue from a snapshot and never read the record.
  const fs::path snapshots = server_.data() / "projections" / "snapshots";
  await([&] { return fs::exists(snapshots) && !fs::is_empty(snapshots); });
  const std::string old_checkpoint = checkpoint("before.checkpoint");
  ASSERT_EQ(export_to("before").exit_code, 0);
  stop();
  ASSERT_NE(log_with_secret(server_.data()), "");

  const json::object dry = result(redact_words({"--dry-run"}));
  EXPECT_FALSE(dry.at("redacted").as_bool());
  EXPECT_EQ(dry.at("fields"), (json::array{"goal"}));
  ASSERT_NE(log_with_secret(server_.data()), "");

  const Output report = server_.cli(redact_words());
  ASSERT_EQ(report.exit_code, 0) << report.out << report.err;
  EXPECT_NE(report.out.find("erased goal"), std::string::npos) << report.out;
  EXPECT_EQ(log_with_secret(server_.data()), "");

  const json::object again = result(redact_words());
  EXPECT_FALSE(again.at("redacted").as_bool());
  const std::string redaction = json::serialize(again.at("redaction_position"));

  server_.start();
  EXPECT_EQ(text(run(run_id_), "goal"), "[redacted]");
  const json::object started = events(run_id_, "RunStarted").front().as_object();
  EXPECT_TRUE(started.at("redacted").as_bool());
  EXPECT_EQ(text(started.at("data").as_object(), "goal"), "[redacted]");
  const json::object read{{"from", json::parse(redaction)}, {"limit", 1}};
  const json::object note = result({"rpc", "events.read", json::serialize(read)})
                                .at("events")
                                .as_array()
                                .front()
                                .as_object();
  EXPECT_EQ(text(note, "type"), "PayloadRedacted");
  EXPECT_EQ(text(note, "actor"), "uid:" + std::to_string(::getuid()));
  EXPECT_EQ(text(note.at("data").as_object(), "reason"), "a key in the goal");
  // Replay gives the server's digest.
  const json::object live = result({"status"});
  const json::object folded =
      result({"replay", "--verify", "--to", json::serialize(live.at("position"))});
  EXPECT_EQ(folded.at("state_digest"), live.at("state_digest"));

  ASSERT_EQ(export_to("after").exit_code, 0);
  expect_verified(at("after"), {"--old-checkpoint", old_checkpoint});
  EXPECT_EQ(listed(files_with_secret(at("after"))), "");
  EXPECT_NE(content_of(fs::path(at("after")) / "events-000000000001.jsonl").find("recorddigest"),
            std::string::npos);
  // An earlier export still has the secret, verifies, and can be continued.
  ASSERT_EQ(export_to("before").exit_code, 0);
  expect_verified(at("before"));
  ASSERT_EQ(export_to("tiles", {"--format", "tlog"}).exit_code, 0);
  expect_verified(at("tiles"), {"--old-checkpoint", old_checkpoint});
  ASSERT_EQ(server_
                .cli({"audit", "prove", position_, "--signing-key", at("audit.key"), "-o",
                      at("one.tlog-proof")})
                .exit_code,
            0);
  expect_verified(at("one.tlog-proof"));

  ASSERT_EQ(server_
                .cli({"run", "export", run_id_, "--signing-key", at("audit.key"), "-o",
                      at("run.capsule")})
                .exit_code,
            0);
  expect_verified(at("run.capsule"));
  const Output replayed = run_process({SIGNALBOX_BINARY, "replay", at("run.capsule"), "--key",
                                       verifier_key_, "--data", at("nothing"), "--json"},
                                      {});
  ASSERT_EQ(replayed.exit_code, 0) << replayed.err;
  EXPECT_EQ(one_object(replayed).at("result").at("run").at("goal").as_string(), "[redacted]");
}

// A job made directories whose path is too long to open what is in them.
TEST_F(RedactionTest, NamesWhatItCantSearch) {
  start_run_with_secret();
  stop();
  const fs::path workspace = server_.data() / "runs" / run_id_ / "workspace";
  fs::create_directories(workspace);
  const Output made =
      shell("cd '" + workspace.string() +
            "' && python3 -c \"import os\nfor i in range(300): "
            "os.mkdir('a-directory-of-a-job'); os.chdir('a-directory-of-a-job')\nopen('file', "
            "'w').write('" +
            secret + "')\"");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const json::array remaining = result(redact_words()).at("remaining").as_array();
  ASSERT_EQ(remaining.size(), 1U) << json::serialize(remaining);
  EXPECT_TRUE(text(remaining.at(0).as_object(), "stays").starts_with("it couldn't be searched"));
}

// Root reads all files, unless it has given up these two capabilities.
TEST_F(RedactionTest, AFileThatCannotBeReadIsNamed) {  // G17
  start_run_with_secret();
  const fs::path file = server_.data() / "kept-by-a-job";
  write_text(file, secret);
  fs::permissions(file, fs::perms::none);
  std::vector<std::string> words{SIGNALBOX_BINARY, "--data", server_.data().string()};
  if (::geteuid() == 0) {
    words.insert(words.begin(), {"setpriv", "--bounding-set", "-dac_override,-dac_read_search"});
  }
  std::ranges::copy(redact_words(), std::back_inserter(words));
  const Output done = run_process(words);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_NE(done.out.find(file.string() + ": it couldn't be searched"), std::string::npos)
      << done.out;
}

TEST_F(RedactionTest, RefusesWhatItCantDo) {
  start_run_with_secret();
  // A server is running, and can't be reached: it would redact the record itself.
  const Output busy = server_.cli(redact_words({"--json", "--socket", at("nobody.sock")}));
  EXPECT_EQ(busy.exit_code, 75);
  EXPECT_EQ(code_of(busy), "IN_USE");
  EXPECT_NE(busy.out.find("kill " + std::to_string(server_.pid())), std::string::npos) << busy.out;
  EXPECT_NE(busy.out.find("is in use by `signalbox serve`, process "), std::string::npos);
  EXPECT_EQ(events(run_id_, "RunStarted").front().as_object().contains("redacted"), false);
  stop();
  const Output past = server_.cli({"audit", "redact", "999999", "--reason", "x", "--json"});
  EXPECT_EQ(past.exit_code, 1);
  EXPECT_EQ(code_of(past), "POSITION_NOT_FOUND");
  const Output none = server_.cli({"audit", "redact", "1", "--reason", "x", "--json"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(code_of(none), "NOTHING_TO_REDACT");
  const Output unknown = server_.cli(redact_words({"--field", "station", "--json"}));
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.out.find("goal"), std::string::npos);
  for (const std::vector<std::string>& reason :
       {std::vector<std::string>{"--reason", ""}, {"--dry-run"}}) {
    std::vector<std::string> words{"audit", "redact", position_};
    words.insert(words.end(), reason.begin(), reason.end());
    const Output unsaid = server_.cli(words);
    EXPECT_EQ(unsaid.exit_code, 2);
    EXPECT_NE(unsaid.err.find("--reason is required"), std::string::npos) << unsaid.err;
  }
  EXPECT_EQ(server_.cli({"audit", "redact", position_, "--reason", "caf\xe9"}).exit_code, 2);
  const Output nowhere = signalbox(at("nothing"), {"audit", "redact", "1", "--reason", "x"});
  EXPECT_EQ(nowhere.exit_code, 2) << nowhere.err;
  EXPECT_FALSE(fs::exists(at("nothing")));
}

// Two redactions at the same time: the second one names the first.
TEST_F(RedactionTest, SaysWhichCommandHasTheLog) {
  start_run_with_secret();
  stop();
  const pid_t tracer = spawn_process(
      {"strace", "-f", "-qq", "-o", "/dev/null", "-E", "ASAN_OPTIONS=detect_leaks=0", "-e",
       "trace=fdatasync", "-e", "inject=fdatasync:delay_enter=600000000", SIGNALBOX_BINARY, "audit",
       "redact", position_, "--reason", "held", "--data", server_.data().string()},
      at("out"), at("err"));
  const fs::path lock = server_.data() / "server.lock";
  std::string process;
  await([&] {
    std::ifstream file(lock);
    std::string command;
    return std::getline(file, process) && std::getline(file, command) &&
           command == "signalbox audit redact";
  });
  const auto expect_named = [&](const Output& output) {
    EXPECT_EQ(output.exit_code, 75);
    EXPECT_NE(output.err.find("is in use by `signalbox audit redact`, process " + process),
              std::string::npos)
        << output.err;
    // What holds it isn't called a server; only how else a record is redacted may be said so.
    constexpr std::string_view other_way = "by the server, over its socket";
    std::string rest = output.err;
    if (const auto place = rest.find(other_way); place != std::string::npos) {
      rest.erase(place, other_way.size());
    }
    EXPECT_EQ(rest.find("server,"), std::string::npos) << output.err;
  };
  const std::string wait = "  try: tail --pid=" + process + " -f /dev/null\n";
  Output refused = server_.cli({"audit", "retain", "--older-than", "0s", "--archive", at("archive"),
                                "--signing-key", at("audit.key")});
  expect_named(refused);
  EXPECT_NE(refused.err.find(wait), std::string::npos) << refused.err;
  refused = server_.cli(redact_words());
  expect_named(refused);
  EXPECT_NE(refused.err.find(wait + "  try: signalbox audit redact " + position_),
            std::string::npos)
      << refused.err;
  refused = server_.cli({"serve"});
  expect_named(refused);
  EXPECT_NE(refused.err.find("start again once it has ended"), std::string::npos) << refused.err;
  // The tracer is killed, too: it would wait for the delay to end.
  ::kill(static_cast<pid_t>(std::stol(process)), SIGKILL);
  ::kill(tracer, SIGKILL);
  wait_for_exit(tracer);
}

// The holder of the key signs an export with another replacement text.
TEST_F(RedactionTest, AnotherReplacementIsFoundWhoeverSignedIt) {
  start_run_with_secret();
  stop();
  ASSERT_EQ(server_.cli(redact_words()).exit_code, 0);
  ASSERT_EQ(export_to("export").exit_code, 0);
  const fs::path lines_file = fs::path(at("export")) / "events-000000000001.jsonl";
  const fs::path digests_file = fs::path(at("export")) / "events-000000000001.digests";
  const fs::path manifest_file = fs::path(at("export")) / "manifest";

  std::string lines = content_of(lines_file);
  const auto swap_text = [](std::string& text, const std::string& from, const std::string& to) {
    const std::size_t begin = text.find(from);
    ASSERT_NE(begin, std::string::npos) << from;
    text.replace(begin, from.size(), to);
  };
  std::string line;
  std::size_t begin = 0;
  std::size_t index = 0;
  for (;; ++index) {
    const std::size_t end = lines.find('\n', begin) + 1;
    line = lines.substr(begin, end - begin);
    if (line.find("\"recorddigest\"") != std::string::npos) break;
    begin = end;
    ASSERT_LT(begin, lines.size());
  }
  const std::string key = "\"replacement\":\"";
  const std::size_t at_value = line.find(key) + key.size();
  const std::string text_before = line.substr(at_value, line.find('"', at_value) - at_value);
  std::string bytes = *from_base64(text_before);
  swap_text(bytes, "[redacted]", "[whatever]");
  std::string changed = line;
  swap_text(changed, text_before, to_base64(bytes));
  swap_text(changed, "\"goal\":\"[redacted]\"", "\"goal\":\"[whatever]\"");
  lines.replace(begin, line.size(), changed);
  write_text(lines_file, lines);
  expect_refused(1, lines_file.filename().string(), at("export"));

  const auto raw = [](const Digest& digest) {
    return std::string(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
  };
  std::string digests = content_of(digests_file);
  const std::string segment_before = to_base64(raw(sha256(digests)));
  digests.replace(64 * index + 32, 32, raw(sha256(changed)));
  write_text(digests_file, digests);
  std::string manifest = content_of(manifest_file);
  manifest.resize(manifest.find("\n\n") + 1);
  swap_text(manifest, segment_before, to_base64(raw(sha256(digests))));
  std::string private_key = content_of(at("audit.key"));
  private_key.resize(private_key.find('\n'));
  const auto signer = NoteSigner::parse(private_key);
  ASSERT_TRUE(signer);
  write_text(manifest_file, sign_note(manifest, {&*signer, 1}));
  expect_refused(1, "isn't what the event of its redaction tells of", at("export"));
}

// Sends SIGKILL at the n-th of the calls that write, remove or make something durable, for
// n = 1, 2, … in turns, until the command ends by itself.
TEST_F(RedactionTest, KilledAnywhereItIsFinishedOrWasNeverBegun) {
  start_run_with_secret();
  // Some records are in tables, some in the write-ahead log.
  server_.kill();
  server_.start();
  append_events(20);
  server_.kill();
  fs::remove(server_.socket());  // sockets can't be copied
  const FaultRotation rotation(6);
  const int stride = static_cast<int>(rotation.stride);
  int begun = 0;
  int never = 0;
  for (const char* call : {"fdatasync,fsync", "unlink,unlinkat", "rename,renameat,renameat2",
                           "write", "pwrite64", "ftruncate", "mkdir", "rmdir"}) {
    for (int n = 1 + static_cast<int>(rotation.first);; n += stride) {
      ASSERT_LT(n, 200) << call;
      const fs::path data = at("killed");
      fs::remove_all(data);
      fs::copy(server_.data(), data, fs::copy_options::recursive);
      const Output output = run_process(
          {"strace", "-f", "-qq", "-o", "/dev/null", "-E", "ASAN_OPTIONS=detect_leaks=0", "-e",
           std::string("inject=") + call + ":signal=KILL:when=" + std::to_string(n),
           SIGNALBOX_BINARY, "audit", "redact", position_, "--reason", "a key in the goal",
           "--data", data.string()},
          {});
      const bool ended = output.exit_code == 0;
      const std::string call_and_error =
          std::string(call) + " " + std::to_string(n) + ": " + output.err;
      ASSERT_EQ(output.err.find("strace:"), std::string::npos) << call_and_error;
      // Reading repairs nothing and accepts what it finds.
      const Output replayed = signalbox(data, {"replay", "--verify", "--json"});
      ASSERT_EQ(replayed.exit_code, 0) << call_and_error << replayed.out;
      const Output shown = signalbox(data, {"replay", "--run", run_id_, "--json"});
      const bool redacted = shown.out.find("[redacted]") != std::string::npos;
      ASSERT_NE(redacted, shown.out.find(secret) != std::string::npos)
          << call_and_error << shown.out;
      ASSERT_TRUE(redacted || !ended) << call_and_error;
      (redacted ? begun : never) += 1;
      if (!redacted) {
        ASSERT_EQ(signalbox(data, redact_words()).exit_code, 0) << call_and_error;
      } else if (begun % 2 == 0) {
        test::ServerProcess server(data);
        ASSERT_TRUE(server.start()) << call_and_error << server.log();
        server.kill();
      } else {
        ASSERT_EQ(signalbox(data, redact_words()).exit_code, 0) << call_and_error;
      }
      ASSERT_EQ(log_with_secret(data), "") << call_and_error;
      ASSERT_EQ(signalbox(data, {"replay", "--verify"}).exit_code, 0) << call_and_error;
      if (ended) break;
    }
  }
  RecordProperty("begun", begun);
  RecordProperty("never", never);
  EXPECT_GT(begun, 3 / stride);
  EXPECT_GT(never, 3 / stride);
}

}  // namespace
}  // namespace signalbox
