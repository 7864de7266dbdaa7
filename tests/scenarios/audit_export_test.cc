// Exports of a real log, from a running server and offline: their content, how they are continued,
// and which are refused.
#include <sys/stat.h>

#include <algorithm>

#include "store/directory_lock.h"
#include "tests/scenarios/audit_fixture.h"
#include "tools/audit/export_manifest.h"
#include "tools/audit/tlog_proof.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

std::vector<json::object> json_lines_of(const fs::path& file) {
  std::vector<json::object> lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(json::parse(line).as_object());
  }
  return lines;
}

TEST_F(AuditTest, AKeyIsForItsOwnerAloneAndNeverReplaced) {
  struct stat status {};
  ASSERT_EQ(::stat(at("audit.key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  const std::string before = content_of(at("audit.key"));
  EXPECT_TRUE(before.starts_with("PRIVATE+KEY+example.com/box+"));
  EXPECT_EQ(server_.cli({"audit", "keygen", "-o", at("audit.key"), "--name", "x"}).exit_code, 2);
  EXPECT_EQ(content_of(at("audit.key")), before);
  EXPECT_EQ(server_.cli({"audit", "keygen", "-o", at("no.key"), "--name", "two words"}).exit_code,
            2);
  EXPECT_FALSE(fs::exists(at("no.key")));
}

TEST_F(AuditTest, ALiveLogIsExportedAsCloudEvents) {  // R4
  const std::string run_id = start_run("say \"hello\"\n\tto everyone äöü");
  append_events(20);
  const Output exported = export_to("export");
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  expect_verified(at("export"));
  EXPECT_FALSE(fs::exists(at("export/incomplete")));
  const auto lines = json_lines_of(at("export/events-000000000001.jsonl"));
  const auto events =
      result({"rpc", "events.read", R"({"from":1,"limit":1000})"}).at("events").as_array();
  ASSERT_EQ(lines.size(), events.size());
  for (std::size_t index = 0; index < lines.size(); ++index) {
    const json::object& line = lines[index];
    const json::object& event = events[index].as_object();
    EXPECT_EQ(line.at("specversion").as_string(), "1.0");
    EXPECT_EQ(line.at("source").as_string(), "example.com/box");
    EXPECT_EQ(text(line, "type"), "signalbox." + text(event, "type"));
    EXPECT_EQ(text(line, "id"), std::to_string(index + 1));
    EXPECT_EQ(text(line, "sequence").size(), 20U);
    EXPECT_EQ(line.at("subject"), event.at("stream"));
    EXPECT_EQ(line.at("time"), event.at("recorded_at"));
    EXPECT_EQ(line.at("actor"), event.at("actor"));
    EXPECT_EQ(line.at("data"), event.at("data"));
  }
}

TEST_F(AuditTest, TheSameLogAsTilesHasTheSameRoot) {  // R4
  append_events(700);
  ASSERT_EQ(export_to("lines", {"--to", "690"}).exit_code, 0);
  ASSERT_EQ(export_to("tiles", {"--to", "690", "--format", "tlog"}).exit_code, 0);
  expect_verified(at("tiles"));
  const auto head = [&](const std::string& file) {
    const std::string note = content_of(at(file));
    return note.substr(0, note.find("\n\n"));
  };
  EXPECT_EQ(head("lines/checkpoint"), head("tiles/checkpoint"));
  for (const char* tile : {"tile/0/000", "tile/0/001", "tile/0/002.p/178", "tile/1/000.p/2",
                           "tile/entries/000", "tile/entries/001", "tile/entries/002.p/178"}) {
    EXPECT_TRUE(fs::is_regular_file(at("tiles/") + tile)) << tile;
  }
  EXPECT_EQ(fs::file_size(at("tiles/tile/0/000")), 8192U);
}

TEST_F(AuditTest, AnExportGoesOnWhereItEnds) {  // R4, R5
  append_events(600);
  const std::string old = checkpoint("old.checkpoint", {"--to", "300"});
  for (const std::string format : {"cloudevents", "tlog"}) {
    const std::string directory = "export-" + format;
    for (const char* to : {"300", "310", "601"}) {
      const Output output = export_to(directory, {"--format", format, "--to", to});
      ASSERT_EQ(output.exit_code, 0) << output.err;
      expect_verified(at(directory), {"--old-checkpoint", old});
    }
    EXPECT_EQ(export_to(directory, {"--format", format, "--to", "601"}).exit_code, 0);
    EXPECT_EQ(export_to(directory, {"--format", format, "--to", "400"}).exit_code, 2);
    EXPECT_EQ(export_to(directory, {"--format", format, "--from", "500"}).exit_code, 2);
    expect_verified(at(directory), {"--old-checkpoint", old});
  }
  EXPECT_EQ(export_to("export-tlog", {}).exit_code, 2) << "another format";
}

TEST_F(AuditTest, PartOfALogIsProvenAsPartOfIt) {  // R4, R5
  append_events(700);
  const std::string old = checkpoint("old.checkpoint", {"--to", "400"});
  const std::string older = checkpoint("older.checkpoint", {"--to", "100"});
  for (const std::string format : {"cloudevents", "tlog"}) {
    const std::string directory = "part-" + format;
    const Output output =
        export_to(directory, {"--format", format, "--from", "333", "--to", "650"});
    ASSERT_EQ(output.exit_code, 0) << output.err;
    expect_verified(at(directory), {"--old-checkpoint", old});
    expect_refused(2, "", at(directory), {"--old-checkpoint", older});
    ASSERT_EQ(export_to(directory, {"--format", format}).exit_code, 0);
    expect_verified(at(directory), {"--old-checkpoint", old});
  }
  EXPECT_FALSE(fs::exists(at("part-tlog/tile/0/000")));
  EXPECT_TRUE(fs::exists(at("part-tlog/tile/0/001")));
}

TEST_F(AuditTest, NothingButAnExportIsWrittenInto) {
  fs::create_directories(at("mine"));
  write_text(at("mine/letter"), "dear");
  EXPECT_EQ(export_to("mine").exit_code, 2);
  EXPECT_EQ(std::distance(fs::directory_iterator(at("mine")), {}), 1);
  ASSERT_EQ(export_to("export").exit_code, 0);
  make_key("foreign.key", "example.com/other");
  EXPECT_EQ(export_to("export", {}, "foreign.key").exit_code, 2);
  make_key("same-name.key");
  EXPECT_EQ(export_to("export", {}, "same-name.key").exit_code, 2);
  expect_verified(at("export"));
}

TEST_F(AuditTest, AnotherLogsExportIsNotGoneOnWith) {
  ASSERT_EQ(export_to("export").exit_code, 0);
  const fs::path data = at("other-data");
  {
    test::ServerProcess other(data, {});
    ASSERT_TRUE(other.start());
    EXPECT_EQ(other.stop().exit_code.value_or(-1), 0);
  }
  {
    test::ServerProcess other(data, {});
    ASSERT_TRUE(other.start());
  }
  const Output output = run_process({SIGNALBOX_BINARY, "audit", "export", "-o", at("export"),
                                     "--signing-key", at("audit.key"), "--data", data.string()},
                                    {});
  EXPECT_EQ(output.exit_code, 78) << output.out << output.err;
}

// An export that crashed leaves files, perhaps both notes or one of them, and `incomplete`.
// Whoever has the key and the disk can write the log anew and sign it, but not so that it agrees
// with a checkpoint that somebody has kept.
TEST_F(AuditTest, ALogThatWasWrittenAnewContradictsAKeptCheckpoint) {  // P11, R5
  append_events(4);
  const std::string kept = checkpoint("kept.checkpoint", {"--to", "3"});
  RealServer anew;
  anew.start();
  for (const char* key : {"a", "b", "c"}) {
    ASSERT_EQ(anew.cli({"lock", "acquire", key, "--owner", "o"}).exit_code, 0);
  }
  const Output signed_anew =
      anew.cli({"audit", "export", "-o", at("anew"), "--signing-key", at("audit.key")});
  ASSERT_EQ(signed_anew.exit_code, 0) << signed_anew.err;
  expect_verified(at("anew"));
  expect_refused(1, "", at("anew"), {"--old-checkpoint", kept});
}

TEST_F(AuditTest, AnInterruptedExportIsNoneUntilItIsRunAgain) {
  append_events(600);
  for (const std::string format : {"cloudevents", "tlog"}) {
    const std::string directory = at("export-" + format);
    const std::vector<std::string> options{"--format", format};
    ASSERT_EQ(export_to("export-" + format, {"--format", format, "--to", "300"}).exit_code, 0);
    fs::copy(directory, directory + "-first", fs::copy_options::recursive);
    ASSERT_EQ(export_to("export-" + format, options).exit_code, 0);
    const fs::path last =
        format == "tlog" ? directory + "/tile/0/001" : directory + "/events-000000000301.jsonl";
    const std::string whole = content_of(last);
    write_text(directory + "/incomplete", format + "\n");
    write_text(last, whole.substr(0, whole.size() / 2));
    fs::remove(directory + "/manifest");
    expect_refused(1, "manifest", directory);
    // With the notes of the previous export, that one verifies, although there are further files.
    fs::copy(directory + "-first/manifest", directory + "/manifest");
    fs::copy(directory + "-first/checkpoint", directory + "/checkpoint",
             fs::copy_options::overwrite_existing);
    if (format == "cloudevents") expect_verified(directory);
    const Output again = export_to("export-" + format, options);
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(content_of(last), whole);
    expect_verified(directory);
    // The export is completed from the mark alone, too.
    fs::remove(directory + "/manifest");
    write_text(directory + "/incomplete", format + "\n");
    ASSERT_EQ(export_to("export-" + format, options).exit_code, 0);
    expect_verified(directory);
  }
}

// The marker of an export that goes on looks like that of an interrupted one, whose files the next
// one removes.
TEST_F(AuditTest, OneExportAtATimeWritesIntoADirectory) {  // R4
  ASSERT_EQ(export_to("export").exit_code, 0);
  append_events(10);
  {
    const auto other = DirectoryLock::take_directory(at("export"));
    ASSERT_TRUE(other);
    write_text(at("export/incomplete"), "cloudevents\n");
    write_text(at("export/events-000000000099.jsonl"), "of the other");
    const Output refused = export_to("export", {"--json"});
    EXPECT_EQ(refused.exit_code, 75) << refused.out;
    EXPECT_EQ(code_of(refused), "IN_USE") << refused.out;
    EXPECT_TRUE(fs::exists(at("export/events-000000000099.jsonl")));
  }
  ASSERT_EQ(export_to("export").exit_code, 0);
  expect_verified(at("export"));
}

TEST_F(AuditTest, AKilledExportIsFinishedByTheNext) {  // R4, R5
  append_events(200);
  for (int round = 0; round < 5; ++round) {
    const pid_t pid =
        spawn_process({SIGNALBOX_BINARY, "audit", "export", "-o", at("killed"), "--signing-key",
                       at("audit.key"), "--data", server_.data().string()},
                      at("out"), at("err"));
    // The kill comes at whatever moment the machine happens to choose.
    while (round > 0 && !fs::exists(at("killed")) && ::kill(pid, 0) == 0 &&
           ::waitpid(pid, nullptr, WNOHANG) == 0) {
    }
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    ASSERT_EQ(export_to("killed").exit_code, 0);
    expect_verified(at("killed"));
    append_events(10);
  }
}

TEST_F(AuditTest, ARecordIsProvenWithoutItsPayload) {  // R5
  append_events(300);
  for (const std::string position : {"1", "2", "256", "257", "300"}) {
    const std::string file = at(position + ".tlog-proof");
    const Output made =
        server_.cli({"audit", "prove", position, "--signing-key", at("audit.key"), "-o", file});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_TRUE(content_of(file).starts_with("c2sp.org/tlog-proof@v1\nextra "));
    expect_verified(file);
  }
  EXPECT_EQ(server_.cli({"audit", "prove", "0", "--signing-key", at("audit.key")}).exit_code, 1);
  EXPECT_EQ(server_.cli({"audit", "prove", "99999", "--signing-key", at("audit.key")}).exit_code,
            1);
}

// What is longer isn't read: it is no file of an audit, whatever its first line says.
TEST_F(AuditTest, FilesHaveALimit) {
  const auto verified = [this](const std::vector<std::string>& words) {
    std::vector<std::string> all{"audit", "verify"};
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), {"--key", verifier_key_});
    return server_.cli(std::move(all));
  };
  const std::string proof = at("long.tlog-proof");
  const std::string title(proof_title);
  write_text(proof, title + std::string(proof_bytes_max - title.size(), 'x'));
  EXPECT_EQ(verified({proof}).exit_code, 1) << "it is a proof of nothing";
  write_text(proof, title + std::string(proof_bytes_max + 1 - title.size(), 'x'));
  const Output too_long = verified({proof});
  EXPECT_EQ(too_long.exit_code, 2) << too_long.err;
  EXPECT_NE(too_long.err.find("neither an export's directory"), std::string::npos) << too_long.err;

  ASSERT_EQ(export_to("export").exit_code, 0);
  const std::string old = at("old.checkpoint");
  write_text(old, std::string(checkpoint_bytes_max, 'x'));
  EXPECT_EQ(verified({at("export"), "--old-checkpoint", old}).exit_code, 1) << "nobody signed it";
  write_text(old, std::string(checkpoint_bytes_max + 1, 'x'));
  EXPECT_EQ(verified({at("export"), "--old-checkpoint", old}).exit_code, 2);
}

TEST_F(AuditTest, AKeyThatIsReplacedIsFollowedThroughTheLog) {
  EXPECT_EQ(server_.cli({"audit", "adopt", verifier_key_}).exit_code, 0);
  const auto made =
      result({"audit", "keygen", "-o", at("next.key"), "--name", "example.com/box", "--adopt"});
  const std::string next = text(made, "verifier_key");
  const Output exported = export_to("export", {"--signing-key", at("next.key")});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  // A verifier with the old key accepts the new one, because the old key signed its adoption.
  expect_verified(at("export"));
  EXPECT_NE(verdicts(at("export")).front().text.find("adopted key: " + next), std::string::npos);
  verifier_key_ = next;
  expect_verified(at("export"));
  const auto adopted =
      result({"rpc", "events.read", R"({"types":["AuditKeyAdopted"]})"}).at("events").as_array();
  ASSERT_EQ(adopted.size(), 2U);
  EXPECT_EQ(adopted[1].at("data").at("verifier_key").as_string(), next);
  EXPECT_EQ(adopted[1].at("data").at("previous"), adopted[0].at("data").at("verifier_key"));
}

TEST_F(AuditTest, WhatCantBeToldIsNoTampering) {  // R5
  ASSERT_EQ(export_to("export").exit_code, 0);
  expect_refused(2, "", at("nothing-there"));
  expect_refused(2, "", scratch_.path().string());
  expect_refused(2, "", at("audit.key"));
  expect_refused(2, "", at("export"), {"--key", "nonsense"});
  expect_refused(2, "", at("export"), {"--old-checkpoint", at("nothing-there")});
}

#ifndef SIGNALBOX_SANITIZED  // a sanitizer keeps freed memory
constexpr const char* peak_of_child =
    "import resource, subprocess, sys\n"
    "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n";

TEST_F(AuditTest, TheMemoryOfAnExportDoesNotGrowWithTheLog) {  // R4
  constexpr std::size_t input_bytes = 16'000;
  const auto append_runs = [this](int runs) {
    auto connection = test::Connection::open(server_.socket());
    ASSERT_TRUE(connection);
    const json::object params{{"goal", "g"},
                              {"input", std::string(input_bytes, 'x')},
                              {"pipeline", {{"name", "p"}, {"station", {{{"name", "one"}}}}}}};
    constexpr int at_once = 50;  // these share a sync
    for (int run = 0; run < runs; run += at_once) {
      std::string requests;
      const int end = std::min(runs, run + at_once);
      for (int each = run; each < end; ++each) {
        requests += test::request_line(each, "run.start", params);
      }
      ASSERT_TRUE(connection->send(requests));
      for (int each = run; each < end; ++each) {
        const auto answer = connection->message();
        ASSERT_TRUE(answer && answer->contains("result"));
      }
    }
  };
  // Returns the most memory that an export had, in KiB. What is in the write-ahead log only is read
  // into memory at the opening, up to a bound; a start and a stop write it into tables.
  int exports = 0;
  const auto peak_kib = [this, &exports](const std::string& format) {
    EXPECT_EQ(server_.stop(), 0);
    server_.start();
    EXPECT_EQ(server_.stop(), 0);
    const Output output =
        run_process({SIGNALBOX_PYTHON, "-c", peak_of_child, SIGNALBOX_BINARY, "audit", "export",
                     "--format", format, "-o", at("export" + std::to_string(++exports)),
                     "--signing-key", at("audit.key"), "--data", server_.data().string()});
    server_.start();
    EXPECT_EQ(output.exit_code, 0) << output.err;
    return output.exit_code == 0 ? std::stoll(output.out) : 0;
  };

  const std::vector<std::string> formats{"cloudevents", "tlog"};
  append_runs(20);
  std::vector<long long> small;
  for (const std::string& format : formats) small.push_back(peak_kib(format));
  constexpr int runs = 2'500;
  append_runs(runs);
  for (std::size_t each = 0; each < formats.size(); ++each) {
    const long long grown_kib = peak_kib(formats[each]) - small[each];
    EXPECT_LT(grown_kib, static_cast<long long>(runs * input_bytes / 1024 / 2)) << formats[each];
  }
}
#endif

}  // namespace
}  // namespace signalbox
