// What the help of the commands looks like on a terminal.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>

#include "tests/scenarios/child_process.h"

namespace signalbox {
namespace {

// The manual page has the examples of all commands, each line as --help prints it, but for the
// backslashes that roff needs before a dash and in place of a backslash.
TEST(HelpText, ExamplesFitTheColumnsOfATerminal) {
  const Output page = run_process({SIGNALBOX_BINARY, "help", "--man"});
  ASSERT_EQ(page.exit_code, 0) << page.err;
  std::istringstream lines(page.out);
  std::size_t examples = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ")) continue;
    ++examples;
    const auto columns = std::count_if(
        line.begin(), line.end(), [](char each) { return each != '\\' && (each & 0xC0) != 0x80; });
    EXPECT_LE(columns, 80) << line;
  }
  EXPECT_GT(examples, 100U);
}

}  // namespace
}  // namespace signalbox
