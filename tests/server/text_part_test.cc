// Tests the parts of a long text: together they are the text, whatever the pieces that it comes in.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "server/text/text_part.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

TextPart part_of(std::string_view text, std::uint64_t from, std::size_t piece_bytes) {
  TextPartReader reader(from, 64);
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, piece_bytes);
    reader.add(piece);
    text.remove_prefix(piece.size());
  }
  return reader.finish();
}

TEST(TextPart, ThePartsAreTheText) {  // O2
  std::string many;
  for (int each = 0; each < 100; ++each) many += "a\u00e9\u20ac\U0001F600";
  const std::string invalid(200, '\xff');
  for (const std::string& whole : {many, invalid, std::string("short"), std::string()}) {
    for (const std::size_t piece_bytes : {std::size_t{1}, std::size_t{7}, std::size_t{10'000}}) {
      std::string read;
      std::uint64_t next = 0;
      do {
        const TextPart part = part_of(whole, next, piece_bytes);
        EXPECT_EQ(part.offset, next);
        EXPECT_EQ(part.end, whole.size());
        EXPECT_EQ(part.sha256, sha256(whole));
        EXPECT_LE(part.text.size(), 64U);
        ASSERT_TRUE(part.next_offset > next || whole.empty());
        read += part.text;
        next = part.next_offset;
      } while (next < whole.size());
      EXPECT_EQ(read, with_replacements(whole));
    }
  }
}

TEST(TextPart, AfterItsEndThereIsNothing) {  // O2
  const TextPart part = part_of("short", 6, 2);
  EXPECT_EQ(part.offset, 5U);
  EXPECT_EQ(part.next_offset, 5U);
  EXPECT_EQ(part.text, "");
  EXPECT_EQ(part_of("short", UINT64_MAX, 2).text, "");
}

}  // namespace
}  // namespace signalbox
