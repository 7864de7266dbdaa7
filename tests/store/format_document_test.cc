// Compares FORMAT.md with the code where that is possible.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <tuple>

#include "domain/limits.h"
#include "store/codec.h"
#include "tests/fixtures/file_content.h"
#include "tests/store/log_directory.h"

namespace signalbox::test {
namespace {

using Row = std::tuple<int, int, std::string>;

class FormatDocument : public testing::Test {
 protected:
  std::string text_ = content_of(SIGNALBOX_SOURCE_DIR "/store/FORMAT.md");
};

TEST_F(FormatDocument, ListsEveryEventWithItsNumberAndVersion) {
  std::set<Row> listed;
  std::istringstream lines(text_);
  for (std::string line; std::getline(lines, line);) {
    int number = 0;
    int version = 0;
    char name[64] = "";
    if (std::sscanf(line.c_str(), "| %d | %d | `%63[A-Za-z]` |", &number, &version, name) == 3) {
      listed.emplace(number, version, name);
    }
  }
  std::set<Row> existing;
  for (const EventTag& tag : event_tags()) {
    existing.emplace(tag.number, tag.version, std::string(tag.name));
  }
  EXPECT_EQ(listed, existing);
}

TEST_F(FormatDocument, GivesTheGreatestLengthOfARecord) {
  static_assert(limits::record_bytes_max == 61'440);
  EXPECT_NE(text_.find("at most 61,440"), std::string::npos);
}

}  // namespace
}  // namespace signalbox::test
