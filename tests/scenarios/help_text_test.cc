// What the help of the commands looks like on a terminal.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>

#include "tests/scenarios/child_process.h"

namespace signalbox {
namespace {

// The manual page has what --help prints below the options of each command, each line as it was
// written, but for the backslashes that roff needs before a dash and in place of a backslash. A
// line that is too wide would be broken once more by --help, in the middle of a paragraph.
TEST(HelpText, EachLineBelowTheOptionsFitsTheColumnsOfATerminal) {
  const Output page = run_process({SIGNALBOX_BINARY, "help", "--man"});
  ASSERT_EQ(page.exit_code, 0) << page.err;
  std::istringstream lines(page.out);
  std::size_t examples = 0;
  bool is_kept = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == ".nf" || line == ".fi") is_kept = line == ".nf";
    if (!is_kept) continue;
    if (line.starts_with("  ")) ++examples;
    const auto columns = std::count_if(
        line.begin(), line.end(), [](char each) { return each != '\\' && (each & 0xC0) != 0x80; });
    EXPECT_LE(columns, 80) << line;
  }
  EXPECT_GT(examples, 100U);
}

}  // namespace
}  // namespace signalbox
