// Tests the projector with a disk that takes no rows: it holds rows in memory, then holds its
// place, reports that, and catches up by itself later.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <vector>

#include "projections/buffering_table.h"
#include "store/memory_event_log.h"
#include "tests/eventually.h"
#include "tests/projections/refusing_table.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

constexpr std::chrono::seconds patience{10};

class ProjectorHold : public ::testing::Test, protected RpcSite {
 protected:
  ~ProjectorHold() override { follower.reset(); }

  // Appends one more event to the log.
  void append() {
    const Position tail = log.tail();
    send(R"({"jsonrpc":"2.0","id":1,"method":"run.start","params":{"goal":")" +
         std::string(400, 'g') + R"("}})");
    engine.flush();
    finish();
    ASSERT_GT(log.tail(), tail);
  }
  void follow(std::size_t bytes_max) {
    make_follower(bytes_max);
    follower->start();
  }
  void make_follower(std::size_t bytes_max) {
    table = std::make_unique<BufferingTable>(below, bytes_max);
    held_index = std::make_unique<RunIndex>(*table);
    follower = std::make_unique<Projector>(
        log, *held_index, [](const StoreError& error) { ADD_FAILURE() << error.message; },
        [this](bool ok, const std::string& text) {
          const std::lock_guard lock(mutex);
          (ok ? recovered : stopped) += text;
        });
  }
  // Returns whether the query was answered with everything up to `position` applied.
  bool query(Position position) {
    std::promise<bool> answered;
    follower->query(
        position, [&](const RunIndex& read) { answered.set_value(read.applied() >= position); },
        [&](const StoreError& why) {
          EXPECT_EQ(why.message, "refused, as the test wishes");
          answered.set_value(false);
        });
    auto answer = answered.get_future();
    if (answer.wait_for(patience) != std::future_status::ready)
      std::abort();  // the callbacks would dangle
    return answer.get();
  }
  template <class Condition>
  void wait_until(const Condition& condition) {
    EXPECT_TRUE(eventually(condition));
  }

  RefusingTable below;
  std::unique_ptr<BufferingTable> table;
  std::unique_ptr<RunIndex> held_index;
  std::unique_ptr<Projector> follower;
  std::mutex mutex;
  std::string stopped;
  std::string recovered;
};

TEST_F(ProjectorHold, ReadsGoOnFromWhatIsHeld) {
  follow(BufferingTable::held_bytes_max);
  below.refusal = StoreError::Kind::full;
  append();
  EXPECT_TRUE(query(log.tail()));
  EXPECT_TRUE(follower->wait_for(log.tail()));
  EXPECT_EQ(follower->held(), "refused, as the test wishes");
  EXPECT_EQ(below.applied(), 0U);
  append();
  EXPECT_TRUE(query(log.tail()));

  below.refusal = std::nullopt;
  wait_until([&] { return below.applied() == log.tail() && !follower->held(); });
  wait_until([&] {
    const std::lock_guard lock(mutex);
    return recovered.find("again") != std::string::npos;
  });
  const std::lock_guard lock(mutex);
  EXPECT_NE(stopped.find("stay behind"), std::string::npos) << stopped;
  EXPECT_EQ(stopped.find("stay behind"), stopped.rfind("stay behind")) << "it is told once";
}

TEST_F(ProjectorHold, PastWhatMayBeHeldItRefusesAndThenCatchesUp) {
  follow(1);
  below.refusal = StoreError::Kind::io;
  append();
  EXPECT_TRUE(query(log.tail())) << "a first batch is held always";
  const Position place = log.tail();
  append();
  EXPECT_FALSE(query(log.tail()));
  EXPECT_FALSE(follower->wait_for(log.tail())) << "it would wait for ever";
  EXPECT_TRUE(query(place)) << "what is applied can be read";
  EXPECT_EQ(follower->applied(), place);

  below.refusal = std::nullopt;
  wait_until([&] { return below.applied() == log.tail() && !follower->held(); });
  EXPECT_TRUE(query(log.tail()));
  EXPECT_TRUE(follower->wait_for(log.tail()));
}

// G7: rows that were computed beside may be ahead of the place that is held.
TEST_F(ProjectorHold, RowsThatAreAheadOfItsPlaceAnswerNoEarlierQuery) {
  make_follower(1);
  below.refusal = StoreError::Kind::io;
  append();
  ASSERT_TRUE(follower->catch_up());
  const Position place = log.tail();
  append();
  ASSERT_TRUE(follower->catch_up());
  ASSERT_TRUE(follower->held());
  std::vector<Position> seen;
  follower->query(
      place, [&](const RunIndex& read) { seen.push_back(read.applied()); },
      [](const StoreError& why) { ADD_FAILURE() << why.message; });
  auto fresh = std::make_unique<MemoryTable>();
  ASSERT_TRUE(RunIndex(*fresh).apply(log.read(1, log.tail()).value()));
  follower->replace_rows(std::move(fresh));
  ASSERT_TRUE(follower->catch_up());
  EXPECT_EQ(seen, std::vector<Position>{place});
  EXPECT_EQ(follower->applied(), log.tail());
}

TEST_F(ProjectorHold, ATableThatComesBackEmptyIsFilledAnew) {
  follow(BufferingTable::held_bytes_max);
  append();
  EXPECT_TRUE(query(log.tail()));
  below.refusal = StoreError::Kind::io;
  append();
  EXPECT_TRUE(query(log.tail()));
  below.reopened_position = 0;
  below.refusal = std::nullopt;
  wait_until([&] { return below.applied() == log.tail() && !follower->held(); });
  EXPECT_TRUE(query(log.tail()));
}

}  // namespace
}  // namespace signalbox
