// `audit retain` drops nothing that isn't in a good archive, which lies elsewhere. With the real
// binary.
#include "tests/scenarios/retention_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// An archive below the data directory would be lost with it, or be deleted by the same command.
TEST_F(RetentionTest, TheArchiveIsElsewhere) {
  ended_run("a run");
  server_.stop();
  for (const std::string& place :
       {server_.data().string(), (server_.data() / "projections" / "read_models").string(),
        (server_.data() / "x" / ".." / "archive").string(), std::string(), std::string("\xff")}) {
    const Output refused = server_.cli({"audit", "retain", "--older-than", "0s", "--archive", place,
                                        "--signing-key", at("audit.key"), "--json"});
    EXPECT_EQ(refused.exit_code, 2) << place << refused.out;
  }
  EXPECT_EQ(number(replayed(), "folded_after"), 0);
}

// If the archive can't be written, or isn't what it should be, nothing is dropped.
TEST_F(RetentionTest, DropsNothingWithoutAGoodArchive) {
  ended_run("a run");
  append_events(100);
  server_.stop();
  const json::object before = replayed();
  const std::string archive = text(retained({"--dry-run"}), "archive");
  const auto untouched = [&] {
    EXPECT_EQ(replayed().at("position"), before.at("position"));
    EXPECT_EQ(replayed().at("state_digest"), before.at("state_digest"));
    EXPECT_EQ(server_.cli({"run", "list", "--at", "3"}).exit_code, 0);
  };

  write_text(at("archive"), "a file where the directory should be");
  EXPECT_NE(retain().exit_code, 0);
  untouched();
  fs::remove(at("archive"));

  // One of the same name, which an attempt left before the drop, and which was changed.
  ASSERT_EQ(export_to("archive/" + fs::path(archive).filename().string()).exit_code, 0);
  const std::string lines = archive + "/events-000000000001.jsonl";
  const std::string whole = content_of(lines);
  std::string changed = whole;
  changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
  write_text(lines, changed);
  EXPECT_TRUE(retained().at("dropped").as_bool());
  EXPECT_EQ(content_of(lines), whole) << "it is written anew";
}

// It has records that were redacted since, and would make the chain of archives look tampered with.
TEST_F(RetentionTest, WhatAKilledAttemptLeftIsGoneAfterTheNext) {  // G17
  const std::string secret = "hunter2-0123456789-secret";
  result({"run", "cancel", start_run("deploy with " + secret)});
  server_.stop();
  fs::create_directories(at("archive/1-2"));
  write_text(at("archive/1-2/incomplete.tmp"), "");
  ASSERT_EQ(export_to("archive/1-3", {"--to", "3"}).exit_code, 0);
  const std::string archive = text(retained({"--dry-run"}), "archive");
  ASSERT_EQ(export_to("archive/" + fs::path(archive).filename().string()).exit_code, 0);
  // An archive of a history that went on otherwise, as after a restored backup, stays.
  fs::copy(server_.data(), at("fork"), fs::copy_options::recursive);
  const auto redact = [this, &secret](const std::string& data) {
    const std::string search = "grep -l " + secret + " '" + at("archive/1-3") + "'/*.jsonl";
    EXPECT_FALSE(run_process({"sh", "-c", search}).out.empty());
    const Output done = run_process(
        {SIGNALBOX_BINARY, "--data", data, "audit", "redact", "3", "--reason", "leaked", "--json"});
    EXPECT_EQ(done.exit_code, 0) << done.out << done.err;
  };
  redact(at("fork"));
  const Output forked = run_process({SIGNALBOX_BINARY, "--data", at("fork"), "audit", "export",
                                     "-o", at("archive/1-8"), "--signing-key", at("audit.key")});
  ASSERT_EQ(forked.exit_code, 0) << forked.err;

  server_.start();
  ended_run("another run");
  server_.stop();
  redact(server_.data().string());
  const std::string next = text(retained(), "archive");
  EXPECT_NE(next, archive);
  EXPECT_FALSE(fs::exists(at("archive/1-2")));
  EXPECT_FALSE(fs::exists(at("archive/1-3")));
  EXPECT_FALSE(fs::exists(archive));
  EXPECT_TRUE(fs::exists(at("archive/1-8")));
  EXPECT_TRUE(
      run_process({"sh", "-c", "grep -rl " + secret + " '" + at("archive") + "'"}).out.empty());
}

