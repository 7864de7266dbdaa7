// Tests AgentLogReader, which follows the logs of running jobs: lines, gaps, bounds, ends.
#include "server/executors/agent_log_reader.h"

#include <algorithm>
#include <thread>

#include "server/executors/bounded_log.h"
#include "server/limits.h"
#include "server/text/utf8_text.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

class AgentLogReaderTest : public ::testing::Test {
 protected:
  AgentLogReaderTest() { log_of("job"); }

  BoundedLog& log_of(const std::string& job, const std::string& stream = "stdout") {
    auto& log = logs_[job + stream];
    if (!log) {
      std::filesystem::create_directories(directory_.path() / job);
      log = std::make_unique<BoundedLog>(
          BoundedLog::create(directory_.path() / job / (stream + ".log")).value());
    }
    return *log;
  }
  static FollowedJob job(const std::string& id = "job") { return {id, {}, {}}; }

  // Polls once and returns the excerpts.
  std::vector<LogExcerpt> poll(const std::vector<FollowedJob>& jobs = {job()}) {
    excerpts_.clear();
    reader_.look(jobs);
    return excerpts_;
  }
  std::string text() {
    std::string text;
    for (const LogExcerpt& each : poll()) text += each.text;
    return text;
  }

  TemporaryDirectory directory_;
  std::map<std::string, std::unique_ptr<BoundedLog>> logs_;
  std::vector<LogExcerpt> excerpts_;
  AgentLogReader reader_{directory_.path(), [this](std::vector<LogExcerpt> excerpts) {
                           for (LogExcerpt& each : excerpts) excerpts_.push_back(std::move(each));
                         }};
};

TEST_F(AgentLogReaderTest, LinesAreToldOnceAndWhole) {  // H10
  EXPECT_EQ(text(), "");
  log_of("job").append("one\ntwo\nthr");
  EXPECT_EQ(text(), "one\ntwo\n");
  log_of("job").append("ee\n");
  EXPECT_EQ(text(), "three\n");
  EXPECT_EQ(text(), "");
  log_of("job", "stderr").append("oh\n");
  const auto excerpts = poll();
  ASSERT_EQ(excerpts.size(), 1U);
  EXPECT_EQ(excerpts[0].stream, "stderr");
  EXPECT_EQ(excerpts[0].offset, 0U);
  EXPECT_EQ(excerpts[0].bytes, 3U);
}

TEST_F(AgentLogReaderTest, ALineThatDoesNotEndIsToldWhenItGrowsNoMore) {
  log_of("job").append("Continue? [y/N] \xC3");
  EXPECT_EQ(text(), "");
  EXPECT_EQ(text(), "Continue? [y/N] ") << "without the half of a character";
  log_of("job").append("\xA4");
  EXPECT_EQ(text(), "");
  EXPECT_EQ(text(), "\xC3\xA4");
}

TEST_F(AgentLogReaderTest, OfAFloodTheNewestLinesAreToldWithTheirPlace) {
  log_of("job").append("begin\n");
  EXPECT_EQ(text(), "begin\n");
  std::string flood;
  for (int line = 0; line < 50'000; ++line) flood += "line " + std::to_string(line) + "\n";
  log_of("job").append(flood);
  const auto excerpts = poll();
  ASSERT_EQ(excerpts.size(), 1U);
  EXPECT_LE(excerpts[0].text.size(), limits::agent_log_excerpt_bytes_max);
  EXPECT_TRUE(excerpts[0].text.starts_with("line "));
  EXPECT_TRUE(excerpts[0].text.ends_with("line 49999\n"));
  EXPECT_EQ(excerpts[0].offset + excerpts[0].bytes, 6 + flood.size());
  EXPECT_EQ(excerpts[0].text, ("begin\n" + flood).substr(excerpts[0].offset, excerpts[0].bytes));
}

TEST_F(AgentLogReaderTest, ALogThatIsWrittenOverIsReadOnWhereItStands) {
  const std::size_t kept = log_head_bytes + log_ring_bytes;
  std::string all;
  for (int line = 0; all.size() < 2 * kept; ++line) {
    const std::string text = "line " + std::to_string(line) + "\n";
    log_of("job").append(text);
    all += text;
    if (line % 5000 != 0) continue;
    const auto excerpts = poll();
    ASSERT_EQ(excerpts.size(), 1U) << all.size();
    EXPECT_EQ(excerpts[0].offset + excerpts[0].bytes, all.size());
    EXPECT_EQ(excerpts[0].text, all.substr(excerpts[0].offset, excerpts[0].bytes));
  }
  EXPECT_LE(std::filesystem::file_size(directory_.path() / "job/stdout.log"), kept);
}

TEST_F(AgentLogReaderTest, NothingIsMixedUpWhileAWriterIsFast) {
  std::atomic<bool> stop = false;
  BoundedLog& log = log_of("job");
  std::thread writer([&] {  // blocks of 64 KiB, each of one letter
    for (char letter = 'a'; !stop; letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1)) {
      log.append(std::string(64 * 1024 - 1, letter) + "\n");
    }
  });
  std::size_t excerpts = 0;
  while (excerpts < 300) {
    for (const LogExcerpt& each : poll()) {
      ++excerpts;
      EXPECT_EQ(each.text.find_first_not_of(each.text.substr(0, 1) + "\n"), std::string::npos);
    }
  }
  stop = true;
  writer.join();
}

