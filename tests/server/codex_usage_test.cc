// Tests what a thread of codex has used by its rollout file: the totals in its lines, which may be
// any bytes, and the file, in whose place an agent can put anything.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <cstdlib>

#include <boost/json/parse.hpp>

#include "server/executors/coderunner/codex_rollout.h"
#include "server/executors/coderunner/codex_usage.h"
#include "server/platform/process_table.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* thread = "01a22bb9-70a3-78c0-bdac-5f0af688dc93";
constexpr const char* golden = SIGNALBOX_SOURCE_DIR "/tests/server/transcripts/codex_rollout.jsonl";

std::string usage_object(int input, int cached, int output) {
  return R"({"input_tokens":)" + std::to_string(input) + R"(,"cached_input_tokens":)" +
         std::to_string(cached) + R"(,"output_tokens":)" + std::to_string(output) + "}";
}
std::string token_count(const std::string& info) {
  return R"({"timestamp":"2026-11-30T09:11:43.230Z","type":"event_msg","payload":{"type":"token_count","info":)" +
         info + "}}";
}
std::string total_line(int input, int cached, int output) {
  return token_count(R"({"total_token_usage":)" + usage_object(input, cached, output) + "}");
}
std::string usage_record(const std::string& of_thread, int input, int cached, int output) {
  return R"({"type":"token_usage_record","payload":{"thread_id":")" + of_thread +
         R"(","thread_token_usage":)" + usage_object(input, cached, output) + "}}";
}
std::int64_t tokens_of(const std::optional<TokenCounts>& total) {
  return total ? total->tokens() : -1;
}

TEST(CodexUsage, EachAnswerHasATotalOfTheThread) {  // A5
  std::vector<std::int64_t> totals;
  LineSplitter lines([&totals](std::string_view line) {
    if (const auto total = total_in_rollout_line(line, thread)) totals.push_back(total->tokens());
  });
  lines.add(content_of(golden));
  EXPECT_EQ(totals, (std::vector<std::int64_t>{7355, 7355, 14460, 14460, 16560, 16560}));
  const auto total = total_in_rollout_line(total_line(14400, 7300, 60), thread);
  ASSERT_TRUE(total);
  EXPECT_EQ(*total, (TokenCounts{7100, 60, 0, 7300, 0})) << "cached tokens are part of the input";
  EXPECT_EQ(tokens_of(total_in_rollout_line(usage_record(thread, 10, 0, 1), thread)), 11);
}

