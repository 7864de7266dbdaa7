// `signalbox run logs`: the whole output of a job, by parts, while it runs and after it.
#include "tests/scenarios/lock_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class LogsTest : public CliTest {
 protected:
  // Starts a run whose job prints, and then waits for the file `go`. Returns its id.
  std::string start_printing(const std::string& printing) const {
    const std::string place = scratch_.path().string();
    return start_run_of(
        "name = \"printing\"\n[[station]]\nname = \"print\"\nexecutor = \"process\"\n"
        "cancel_grace = \"100ms\"\ncommand = [\"sh\", \"-c\", '''" +
            printing + "; while [ -d \"" + place + "\" ] && [ ! -e \"" + place +
            "/go\" ]; do sleep 0.02; done; echo the end''']\n",
        "print");
  }
  void TearDown() override { let_go(); }
  void let_go() const { std::ofstream(scratch_.path() / "go").put('\n'); }
  [[nodiscard]] std::string printed(const std::string& run_id) const {
    return server_.cli({"run", "logs", run_id}).out;
  }
};

TEST_F(LogsTest, TheOutputIsReadWhileTheJobRunsAndAfterIt) {  // O2
  const std::string run_id = start_printing("echo first; echo second; echo oops >&2");
  await([&] { return printed(run_id) == "first\nsecond\n"; });
  await([&] { return server_.cli({"run", "logs", run_id, "--stderr"}).out == "oops\n"; });
  const json::object part = rpc("run.log", {{"run_id", run_id}, {"offset", 6}, {"bytes", 3}});
  EXPECT_EQ(part.at("text"), "sec");
  EXPECT_EQ(part.at("next_offset"), 9);
  EXPECT_EQ(part.at("running"), true);

  const BackgroundCommand following(
      {SIGNALBOX_BINARY, "run", "logs", run_id, "--follow", "--data", server_.data().string()},
      scratch_.path() / "follow");
  EXPECT_TRUE(eventually([&] { return following.out() == "first\nsecond\n"; })) << following.err();
  let_go();
  EXPECT_TRUE(eventually([&] { return following.out() == "first\nsecond\nthe end\n"; }))
      << following.out() << following.err();
  await_status(run_id, "succeeded");
  EXPECT_EQ(printed(run_id), "first\nsecond\nthe end\n");
  EXPECT_EQ(server_.cli({"run", "logs", run_id, "--grep", "^s"}).out, "second\n");
}

// Most programs that fail say why on standard error.
TEST_F(LogsTest, AnEmptyStreamNamesTheOther) {  // O2, O6
  const std::string run_id = start_run_of(
      "name = \"p\"\n[[station]]\nname = \"a\"\nexecutor = \"process\"\n"
      "command = [\"sh\", \"-c\", \"echo oops >&2; exit 3\"]\n",
      "g");
  await_status(run_id, "failed");
  const Output empty = server_.cli({"run", "logs", "last"});
  EXPECT_EQ(empty.exit_code, 0);
  EXPECT_EQ(empty.out, "");
  const std::string next = "signalbox run logs " + run_id + " --station a --attempt 1 --stderr";
  EXPECT_EQ(empty.err,
            "nothing on standard output; 5 bytes on standard error\n  try: " + next + "\n");
  EXPECT_EQ(server_.paste(next).out, "oops\n");
  EXPECT_EQ(server_.paste(next).err, "");
  const std::string silent = start_run_of(
      "name = \"p\"\n[[station]]\nname = \"a\"\nexecutor = \"process\"\n"
      "command = [\"true\"]\n",
      "g");
  await_status(silent, "succeeded");
  EXPECT_EQ(server_.cli({"run", "logs", silent}).err, "the job has printed nothing\n");
}

