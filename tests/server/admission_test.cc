// Tests who has to go when places, bytes or time run out.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include <unistd.h>

#include "server/rpc/event_feed.h"
#include "server/transport/http/admission.h"

namespace signalbox {
namespace {

class AdmissionTest : public ::testing::Test {
 protected:
  using PlacePointer = std::shared_ptr<Admission::Place>;

  // Returns the place, or nullptr. `closed_` gets its name once the server closes it.
  PlacePointer admit(const std::string& name, const Caller& caller, bool is_tls = false) {
    auto place = admission_->admit(caller, is_tls);
    if (place) place->on_drop([this, name] { closed_.insert(name); });
    now_ += std::chrono::milliseconds(1);
    return place;
  }
  static Caller stranger(const std::string& address) {
    Caller caller;
    caller.address = address;
    return caller;
  }
  static Caller user(std::uint32_t uid) {
    Caller caller;
    caller.uid = uid;
    return caller;
  }
  static Caller owner() { return user(::geteuid()); }
  static Caller other_user() { return user(::geteuid() + 4711); }
  PlacePointer token(const std::string& name, const std::string& actor) {
    auto place = admit(name, stranger("10.0.0.9"));
    if (!place || !place->identify(actor)) ADD_FAILURE() << name << " has no place";
    return place;
  }
  void limit(Admission::Limits limits) { admission_->set_limits(limits); }
  std::uint64_t dropped(DropReason reason) { return admission_->figures().dropped[reason]; }
  void pass(std::int64_t ms) {
    now_ += std::chrono::milliseconds(ms);
    admission_->sweep();
  }

