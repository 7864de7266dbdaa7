// A redaction in steps, beside others that append and read.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "store/redaction.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/store/log_directory.h"
#include "tests/store/redacted_log.h"

namespace signalbox::test {
namespace {

// K7: in steps, with appends between them, and a walk that began before.
TEST(RedactionInSteps, GoesOnBesideAppendsAndWalks) {
  TemporaryDirectory data;
  auto log = open_log(data.path(), {.buffer_bytes = 4096});
  append_secret(*log);
  append_commits(*log, 40);
  const auto staged = log->stage_redaction(
      secret_position, redaction_of_secret(0, secret_position).replacement, Salt{});
  ASSERT_TRUE(staged) << staged.error().message;
  append_commits(*log, 1);

  Record note = redaction_of_secret(log->tail(), secret_position).note;
  set_digests(note, staged->redacted);
  std::string read;
  const auto walked = log->scan(1, 10, [&](Record&& record) {
    if (record.position == 1) {
      std::thread([&] {
        const auto redacted = log->commit_redaction(log->tail(), {note}, *staged);
        ASSERT_TRUE(redacted) << redacted.error().message;
        EXPECT_EQ(redacted->status, AppendStatus::ok);
      }).join();
    }
    if (record.position == secret_position) read = event_as<RunCanceled>(record.event)->reason;
    return true;
  });
  ASSERT_TRUE(walked) << walked.error().message;
  EXPECT_EQ(read, secret_text);
  EXPECT_TRUE(log->read(secret_position, 1)->front().redacted);
  // The event was published with the digests that the log has.
  EXPECT_EQ(log->read(note.position, 1)->front(), note);
  EXPECT_NE(files_with_secret(data.path()), "");

  const auto erasure = log->plan_erasure();
  ASSERT_TRUE(erasure) << erasure.error().message;
  append_commits(*log, 1);
  ASSERT_TRUE(log->begin_erasure());
  append_commits(*log, 1);
  const auto purged = log->purge_replaced(*erasure);
  ASSERT_TRUE(purged) << purged.error().message;
  EXPECT_EQ(files_with_secret(data.path()), "");
  append_commits(*log, 1);
  ASSERT_TRUE(log->note_erased(*erasure));
  EXPECT_TRUE(log->plan_erasure()->keys.empty());
  append_commits(*log, 1);
  const Position tail = log->tail();
  ASSERT_TRUE(log->close());
  log = open_log(data.path());
  EXPECT_EQ(log->tail(), tail);
  EXPECT_TRUE(log->verify(tail));
}

// K7: a thread appends all the time, so that tables are written and compacted meanwhile.
TEST(RedactionInSteps, LeavesNoByteWhileOthersAppend) {
  TemporaryDirectory data;
  auto log = open_log(data.path(), {.buffer_bytes = 4096});
  std::mutex appending;  // whoever has it is the appending thread
  std::atomic<bool> wanted = false;
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) {
      if (wanted) std::this_thread::yield();
      if (wanted) continue;
      const std::lock_guard lock(appending);
      append_commits(*log, 1);
    }
  });
  const auto on_appending_thread = [&](const std::function<void()>& step) {
    wanted = true;
    const std::lock_guard lock(appending);
    step();
    wanted = false;
  };
  for (int round = 0; round < 5; ++round) {
    Position position = 0;
    on_appending_thread([&] {
      append_secret(*log);
      position = log->tail() - 1;
    });
    while (log->tail() < position + 100) std::this_thread::yield();
    on_appending_thread([&] { EXPECT_EQ(redact_secret(*log, position).status, AppendStatus::ok); });
    const auto erasure = log->plan_erasure();
    EXPECT_TRUE(erasure && !erasure->keys.empty());
    if (!erasure) break;
    on_appending_thread([&] { EXPECT_TRUE(log->begin_erasure()); });
    const auto purged = log->purge_replaced(*erasure);
    EXPECT_TRUE(purged) << purged.error().message;
    on_appending_thread([&] { EXPECT_TRUE(log->note_erased(*erasure)); });
  }
  done = true;
  other.join();
  ASSERT_TRUE(log->close());  // no file vanishes while all are read
  EXPECT_EQ(files_with_secret(data.path()), "");
  log = open_log(data.path());
  EXPECT_TRUE(log->verify(log->tail()));
}

// An erasure that didn't come to its end is done by the next one: what is marked stays marked.
TEST(RedactionInSteps, KeepsTheMarksOfEarlierOnes) {
  TemporaryDirectory data;
  TemporaryDirectory crashed;
  auto log = open_log(data.path());
  append_secret(*log);
  append_commits(*log, 20);
  append_secret(*log);
  const Position second = log->tail() - 1;
  append_commits(*log, 20);
  log.reset();
  log = open_log(data.path());  // opening flushes it to a table
  ASSERT_EQ(redact_secret(*log).status, AppendStatus::ok);
  const Erasure first = log->plan_erasure().value();
  ASSERT_TRUE(log->begin_erasure());
  ASSERT_EQ(redact_secret(*log, second).status, AppendStatus::ok);
  ASSERT_TRUE(log->purge_replaced(first));
  ASSERT_TRUE(log->note_erased(first));
  const Erasure rest = log->plan_erasure().value();
  EXPECT_EQ(rest.keys.size() + first.keys.size(), 2 * sizeof(Position));
  copy_directory(data.path(), crashed.path());
  ASSERT_TRUE(log->begin_erasure());
  ASSERT_TRUE(log->purge_replaced(rest));
  ASSERT_TRUE(log->note_erased(rest));
  EXPECT_TRUE(log->plan_erasure()->keys.empty());
  EXPECT_EQ(files_with_secret(data.path()), "");
  const auto next = open_log(crashed.path());
  EXPECT_EQ(files_with_secret(crashed.path()), "");
  EXPECT_TRUE(next->plan_erasure()->keys.empty());
}

// A service that stops isn't kept waiting. The next opening erases.
TEST(RedactionInSteps, EndsWhenItIsCanceled) {
  TemporaryDirectory data;
  auto log = open_log(data.path());
  append_secret(*log);
  append_commits(*log, 20);
  ASSERT_EQ(redact_secret(*log).status, AppendStatus::ok);
  const Erasure erasure = log->plan_erasure().value();
  ASSERT_TRUE(log->begin_erasure());
  std::atomic<bool> canceled = true;
  EXPECT_FALSE(log->purge_replaced(erasure, &canceled));
  append_commits(*log, 1);
  ASSERT_TRUE(log->close());
  log = open_log(data.path());
  EXPECT_EQ(files_with_secret(data.path()), "");
  EXPECT_TRUE(log->plan_erasure()->keys.empty());
}

}  // namespace
}  // namespace signalbox::test