// What failed is in the job's output, so that pages of a failed run lead there.
TEST_F(LogsTest, AFailedRunLeadsToTheLogOfItsJob) {  // O2
  const std::string run = start_run_of(
      "name = \"p\"\n[[station]]\nname = \"a\"\nexecutor = \"process\"\n"
      "command = [\"sh\", \"-c\", \"echo oops; exit 3\"]\nretry = { max_retries = 0 }\n",
      "g");
  await_status(run, "failed");
  const std::string logs = "signalbox run logs " + run + " --station a";
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run", "why", run},
                                                {"run", "get", run},
                                                {"run", "watch", run},
                                                {"inbox"}}) {
    const Output shown = server_.cli(words);
    EXPECT_NE(shown.out.find(logs + "\n"), std::string::npos) << shown.out;
  }
  EXPECT_EQ(paste(logs).out, "oops\n");
  const std::string outside = start_run("g");
  EXPECT_EQ(complete(outside, "plan", claim(outside), "failed").exit_code, 0);
  EXPECT_EQ(server_.cli({"run", "why", outside}).out.find("run logs"), std::string::npos);
}

// Neither is of the log, and the present isn't passed off as the past.
TEST_F(LogsTest, OutputAndChangesOfThePastAreRefused) {  // O4
  const std::string run_id = start_printing("echo first");
  await([&] { return printed(run_id) == "first\n"; });
  for (const char* command : {"logs", "diff"}) {
    const Output local = server_.cli({"run", command, run_id, "--at", "1h", "--json"});
    EXPECT_EQ(code_of(local), "NOT_ALLOWED") << local.out;
    EXPECT_EQ(local.exit_code, 77);
    const Output served = server_.cli(
        {"run", command, run_id, "--at", "1h", "--json", "--socket", server_.socket().string()});
    EXPECT_EQ(code_of(served), "NOT_ALLOWED") << served.out;
  }
  EXPECT_EQ(server_.cli({"run", "logs", run_id, "--at", "1h"}).out, "");
}

// More than is kept in one answer.
TEST_F(LogsTest, ALongOutputIsReadInParts) {  // O2
  const std::string run_id = start_printing("seq 1 60000");
  let_go();
  await_status(run_id, "succeeded");
  const std::string all = printed(run_id);
  EXPECT_TRUE(all.starts_with("1\n2\n3\n")) << all.substr(0, 100);
  EXPECT_TRUE(all.ends_with("59999\n60000\nthe end\n")) << all.substr(all.size() - 100);
  EXPECT_NE(all.find("\n30000\n"), std::string::npos);
}