TEST(CodexUsage, WhatIsNoTotalOfTheThreadHasNone) {  // A5, A6
  const std::string deep(100'000, '[');
  for (
      const std::string& line :
      {std::string(), std::string("\"token_count\""), std::string("\xff\0\"token_count\"", 15),
       total_line(10, 0, 1).substr(0, 90), total_line(10, 0, 1) + "x", token_count("null"),
       token_count("[]"), token_count(R"({"total_token_usage":7})"),
       token_count(R"({"total_token_usage":{"input_tokens":"10"}})"),
       token_count(R"({"total_token_usage":{"input_tokens":-10,"output_tokens":-1}})"),
       token_count(R"({"last_token_usage":{"input_tokens":10}})"), token_count(deep),
       usage_record("another", 10, 0, 1), "[" + total_line(10, 0, 1) + "]",
       // What a tool has printed is a string.
       R"({"type":"response_item","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":10}}}})" +
           std::string()}) {
    EXPECT_FALSE(total_in_rollout_line(line, thread)) << line.substr(0, 200);
  }
}

TEST(CodexUsage, AFigureIsBounded) {  // A5
  const auto total = total_in_rollout_line(
      token_count(
          R"({"total_token_usage":{"input_tokens":1e300,"cached_input_tokens":99,"output_tokens":18446744073709551615}})"),
      thread);
  ASSERT_TRUE(total);
  EXPECT_EQ(total->input, limits::usage_max - 99);
  EXPECT_EQ(total->output, limits::usage_max);
}

class CodexRolloutFile : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path home() const { return directory_.path() / "codex"; }
  [[nodiscard]] fs::path day(const std::string& date = "2026/11/30") const {
    const fs::path path = home() / "sessions" / date;
    fs::create_directories(path);
    return path;
  }
  [[nodiscard]] static std::string name_of(const std::string& id = thread) {
    return "rollout-2026-11-30T09-11-43-" + id + ".jsonl";
  }
  [[nodiscard]] std::int64_t tokens() const {
    CodexRollout rollout(home(), thread);
    return tokens_of(rollout.total());
  }
  static void append(const fs::path& file, const std::string& text) {
    std::ofstream(file, std::ios::app | std::ios::binary) << text;
  }

  TemporaryDirectory directory_;
};

TEST_F(CodexRolloutFile, IsReadOnFromWhereItWas) {  // A5
  CodexRollout rollout(home(), thread);
  EXPECT_EQ(tokens_of(rollout.total()), -1);
  const fs::path file = day() / name_of();
  append(file, total_line(10, 0, 1) + "\n" + total_line(20, 0, 2).substr(0, 100));
  EXPECT_EQ(tokens_of(rollout.total()), 11) << "the line that is written just now isn't read";
  append(file, total_line(20, 0, 2).substr(100) + "\n\xff{garbage\n");
  EXPECT_EQ(tokens_of(rollout.total()), 22);
  EXPECT_EQ(tokens_of(rollout.total()), 22);
  fs::resize_file(file, 0);
  append(file, total_line(30, 0, 3) + "\n");
  EXPECT_EQ(tokens_of(rollout.total()), 33) << "it was written anew";
}

TEST_F(CodexRolloutFile, IsThatOfTheThreadAlone) {  // A5
  append(day() / name_of("5f0af688dc93"), total_line(10, 0, 1) + "\n");
  append(day() / name_of("another-" + std::string(thread)), total_line(10, 0, 1) + "\n");
  append(day() / ("rollout-" + std::string(thread) + ".jsonl"), total_line(10, 0, 1) + "\n");
  append(day("notes") / name_of(), total_line(10, 0, 1) + "\n");
  EXPECT_EQ(tokens(), -1);
  append(day("2025/01/02") / name_of(), total_line(20, 0, 2) + "\n");
  EXPECT_EQ(tokens(), 22) << "a thread is of the day on which it began";
  EXPECT_EQ(tokens_of(CodexRollout(home(), "5f0af688dc93").total()), 11);
  EXPECT_EQ(tokens_of(CodexRollout(home(), "../../codex").total()), -1);
  EXPECT_EQ(tokens_of(CodexRollout(home(), "").total()), -1);
  EXPECT_EQ(tokens_of(CodexRollout("", thread).total()), -1);
}

TEST_F(CodexRolloutFile, IsNothingThatIsPutInItsPlace) {  // P11, A5
  const fs::path real = directory_.path() / "elsewhere" / name_of();
  fs::create_directories(real.parent_path());
  append(real, total_line(10, 0, 1) + "\n");
  const fs::path place = day() / name_of();
  fs::create_symlink(real, place);
  EXPECT_EQ(tokens(), -1) << "a link";
  fs::remove(place);
  ASSERT_EQ(::mkfifo(place.c_str(), 0600), 0);
  EXPECT_EQ(tokens(), -1) << "a FIFO, which nobody writes";
  fs::remove(place);
  fs::create_directory(place);
  EXPECT_EQ(tokens(), -1) << "a directory";
  fs::remove_all(home() / "sessions" / "2026");
  fs::create_directories(home() / "sessions" / "2026" / "11");
  fs::create_directory_symlink(real.parent_path(), home() / "sessions" / "2026" / "11" / "30");
  EXPECT_EQ(tokens(), -1) << "a link to a directory";
  append(day("2026/12/01") / name_of(), total_line(10, 0, 1) + "\n");
  EXPECT_EQ(tokens(), 11);
}

TEST_F(CodexRolloutFile, OfALongOneTheEndIsRead) {  // P11, A5
  const fs::path file = day() / name_of();
  append(file, total_line(10, 0, 1) + "\n");
  fs::resize_file(file, codex_rollout_read_bytes_max + 500);  // with a hole
  EXPECT_EQ(tokens(), -1);
  append(file, "\n" + total_line(20, 0, 2) + "\n");
  EXPECT_EQ(tokens(), 22);
  CodexRollout rollout(home(), thread);
  EXPECT_EQ(tokens_of(rollout.total()), 22);
  fs::resize_file(file, 3 * codex_rollout_read_bytes_max);
  append(file, "\n" + total_line(30, 0, 3) + "\n");
  EXPECT_EQ(tokens_of(rollout.total()), 33);
}

TEST_F(CodexRolloutFile, IsntLookedForAgainAndAgain) {  // P11
  CodexRollout rollout(home(), thread);
  for (int search = 0; search < codex_rollout_searches_max; ++search) {
    EXPECT_EQ(tokens_of(rollout.total()), -1);
  }
  append(day() / name_of(), total_line(10, 0, 1) + "\n");
  EXPECT_EQ(tokens_of(rollout.total()), -1);
}

// The station with an agent that writes such a file, as codex does.
class CodexStation : public ::testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("CODEX_HOME");
    site.extra_environment = {"CODEX_HOME=" + (site.root() / "codex").string()};
  }
  // Has the next jobs be of a new run, which finds nothing of an earlier one's thread.
  void begin_run() {
    run_ = site.job("implement");
    fs::remove_all(site.root() / "codex");
  }
  // Returns the job of an attempt, whose agent begins a turn of the thread and runs the script.
  Job codex_job(const std::string& script, std::uint32_t attempt = 1) {
    const fs::path file = site.root() / ("agent-" + std::to_string(attempt));
    write_text(file, "#!/bin/sh\necho '{\"type\":\"thread.started\",\"thread_id\":\"" +
                         std::string(thread) + "\"}'\necho '{\"type\":\"turn.started\"}'\n" +
                         script + "\n");
    fs::permissions(file, fs::perms::owner_all);
    if (run_.id.empty()) run_ = site.job("implement");
    Job job = run_;
    job.attempt = attempt;
    job.id = to_string(job.run_id) + "-implement-" + std::to_string(attempt);
    job.definition.executor = ExecutorKind::coderunner;
    job.definition.coderunner = {Agent::codex, CoderunnerMode::process, "", ""};
    job.definition.command = {file.string()};
    job.definition.cancel_grace_ms = 300;
    if (attempt > 1) job.resume_ref = "codex:" + std::string(thread);
    return job;
  }
  // Returns the script's lines that add a line to the thread's file.
  static std::string add(const std::string& line) {
    const std::string day = "\"$CODEX_HOME/sessions/2026/11/30\"";
    return "mkdir -p " + day + "\ncat >>" + day + "/rollout-2026-11-30T09-11-43-" + thread +
           ".jsonl <<'LINE'\n" + line + "\nLINE\n";
  }
  JobResult end_of(const Job& job) { return run_to_end(*site.executor(), job); }
  static boost::json::object metadata(const JobResult& result) {
    return boost::json::parse(result.result.metadata).as_object();
  }

  ExecutorSite site;

 private:
  Job run_;
};

