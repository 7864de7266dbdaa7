// The way of old versions, shown with an event that only this test has: no stored event has a
// second version yet.
#include "store/history.h"

#include <gtest/gtest.h>

#include <boost/describe/class.hpp>

#include "domain/event_tag.h"

namespace signalbox {

struct SignalSetV1 {
  std::string name;
};
BOOST_DESCRIBE_STRUCT(SignalSetV1, (), (name))

struct SignalSetV2 {
  std::string name;
  std::int32_t seconds = 0;
};
BOOST_DESCRIBE_STRUCT(SignalSetV2, (), (name, seconds))

struct SignalSet {
  static constexpr EventTag tag{9001, 3, "SignalSet"};
  std::string name;
  std::int64_t milliseconds = 0;
  bool clear = false;

  friend bool operator==(const SignalSet&, const SignalSet&) = default;
};
BOOST_DESCRIBE_STRUCT(SignalSet, (), (name, milliseconds, clear))

SignalSetV2 upcast(SignalSetV1 old) { return {std::move(old.name), 30}; }
SignalSet upcast(SignalSetV2 old) { return {std::move(old.name), old.seconds * 1000, false}; }

template <>
struct History<SignalSet> {
  using Frozen = std::tuple<SignalSetV1, SignalSetV2>;
};

namespace test {
namespace {

template <class T>
SignalSet through_bytes(const T& stored, std::uint16_t version) {
  std::string bytes;
  described::encode(stored, bytes);
  SignalSet event;
  described::decode(
      bytes, [&](described::Reader& reader) { described::read_version(version, reader, event); });
  return event;
}

TEST(History, BringsEveryVersionUpToDate) {
  EXPECT_EQ(through_bytes(SignalSetV1{"home"}, 1), (SignalSet{"home", 30'000, false}));
  EXPECT_EQ(through_bytes(SignalSetV2{"home", 7}, 2), (SignalSet{"home", 7000, false}));
  EXPECT_EQ(through_bytes(SignalSet{"home", 7, true}, 3), (SignalSet{"home", 7, true}));
}

TEST(History, DoesNotTakeOneVersionForAnother) {
  EXPECT_THROW(through_bytes(SignalSetV1{"home"}, 2), std::exception);
  EXPECT_THROW(through_bytes(SignalSetV2{"home", 7}, 1), std::exception);
  EXPECT_THROW(through_bytes(SignalSetV2{"home", 7}, 3), std::exception);
}

}  // namespace
}  // namespace test
}  // namespace signalbox
