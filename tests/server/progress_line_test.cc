#include "tools/cli/progress_line.h"

#include <gtest/gtest.h>

namespace signalbox {
namespace {

struct ProgressLineTest : testing::Test {
  std::string written;
  std::int64_t now_ms = 10'000;

  ProgressLine line_on(const Terminal& terminal) {
    return {terminal, [this](std::string_view text) { written += text; },
            [this] { return now_ms; }};
  }
};

TEST_F(ProgressLineTest, SaysHowFarAndHowFast) {  // K7
  {
    ProgressLine line = line_on({false, 80});
    line.show({"copying", 0, 2000, 0});
    EXPECT_EQ(written, "\r\x1b[Kcopying: 0 of 2000 records (0%)");
    written.clear();
    now_ms += 100;
    line.show({"copying", 100, 2000, 1024});
    EXPECT_EQ(written, "") << "too often";
    now_ms += 1'900;
    line.show({"copying", 500, 2000, 4 * 1024 * 1024});
    EXPECT_EQ(written, "\r\x1b[Kcopying: 500 of 2000 records (25%), 4.0 MiB, 2.0 MiB/s");
    written.clear();
    line.show({"checking the copy", 0, 0, 0});
    EXPECT_EQ(written, "\r\x1b[Kchecking the copy") << "another part is shown at once";
    written.clear();
  }
  EXPECT_EQ(written, "\r\x1b[K") << "it stays";
}

TEST_F(ProgressLineTest, FitsIntoTheTerminal) {
  ProgressLine line = line_on({false, 12});
  line.show({"copying", 1'000, 2'000, 0});
  EXPECT_LE(columns_of(written.substr(4)), 11U) << written;
}

TEST_F(ProgressLineTest, IsForTerminalsOnly) {  // K7
  {
    ProgressLine line = line_on({});
    line.show({"copying", 1, 2, 3});
  }
  EXPECT_EQ(written, "");
}

}  // namespace
}  // namespace signalbox
