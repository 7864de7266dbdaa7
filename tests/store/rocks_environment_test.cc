// How RocksDB is opened: with as many threads as a log's tables are worth.
#include "store/rocks_environment.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/fixtures/temporary_directory.h"

namespace signalbox::test {
namespace {

TEST(TableOpeningThreads, AreAsManyAsTheTablesAreWorth) {
  const TemporaryDirectory place(fast_directory());
  EXPECT_EQ(table_opening_threads(place / "absent"), 1);
  EXPECT_EQ(table_opening_threads(place.path()), 1);
  int tables = 0;
  const auto threads_for = [&](int count) {
    for (; tables < count; ++tables) {
      std::ofstream(place / (std::to_string(tables) + ".sst"));
      std::ofstream(place / (std::to_string(tables) + ".log"));
    }
    return table_opening_threads(place.path());
  };
  EXPECT_EQ(threads_for(31), 1);
  EXPECT_EQ(threads_for(32), 2);
  EXPECT_EQ(threads_for(300), 16);
}

}  // namespace
}  // namespace signalbox::test
