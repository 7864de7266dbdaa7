// The conformance suite of SharedLog for a beat that looks for what its writer had acknowledged.
#include <string>

#include "tests/eventually.h"
#include "tests/store/shared_log_under_test.h"

namespace signalbox::test {
namespace {

using Status = SharedAppend::Status;

class SharedLogLossConformance : public SharedLogConformance {};

INSTANTIATE_TEST_SUITE_P(Postgres, SharedLogLossConformance, testing::Values(postgres_kind()),
                         [](const auto& parameter) { return std::string(parameter.param.name); });
INSTANTIATE_TEST_SUITE_P(Memory, SharedLogLossConformance, testing::Values(memory_kind()),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

// Returns a beat of epoch 1 that looks for this link.
Beat beat_after(const ChainLink& link, std::uint64_t number) {
  Beat beat = beat_of(1, number);
  beat.acked = link.last;
  beat.latest = {link.prev, link.last, link.epoch};
  return beat;
}

TEST_P(SharedLogLossConformance, ABeatFindsThatWhatWasAcknowledgedIsGone) {  // K5
  const auto log = open_writer();
  EXPECT_TRUE(*log->beat(beat_after(first_link(), 1))) << "of nobody's epoch";
  const ChainLink one = link_after(first_link(), 1);
  const ChainLink two = link_after(one, 1);
  ASSERT_TRUE(log->append(one).status == Status::ok && log->append(two).status == Status::ok);
  EXPECT_TRUE(*log->beat(beat_after(two, 2)));
  lose_links_after(one);
  const auto lost = log->beat(beat_after(two, 3));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().kind, StoreError::Kind::damaged);
  EXPECT_NE(lost.error().message.find("lost acknowledged records"), std::string::npos)
      << lost.error().message;
  // It was written, for nothing that is read is believed before a write; so others find it as well.
  EXPECT_EQ(log->state()->beat, 3U);
  EXPECT_EQ(log->state()->acked, two.last);
  EXPECT_TRUE(*log->beat(beat_after(one, 4)));
  EXPECT_TRUE(*log->beat(beat_of(1, 5))) << "it looks for nothing";
}

TEST_P(SharedLogLossConformance, ABeatFindsAnotherLinkInThePlaceOfTheOneThatIsGone) {  // K5
  const auto log = open_writer();
  const ChainLink one = link_after(first_link(), 1);
  const ChainLink two = link_after(one, 1);
  ASSERT_TRUE(log->append(one).status == Status::ok && log->append(two).status == Status::ok);
  lose_links_after(one);
  ASSERT_EQ(log->append(link_after(one, 1, 5)).status, Status::ok);
  const auto lost = log->beat(beat_after(two, 1));
  ASSERT_FALSE(lost) << "there is more than it knows, but not that";
  EXPECT_EQ(lost.error().kind, StoreError::Kind::damaged);
}

TEST_P(SharedLogLossConformance, ABeatMindsNothingElse) {  // K5
  const auto log = open_writer();
  const ChainLink one = link_after(first_link(), 1);
  const ChainLink two = link_after(one, 1);
  ASSERT_TRUE(log->append(one).status == Status::ok && log->append(two).status == Status::ok);
  EXPECT_TRUE(*log->beat(beat_after(one, 1))) << "an append of its own isn't known to it yet";
  EXPECT_TRUE(*log->rewrite(1, two, "other bytes"));
  EXPECT_TRUE(eventually([&] { return log->trim(1, 1000, 10)->begin == two.prev; }));
  EXPECT_TRUE(*log->beat(beat_after(two, 2))) << "the log begins with it now";
  const auto other = open();
  ASSERT_EQ(*other->take(1, {"other", "b"}), 2U);
  const ChainLink three = link_after(two, 2);
  ASSERT_EQ(other->append(three).status, Status::ok);
  EXPECT_TRUE(eventually([&] { return other->trim(2, 1000, 10)->begin == three.prev; }));
  EXPECT_FALSE(log->beat(beat_after(two, 3)).value()) << "it was deposed, and lost nothing";
}

}  // namespace
}  // namespace signalbox::test
