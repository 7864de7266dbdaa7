// The compact encoding of lists of positions.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <set>

#include "projections/noun_rows.h"

namespace signalbox {
namespace {

RC_GTEST_PROP(PositionListTest, WhatIsAppendedIsRead, ()) {
  const auto set = *rc::gen::arbitrary<std::set<Position>>();
  std::vector<Position> positions(set.begin(), set.end());
  std::erase(positions, 0u);
  if (*rc::gen::arbitrary<bool>()) positions.push_back(std::numeric_limits<Position>::max());
  std::string list;
  Position before = 0;
  for (const Position position : positions) {
    append_position(list, before, position);
    before = position;
  }
  RC_ASSERT(decode_positions(list) == positions);
}

TEST(PositionListTest, NeighboursTakeAByte) {
  std::string list;
  for (Position position = 1000; position < 1100; ++position) {
    append_position(list, position == 1000 ? 0 : position - 1, position);
  }
  EXPECT_EQ(list.size(), 2u + 99u);
}

TEST(PositionListTest, OtherBytesAreRefused) {
  EXPECT_EQ(decode_positions(std::string(1, '\0')), std::nullopt);
  EXPECT_EQ(decode_positions("\x80"), std::nullopt);
  EXPECT_EQ(decode_positions(std::string(20, '\xFF')), std::nullopt);
  EXPECT_EQ(decode_positions(""), std::vector<Position>{});
}

}  // namespace
}  // namespace signalbox
