// Tests the bound of what is kept of a heading. How HEARTBEAT.md is read is tested in
// policy_file_test.cc.
#include "server/board/markdown_items.h"

#include <gtest/gtest.h>

#include <string>

namespace signalbox {
namespace {

TEST(MarkdownItems, ALongHeadingIsCut) {  // P8
  for (const std::size_t bytes : {markdown_heading_bytes_max, markdown_heading_bytes_max + 1}) {
    const auto items = markdown_items("# " + std::string(bytes, 'x') + "\n- an item\n");
    ASSERT_TRUE(items) << items.error().message;
    ASSERT_EQ(items->size(), 1U);
    EXPECT_EQ(items->front().heading, std::string(markdown_heading_bytes_max, 'x'));
  }
}

}  // namespace
}  // namespace signalbox
