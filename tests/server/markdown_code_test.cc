// Tests that nothing in text of others ends the code in which it is shown.
#include "server/text/printable_text.h"

#include <gtest/gtest.h>

namespace signalbox {
namespace {

TEST(MarkdownCode, NothingInItEndsIt) {  // A1, G16
  EXPECT_EQ(markdown_code("file.txt"), "`file.txt`");
  EXPECT_EQ(markdown_code("a`b"), "``a`b``");
  EXPECT_EQ(markdown_code("a``b`"), "``` a``b` ```");
  EXPECT_EQ(markdown_code("`"), "`` ` ``");
  EXPECT_EQ(markdown_code(""), "` `");
  EXPECT_EQ(markdown_code(" "), "` `");
  EXPECT_EQ(markdown_code(" a"), "`  a `");
  EXPECT_EQ(markdown_code("a\nb\x1b"), "`a b?`");
}

TEST(MarkdownCode, NoLineOfABlockEndsIt) {  // A1, G16
  EXPECT_EQ(markdown_code_block("one\ntwo"), "```\none\ntwo\n```\n");
  EXPECT_EQ(markdown_code_block("```\n````\n"), "`````\n```\n````\n`````\n");
}

}  // namespace
}  // namespace signalbox