  Admission::Time now_{};
  std::vector<std::string> log_;
  std::set<std::string> closed_;
  std::shared_ptr<Admission> admission_ = std::make_shared<Admission>(
      Admission::Parts{[](const std::function<void()>& action) { action(); },
                       [this] { return now_; },
                       [this](const std::string& line) { log_.push_back(line); }},
      Admission::Limits{});
  std::vector<PlacePointer> held_;
};

TEST_F(AdmissionTest, TheOldestNewcomerMakesRoom) {  // G5
  for (std::size_t number = 0; number < newcomers_max; ++number) {
    held_.push_back(admit("old " + std::to_string(number), stranger("10.0.0.1")));
  }
  const auto honest = admit("honest", stranger("10.0.0.2"));
  ASSERT_TRUE(honest);
  EXPECT_EQ(closed_, std::set<std::string>{"old 0"});
  // The address that has the most gives the places, so that the honest one stays.
  for (std::size_t number = 0; number < 3 * newcomers_max; ++number) {
    held_.push_back(admit("new " + std::to_string(number), stranger("10.0.0.1")));
    ASSERT_TRUE(held_.back());
  }
  EXPECT_FALSE(closed_.contains("honest"));
  EXPECT_EQ(admission_->figures().open[CallerKind::stranger], newcomers_max);
  EXPECT_EQ(dropped(DropReason::evicted), 3 * newcomers_max + 1);
  EXPECT_LE(log_.size(), 2U) << "the log isn't flooded";
}

TEST_F(AdmissionTest, HandshakesAreFewer) {  // G5
  for (std::size_t number = 0; number <= tls_newcomers_max; ++number) {
    held_.push_back(admit(std::to_string(number), stranger("10.0.0.1"), true));
  }
  EXPECT_EQ(closed_, std::set<std::string>{"0"});
}

TEST_F(AdmissionTest, ACallerHasSoManyAndNoMore) {  // G5
  limit({100, 3, 1000});
  for (const char* name : {"a", "b", "c"}) held_.push_back(token(name, "token:busy"));
  const auto fourth = admit("d", stranger("10.0.0.9"));
  EXPECT_FALSE(fourth->identify("token:busy"));
  EXPECT_TRUE(admit("e", stranger("10.0.0.9"))->identify("token:other"));
  EXPECT_EQ(dropped(DropReason::caller_full), 1U);
  held_.pop_back();
  EXPECT_TRUE(fourth->identify("token:busy"));
}

TEST_F(AdmissionTest, WhenAllPlacesAreTakenWhoHasTheMostMakesRoom) {  // G5
  limit({owner_connections_max + 10, 10, 1000});
  for (int number = 0; number < 8; ++number) {
    held_.push_back(token("many " + std::to_string(number), "token:many"));
  }
  for (int number = 0; number < 2; ++number) {
    held_.push_back(token("few " + std::to_string(number), "token:few"));
  }
  held_[0]->set_busy(true);
  held_.push_back(token("late", "token:late"));
  ASSERT_TRUE(held_.back());
  EXPECT_EQ(closed_, std::set<std::string>{"many 1"}) << "an idle one goes before a busy one";
  // The server's own user has places in reserve, and gets in when those are taken too.
  for (std::size_t number = 0; number < 2 * owner_connections_max; ++number) {
    held_.push_back(admit("owner", owner()));
    ASSERT_TRUE(held_.back());
  }
  EXPECT_LE(admission_->figures().open[CallerKind::owner], owner_connections_max + 10);
}

TEST_F(AdmissionTest, DescriptorsAreLeftToOthers) {  // G5
  limit({1000, 1000, owner_connections_max + 10});
  for (int number = 0; number < 20; ++number) {
    held_.push_back(admit(std::to_string(number), stranger("10.0.0.1")));
    ASSERT_TRUE(held_.back());
  }
  EXPECT_EQ(admission_->figures().open[CallerKind::stranger], 10U);
  EXPECT_TRUE(admission_->free_descriptor());
  EXPECT_EQ(dropped(DropReason::descriptors), 1U);
}

TEST_F(AdmissionTest, LongLinesOfStrangersMakeRoomOneAtATime) {  // G5
  for (int number = 0; number < 13; ++number) {
    held_.push_back(admit(std::to_string(number), stranger("10.0.0.1")));
  }
  const auto user = admit("user", other_user());
  for (std::size_t number = 0; number < 11; ++number) {
    held_[number]->set_input(line_bytes_max - number);
  }
  EXPECT_TRUE(held_[11]->may_read_on()) << "there is room for one more";
  held_[11]->set_input(line_bytes_max / 2);
  EXPECT_TRUE(held_[12]->may_read_on());
  EXPECT_EQ(closed_, std::set<std::string>{"0"}) << "the largest makes room";
  held_[11]->set_input(line_bytes_max);
  held_[12]->set_input(line_bytes_max / 2);
  for (int number = 0; number < 100; ++number) EXPECT_FALSE(held_[1]->may_read_on());
  EXPECT_TRUE(user->may_read_on()) << "strangers don't hold up users of this machine";
  EXPECT_EQ(closed_.size(), 1U);
  now_ += std::chrono::milliseconds(newcomer_pause_ms_min + 1);
  EXPECT_TRUE(held_[1]->may_read_on());
  EXPECT_EQ(closed_.size(), 2U);
}

TEST_F(AdmissionTest, TheLargestBufferGoesFirst) {  // G5
  const auto small = admit("small", stranger("10.0.0.1"));
  const auto large = admit("large", stranger("10.0.0.1"));
  const auto other = token("other", "token:other");
  other->set_output(caller_buffered_bytes_max, false);
  small->set_input(newcomers_buffered_bytes_max / 4);
  large->set_input(newcomers_buffered_bytes_max / 2);
  EXPECT_EQ(closed_, std::set<std::string>{});
  small->set_input(newcomers_buffered_bytes_max / 2 - 1);
  EXPECT_EQ(closed_, std::set<std::string>{});
  small->set_input(newcomers_buffered_bytes_max / 2 + 1);
  EXPECT_EQ(closed_, std::set<std::string>{"small"});
  other->set_output(caller_buffered_bytes_max + 1, false);
  EXPECT_TRUE(closed_.contains("other"));
  // All callers together.
  for (const char* name : {"one", "two", "three"}) {
    held_.push_back(token(name, std::string("token:") + name));
    held_.back()->set_output(buffered_bytes_max / 3 + 1, false);
  }
  EXPECT_LE(admission_->figures().buffered_bytes, buffered_bytes_max);
  EXPECT_EQ(dropped(DropReason::buffered), 3U);
}

TEST_F(AdmissionTest, WhoReadsStaysBeforeWhoDoesNot) {  // G5
  const auto stalled = token("stalled", "token:a");
  const auto reading = token("reading", "token:a");
  stalled->set_output(caller_buffered_bytes_max / 3, false);
  pass(stalled_ms_min + 10);
  reading->set_output(caller_buffered_bytes_max / 2, false);
  reading->set_output(caller_buffered_bytes_max, true);
  EXPECT_EQ(closed_, std::set<std::string>{"stalled"});
}

TEST_F(AdmissionTest, WhoSaysOrReadsNothingIsClosed) {  // G5
  const auto silent = admit("silent", stranger("10.0.0.1"));
  const auto waits = token("waits", "token:waits");
  const auto own = admit("own", owner());
  const auto neighbour = admit("neighbour", other_user());
  pass(first_request_ms_max + 10);
  EXPECT_EQ(closed_, (std::set<std::string>{"silent", "neighbour"}));
  waits->set_line(true, true);
  own->set_output(10, false);
  pass(line_ms_max / 2);
  waits->set_line(true, false);  // more of the same line
  own->set_output(9, true);
  pass(line_ms_max / 2 + 10);
  EXPECT_TRUE(closed_.contains("waits"));
  EXPECT_FALSE(closed_.contains("own")) << "it read some";
  pass(unread_ms_max);
  EXPECT_TRUE(closed_.contains("own"));
  EXPECT_EQ(dropped(DropReason::no_request), 2U);
  EXPECT_EQ(dropped(DropReason::half_line), 1U);
  EXPECT_EQ(dropped(DropReason::unread), 1U);
  EXPECT_EQ(admission_->figures().buffered_bytes, 0U);
}

TEST_F(AdmissionTest, SubscriptionsAreSharedOut) {  // G5
  const auto greedy = token("greedy", "token:greedy");
  for (std::size_t number = 0; number < caller_subscriptions_max; ++number) {
    ASSERT_TRUE(greedy->take_subscription());
  }
  EXPECT_FALSE(greedy->take_subscription());
  EXPECT_EQ(dropped(DropReason::subscription), 0U) << "there may be room at the second try";
  greedy->count_refused_subscription();
  EXPECT_EQ(dropped(DropReason::subscription), 1U);
  std::size_t others = 0;
  for (int caller = 0; caller < 10; ++caller) {
    held_.push_back(token("other", "token:" + std::to_string(caller)));
    while (held_.back()->take_subscription()) ++others;
  }
  EXPECT_EQ(caller_subscriptions_max + others, subscriptions_max - owner_subscriptions_max);
  const auto own = admit("own", owner());
  EXPECT_TRUE(own->take_subscription());
  held_.clear();
  EXPECT_FALSE(greedy->take_subscription()) << "its own bound still holds";
}

// What a job leaves behind, or a job itself, is no owner, though it has its user.
TEST_F(AdmissionTest, AJobGetsNoPlaceInReserve) {  // G5
  limit({owner_connections_max + 1, 1000, 1000});
  Caller job = owner();
  job.job_id = "job";
  Caller gone = owner();
  gone.process_is_gone = true;
  for (const Caller& caller : {job, gone}) {
    const auto only = admit("only", stranger("10.0.0.1"));
    ASSERT_TRUE(only->identify("token:only"));
    EXPECT_FALSE(admit("another", caller)) << "the one place that isn't in reserve is taken";
    EXPECT_TRUE(admit("own", owner()));
  }
  const auto left = admit("gone", gone);
  const auto own = admit("own", owner());
  ASSERT_TRUE(left && own);
  EXPECT_EQ(admission_->figures().open[CallerKind::owner], 2U) << "they have one share";
}

TEST_F(AdmissionTest, APlaceIsGivenBack) {
  {
    const auto place = token("a", "token:a");
    place->set_input(100);
    place->set_output(100, false);
    EXPECT_FALSE(admission_->idle());
  }
  EXPECT_TRUE(admission_->idle());
  EXPECT_EQ(admission_->figures().buffered_bytes, 0U);
  EXPECT_TRUE(admission_->figures().open.empty());
}

// The first one is said at once, those since then together once the time is over.
TEST_F(AdmissionTest, RefusalsAreLoggedOnceInATime) {  // G5, P8
  limit({100, 1, 1000});
  held_.push_back(token("a", "token:busy"));
  const auto refuse = [this] {
    const auto place = admit("b", stranger("10.0.0.9"));
    ASSERT_TRUE(place);
    EXPECT_FALSE(place->identify("token:busy"));
  };
  refuse();
  const auto said_at = now_;
  ASSERT_EQ(log_.size(), 1U);
  refuse();
  now_ = said_at + std::chrono::milliseconds(refusals_log_ms_min - 1);
  admission_->sweep();
  EXPECT_EQ(log_.size(), 1U);
  pass(1);
  ASSERT_EQ(log_.size(), 2U);
  EXPECT_NE(log_.back().find(" 1 "), std::string::npos) << log_.back();
}

}  // namespace
}  // namespace signalbox
