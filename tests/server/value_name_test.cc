// What --help calls the values of options, instead of the types of the library that parses them.
#include <gtest/gtest.h>

#include "tools/cli/usage_text.h"

namespace signalbox {
namespace {

using Values = std::vector<std::string>;

TEST(NameOfAValue, SaysWhatItIsAndNotItsType) {  // O6
  EXPECT_EQ(value_name("--idempotency-key", "TEXT").name, "KEY");
  EXPECT_EQ(value_name("--project", "TEXT").name, "PROJECT");
  EXPECT_EQ(value_name("", "TEXT").name, "") << "an operand has its name";
  EXPECT_EQ(value_name("--max-tokens", "INT").name, "N");
  EXPECT_EQ(value_name("--limit", "UINT").name, "N");
  EXPECT_EQ(value_name("--lease-ms", "INT").name, "MS");
  EXPECT_EQ(value_name("--keep", "FILE.toml:FILE").name, "FILE.toml");
  EXPECT_EQ(value_name("--listen", "HOST:PORT").name, "HOST:PORT");
  EXPECT_EQ(value_name("--artifact", "NAME=FILE[:MEDIA/TYPE]").name, "NAME=FILE[:MEDIA/TYPE]");
}

TEST(NameOfAValue, HasItsRangeAndItsSet) {  // O6
  const ValueName slots = value_name("--slots", "INT:INT in [1 - 1024]");
  EXPECT_EQ(slots.name, "N");
  EXPECT_EQ(slots.range, "1 to 1024");
  const ValueName cost = value_name("--max-cost-usd", "FLOAT:FLOAT in [0 - 1e+06]");
  EXPECT_EQ(cost.name, "USD");
  EXPECT_EQ(cost.range, "0 to 1000000");
  EXPECT_EQ(value_name("--status", "TEXT:{queued,failed}").values, (Values{"queued", "failed"}));
  EXPECT_TRUE(value_name("--limit", "UINT").values.empty());
  EXPECT_EQ(value_name("--limit", "UINT").range, "");
}

}  // namespace
}  // namespace signalbox