const std::string item = R"(echo '{"type":"item.completed","item":{"type":"reasoning"}}')";

TEST_F(CodexStation, WhatATurnUsedThatWasEndedIsInItsThreadsFile) {  // A5
  JobResult result;
  end_far_enough(1500, [&](std::int64_t timeout_ms) {
    begin_run();
    Job job = codex_job(add(total_line(7300, 300, 55)) +
                        "touch \"$SIGNALBOX_RUN_ROOT/far\"\nexec sleep 300");
    job.definition.timeout_ms = timeout_ms;
    job.definition.cancel_grace_ms = 60'000;  // the agent ends at once, and then it is read
    result = end_of(job);
    return fs::exists(fs::path(job.run_root) / "far");
  });
  EXPECT_EQ(result.outcome, Outcome::timeout);
  EXPECT_EQ(result.usage, (Usage{0, 7355, 1}));
  EXPECT_EQ(metadata(result).at("usage_estimated"), true) << "a request may have been under way";
}

TEST_F(CodexStation, WhatIsKnownOfAKilledJobIsInItsThreadsFile) {  // A5
  const Job job = codex_job(add(total_line(7300, 300, 55)) + item + "\nexec sleep 60");
  ASSERT_TRUE(site.executor()->submit(job).has_value());
  const auto used = [&] {
    JobResult result;
    site.executor()->describe_lost(job, result);
    return result;
  };
  // Both of the agent's files: its item follows the line in its thread's.
  ASSERT_TRUE(eventually([&] { return used().usage == Usage{0, 7355, 1}; }));
  for (const ProcessIdentity& process :
       processes_with_environment("SIGNALBOX_SPAN_ID=" + to_string(job.span_id))) {
    send_signal(process, SIGKILL);
  }
  ASSERT_TRUE(eventually([&] { return site.executor()->poll(job).value() == JobState::lost; }));
  EXPECT_TRUE(site.executor()->clean_up_lost(job)->empty());
  EXPECT_EQ(used().usage, (Usage{0, 7355, 1}));
  EXPECT_EQ(metadata(used()).at("usage_estimated"), true);
  // Of the thread's next total, this is counted already.
  const JobResult next = end_of(codex_job(add(total_line(14400, 7300, 60)) + "exit 1", 2));
  EXPECT_EQ(next.usage, (Usage{0, 14460 - 7355, 1}));
}