// What is kept of the beginning ends within one.
TEST_F(LogsTest, ACharacterInTheMiddleOfALongOutputIsWhole) {  // O2
  const std::string run_id =
      start_printing("printf x; yes '\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e' | head -c 700000");
  let_go();
  await_status(run_id, "succeeded");
  const std::string all = printed(run_id);
  EXPECT_EQ(all.size(), 700'001U + sizeof "the end\n" - 1);
  EXPECT_EQ(all.find("\xef\xbf\xbd"), std::string::npos);
}

// A program gets what a person gets, and is told what isn't there any more.
TEST_F(LogsTest, OneObjectHasAllThatIsKept) {  // O2, O6
  const std::string run_id = start_printing("seq 1 300000");
  let_go();
  await_status(run_id, "succeeded");
  const json::object whole = result({"run", "logs", run_id});
  EXPECT_TRUE(text(whole, "text") == printed(run_id)) << "too long to be shown";
  EXPECT_EQ(whole.at("next_offset"), whole.at("end"));
  EXPECT_EQ(whole.at("bytes").to_number<std::size_t>(), text(whole, "text").size());
  const json::array& not_kept = whole.at("not_kept").as_array();
  ASSERT_EQ(not_kept.size(), 1U);
  EXPECT_EQ(not_kept.front().at("offset").to_number<std::size_t>(), 512U * 1024U);
  EXPECT_EQ(not_kept.front().at("bytes").to_number<std::size_t>() + text(whole, "text").size(),
            whole.at("end").to_number<std::size_t>());
}

TEST_F(LogsTest, WhatGoesWithoutOneObjectIsSaid) {  // O6
  const std::string run_id = start_printing("echo first; echo second");
  let_go();
  await_status(run_id, "succeeded");
  const std::vector<std::vector<std::string>> refused = {{"--follow"}, {"--grep", "s e|^s"}};
  for (const std::vector<std::string>& options : refused) {
    std::vector<std::string> words{"run", "logs", run_id, "--json"};
    words.insert(words.end(), options.begin(), options.end());
    const json::object error = one_object(server_.cli(words)).at("error").as_object();
    EXPECT_NE(text(error, "message").find("--follow and --grep go without --json"),
              std::string::npos)
        << json::serialize(error);
    const json::array next = error.at("data").at("next_commands").as_array();
    ASSERT_EQ(next.size(), 1U);
    const Output pasted = paste(std::string(next.front().as_string()));
    EXPECT_EQ(pasted.exit_code, 0) << pasted.err;
    EXPECT_TRUE(pasted.out.ends_with(options.size() == 1 ? "second\nthe end\n" : "second\n"))
        << pasted.out;
  }
}

// The line before the part that isn't kept and the one after it are two lines.
TEST_F(LogsTest, ASearchFindsNothingAcrossWhatIsntKept) {  // O2
  const std::string run_id = start_printing(
      "printf start; head -c 600000 /dev/zero | tr '\\0' a; "
      "head -c 2000000 /dev/zero | tr '\\0' b; echo");
  let_go();
  await_status(run_id, "succeeded");
  const Output across = server_.cli({"run", "logs", run_id, "--grep", "ab"});
  EXPECT_NE(across.err.find("bytes aren't kept"), std::string::npos) << across.err;
  EXPECT_EQ(across.out, "");
  const std::string before = server_.cli({"run", "logs", run_id, "--grep", "^start"}).out;
  EXPECT_TRUE(before.starts_with("startaaa") && before.ends_with("aaa\n"));
}

TEST_F(LogsTest, ACharacterIsntShownBeforeItsEndIsPrinted) {  // O2
  const std::string run_id = start_printing("printf 'a\\342\\202'");
  await([&] { return printed(run_id) == "a"; });
  json::object rest;
  await([&] {
    rest = rpc("run.log", {{"run_id", run_id}, {"offset", 1}});
    return rest.at("end") == 3;
  });
  EXPECT_EQ(rest.at("running"), true);
  EXPECT_EQ(rest.at("bytes"), 0);
  EXPECT_EQ(rest.at("text"), "");
  EXPECT_EQ(rest.at("next_offset"), 1);
}

// A search that goes back and forth, or into itself, would take all time or all of the stack.
TEST_F(LogsTest, AnyPatternIsSearchedForInAnyLine) {  // O2
  const std::string run_id =
      start_printing("head -c 400000 /dev/zero | tr '\\0' a; echo; echo last");
  let_go();
  await_status(run_id, "succeeded");
  const auto grep = [&](const std::string& pattern) {
    return server_.cli({"run", "logs", run_id, "--grep", pattern});
  };
  EXPECT_EQ(grep("(a|b)*c|^last$").out, "last\n");
  EXPECT_EQ(grep("^((a+)+)+$").out.size(), 400'001U);
  EXPECT_EQ(grep("((a*)*)*x").out, "");
  for (const char* wrong : {"(", "(a)\\1", "a{1000}{1000}"}) {
    EXPECT_EQ(grep(wrong).exit_code, 2) << wrong;
  }
}

TEST_F(LogsTest, AnAttemptWithoutAJobHasNoOutput) {  // O2
  const std::string run_id = start_run("of a worker");
  EXPECT_EQ(code_of(server_.cli({"run", "logs", run_id, "--json"})), "ARTIFACT_NOT_FOUND");
}

}  // namespace
}  // namespace signalbox
