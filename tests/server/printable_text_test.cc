// Tests how text of others is made safe to show.
#include "server/text/printable_text.h"

#include <gtest/gtest.h>

namespace signalbox {
namespace {

struct Shown {
  std::string_view text;
  std::string_view as_line;
  std::string_view as_lines;
};

TEST(PrintableText, ControlsAreShownAsQuestionMarks) {  // G16
  using std::literals::operator""sv;
  for (const Shown& each : {
           Shown{"plain, größe, 日本", "plain, größe, 日本", "plain, größe, 日本"},
           Shown{"a\nb\tc\rd", "a b c d", "a\nb\tc d"},
           Shown{"\x1b[2J\x07\x7f\0x"sv, "?[2J???x", "?[2J???x"},
           Shown{"\xC2\x9b"
                 "2J \xC2\x80",
                 "?2J ?", "?2J ?"},  // C1
           Shown{"\xE2\x80\xAE"
                 "txt \xE2\x81\xA6"
                 "x",
                 "?txt ?x", "?txt ?x"},  // U+202E, U+2066
           Shown{"a\xE2\x80\xA8"
                 "b\xE2\x80\xA9",
                 "a b ", "a?b?"},                                  // U+2028, U+2029
           Shown{"\xff\xC0\x80\xED\xA0\x80", "??????", "??????"},  // no UTF-8
           Shown{"\xC2\xA0 \xE2\x80\xA6", "\xC2\xA0 \xE2\x80\xA6", "\xC2\xA0 \xE2\x80\xA6"},
           Shown{"", "", ""},
       }) {
    EXPECT_EQ(printable(each.text), each.as_line);
    EXPECT_EQ(printable_lines(each.text), each.as_lines);
    EXPECT_EQ(is_printable_lines(each.text), each.text == each.as_lines);
    EXPECT_TRUE(is_printable_lines(each.as_lines));
  }
}

}  // namespace
}  // namespace signalbox