TEST_F(CodexStation, OfAResumedThreadOnlyWhatItsAttemptUsedIsCounted) {  // A5
  const std::string failed = R"(echo '{"type":"turn.failed","error":{"message":"x"}}'; exit 1)";
  const JobResult first = end_of(codex_job(add(total_line(7300, 300, 55)) + failed));
  EXPECT_EQ(first.usage, (Usage{0, 7355, 1}));
  EXPECT_FALSE(metadata(first).contains("usage_estimated")) << "its turn has ended";
  const JobResult nothing = end_of(codex_job("exit 1", 2));
  EXPECT_EQ(nothing.usage, (Usage{0, 0, 1})) << "the file has what the first one used";
  const JobResult third = end_of(codex_job(add(total_line(14400, 7300, 60)) + failed, 3));
  EXPECT_EQ(third.usage, (Usage{0, 14460 - 7355, 1}));
  const JobResult last = end_of(codex_job(
      "echo '{\"type\":\"turn.completed\",\"usage\":" + usage_object(16400, 7300, 160) + "}'", 4));
  EXPECT_EQ(last.outcome, Outcome::succeeded) << last.failure.message;
  EXPECT_EQ(last.usage, (Usage{0, 16560 - 14460, 1}));
  EXPECT_FALSE(metadata(last).contains("usage_estimated"));
}

// codex ends the turn before the figures have reached what prints them.
TEST_F(CodexStation, ATotalOfZeroIsNone) {  // A5
  const std::string ended =
      "echo '{\"type\":\"turn.completed\",\"usage\":" + usage_object(0, 0, 0) + "}'";
  const JobResult known = end_of(codex_job(add(total_line(7300, 300, 55)) + ended));
  EXPECT_EQ(known.outcome, Outcome::succeeded) << known.failure.message;
  EXPECT_EQ(known.usage, (Usage{0, 7355, 1}));
  EXPECT_FALSE(metadata(known).contains("usage_estimated"));
  begin_run();
  const JobResult unknown = end_of(codex_job(ended));
  EXPECT_EQ(unknown.usage, (Usage{0, 0, 1}));
  EXPECT_EQ(metadata(unknown).at("usage_estimated"), true);
}

// codex prints the threads that an agent begins, but not what they use.
TEST_F(CodexStation, WhatItsSubagentsUseIsntKnown) {  // A5
  const auto estimated = [&](const std::string& receivers) {
    begin_run();
    const JobResult result = end_of(codex_job(
        R"(echo '{"type":"item.completed","item":{"id":"i","type":"collab_tool_call","tool":"spawn_agent","receiver_thread_ids":)" +
        receivers + R"(}}'; echo '{"type":"turn.completed","usage":)" + usage_object(10, 0, 1) +
        "}'"));
    EXPECT_EQ(result.usage, (Usage{0, 11, 1}));
    return metadata(result).contains("usage_estimated");
  };
  EXPECT_TRUE(estimated(R"(["5f0af688dc93"])"));
  EXPECT_FALSE(estimated("[]")) << "none was begun";
}

// It drops events if their reader is slow, and writes its last message into a file as well.
TEST_F(CodexStation, ItsLastMessageIsThatOfItsFile) {  // A6
  const auto answer = [&](const std::string& write) {
    begin_run();
    const Job own = codex_job(
        R"(echo '{"type":"item.completed","item":{"type":"agent_message","text":"I look."}}')"
        "\n[ \"$6\" = --output-last-message ] || exit 9\n" +
        write + "\necho '{\"type\":\"turn.completed\",\"usage\":" + usage_object(10, 0, 1) + "}'");
    // Without a command of its own, the station runs the codex of its path.
    fs::create_directories(site.root() / "bin");
    fs::rename(own.definition.command.front(), site.root() / "bin" / "codex");
    site.path = (site.root() / "bin").string() + ":/usr/bin:/bin";
    Job job = own;
    job.definition.command.clear();
    const JobResult result = end_of(job);
    return result.outcome == Outcome::succeeded ? std::string(result.result.summary)
                                                : std::string(result.failure.code);
  };
  EXPECT_EQ(answer("printf 'It adds\\000.' > \"$7\""), "It adds.");
  EXPECT_EQ(answer(": > \"$7\""), "I look.");
  EXPECT_EQ(answer("ln -s /etc/passwd \"$7\""), "I look.");
  EXPECT_EQ(answer("mkfifo \"$7\""), "I look.");
}

TEST_F(CodexStation, AFileThatCantBeReadLeavesAnEstimate) {  // A5, P11
  const JobResult result =
      end_of(codex_job("d=\"$CODEX_HOME/sessions/2026/11/30\"; mkdir -p \"$d\"\nmkfifo "
                       "\"$d/rollout-2026-11-30T09-11-43-" +
                       std::string(thread) + ".jsonl\"\n" + item + "\nexit 1"));
  EXPECT_EQ(result.usage, (Usage{0, 0, 1}));
  EXPECT_EQ(metadata(result).at("usage_estimated"), true);
}

}  // namespace
}  // namespace signalbox