TEST_F(AgentLogReaderTest, BytesThatAreNoTextAreReplaced) {
  log_of("job").append("a\xFF\xC3(\n");
  EXPECT_EQ(text(), "a\xEF\xBF\xBD\xEF\xBF\xBD(\n");
  log_of("job").append(std::string(1, '\0') + "\n");
  EXPECT_TRUE(is_utf8(text()));
}

TEST_F(AgentLogReaderTest, TheEndTellsWhatIsLeftAndIsTheLastWord) {
  log_of("job").append("one\nrest");
  EXPECT_EQ(text(), "one\n");
  excerpts_.clear();
  reader_.finish(job());
  ASSERT_EQ(excerpts_.size(), 1U);
  EXPECT_EQ(excerpts_[0].text, "rest");
  EXPECT_EQ(text(), "") << "a look that was asked for before";
  reader_.finish(job("short"));
  log_of("short").append("quick\n");
  excerpts_.clear();
  reader_.finish(job("short"));
  EXPECT_EQ(excerpts_.at(0).text, "quick\n") << "one that no look has seen";
}

TEST_F(AgentLogReaderTest, NothingIsReadWhileNobodyFollows) {
  log_of("job").append("one\n");
  reader_.finish(job());
  EXPECT_TRUE(excerpts_.empty());
  EXPECT_EQ(text(), "one\n");
  reader_.rest();
  log_of("other").append("two\n");
  excerpts_.clear();
  reader_.finish(job("other"));
  EXPECT_TRUE(excerpts_.empty());
}

TEST_F(AgentLogReaderTest, WhoComesLaterIsToldWhatTheOthersHadLast) {
  log_of("job").append("one\ntwo\npart");
  EXPECT_EQ(text(), "one\ntwo\n");
  std::string replayed;
  reader_.replay_recent({job(), job("unknown")}, [&](std::vector<LogExcerpt> excerpts) {
    for (const LogExcerpt& each : excerpts) replayed += each.text;
  });
  EXPECT_EQ(replayed, "one\ntwo\n");
  EXPECT_EQ(text(), "part") << "goes on for both";
}

TEST_F(AgentLogReaderTest, ManyFloodsTakeTurns) {
  const std::size_t count =
      2 * limits::agent_log_look_bytes_max / limits::agent_log_excerpt_bytes_max;
  const std::string line = std::string(limits::agent_log_excerpt_bytes_max - 1, 'x') + "\n";
  std::vector<FollowedJob> jobs;
  for (std::size_t number = 0; number < count; ++number) {
    jobs.push_back(job("job-" + std::to_string(number)));
    log_of(jobs.back().job_id).append(line);
  }
  std::set<std::string> seen;
  for (int turn = 0; turn < 2; ++turn) {
    const auto excerpts = poll(jobs);
    EXPECT_EQ(excerpts.size(), count / 2);
    for (const LogExcerpt& each : excerpts) seen.insert(each.job.job_id);
  }
  EXPECT_EQ(seen.size(), count);
}

}  // namespace
}  // namespace signalbox