// Night after night, as an auditor checks them.
TEST_F(RetentionTest, ManyArchivesAreVerifiedAsOneChain) {  // G17
  std::vector<std::string> archives;
  for (int night = 0; night < 3; ++night) {
    if (night > 0) server_.start();
    ended_run("a run");
    server_.stop();
    archives.push_back(text(retained(), "archive"));
  }
  const auto verify = [&](std::vector<std::string> paths) {
    paths.insert(paths.begin(), {"audit", "verify"});
    paths.insert(paths.end(), {"--key", verifier_key_});
    return server_.cli(paths);
  };
  const Output verified = verify({archives[2], archives[0], archives[1]});
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_EQ(std::count(verified.out.begin(), verified.out.end(), '\n'), 6)
      << "three archives, what two of them continue, and a key: " << verified.out;
  const Output incomplete = verify({archives[0], archives[2]});
  EXPECT_EQ(incomplete.exit_code, 1);
  EXPECT_NE(incomplete.err.find("are in none of these"), std::string::npos) << incomplete.err;
  fs::remove_all(archives[1]);
  fs::copy(archives[0], archives[1]);
  EXPECT_EQ(verify(archives).exit_code, 1) << "another one was put in its place";
}

// Returns the first file of the directory with this extension.
fs::path file_of(const fs::path& directory, const std::string& extension) {
  for (const auto& file : fs::directory_iterator(directory)) {
    if (file.path().extension() == extension) return file.path();
  }
  return {};
}

TEST_F(RetentionTest, WhatIsErasedFromAnArchiveIsSearchedForElsewhere) {  // G17
  const std::string secret = "hunter2-0123456789-secret";
  const std::string run = start_run("deploy with " + secret);
  result({"run", "cancel", run, "--reason", secret + " leaked"});
  const json::object params{{"types", json::array{"RunStarted"}}, {"run_id", run}};
  const std::string started = std::to_string(
      number(result({"rpc", "events.read", json::serialize(params)}).at("events").at(0).as_object(),
             "position"));
  server_.stop();
  const std::string archive = text(retained(), "archive");
  write_text((server_.data() / "notes.txt").string(), secret);
  const std::vector<std::string> redact{"audit", "redact",        started,        "--archive",
                                        archive, "--signing-key", at("audit.key")};
  std::vector<std::string> with_reason = redact;
  with_reason.insert(with_reason.end(), {"--reason", "leaked"});
  EXPECT_EQ(server_.cli(with_reason).exit_code, 2) << "nothing keeps it";
  // What somebody has changed isn't signed along with it.
  const fs::path digests = file_of(archive, ".digests");
  const std::string signed_digests = content_of(digests);
  std::string changed = signed_digests;
  changed.back() = static_cast<char>(changed.back() ^ 1);
  write_text(digests, changed);
  const Output refused = server_.cli(redact);
  EXPECT_EQ(refused.exit_code, 1) << refused.out;
  EXPECT_NE(refused.err.find("it isn't what the manifest was signed for"), std::string::npos)
      << refused.err;
  EXPECT_TRUE(content_of(digests) == changed);
  write_text(digests, signed_digests);
  const Output done = server_.cli(redact);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_NE(done.out.find("notes.txt"), std::string::npos) << done.out;
  // The reason of the cancel is in the same archive; the command that is printed erases it there.
  const std::size_t hint = done.out.find("try: signalbox audit redact ");
  ASSERT_NE(hint, std::string::npos) << done.out;
  const std::string command = done.out.substr(hint + 5, done.out.find('\n', hint) - hint - 5);
  const Output next = run_process({"sh", "-c",
                                   "signalbox() { " SIGNALBOX_BINARY " \"$@\"; }; " + command +
                                       " --data '" + server_.data().string() + "'"});
  EXPECT_EQ(next.exit_code, 0) << next.err;
  const std::string left = run_process({"sh", "-c", "cat '" + archive + "'/*.jsonl"}).out;
  EXPECT_EQ(left.find(secret), std::string::npos);
  EXPECT_NE(next.out.find("service's own log"), std::string::npos) << next.out;
}

}  // namespace
}  // namespace signalbox
