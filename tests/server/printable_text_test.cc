// Tests how text of others is made safe to show.
#include "server/text/printable_text.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "tests/fixtures/file_content.h"

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
                 "?txt ?x", "?txt ?x"},                              // U+202E, U+2066
           Shown{"\xE2\x80\x8E\xE2\x80\x8F\xD8\x9C", "???", "???"},  // U+200E, U+200F, U+061C
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

std::string in_utf8(unsigned code) {
  const auto byte = [](unsigned value) { return static_cast<char>(value); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0U | code >> 6U), byte(0x80U | (code & 0x3FU))};
  return {byte(0xE0U | code >> 12U), byte(0x80U | (code >> 6U & 0x3FU)),
          byte(0x80U | (code & 0x3FU))};
}

// Returns the characters of this constant of the console, a regular expression
// "[\\u202a-\\u202e…]".
std::set<unsigned> characters_of_console(const std::string& constant) {
  const std::string module =
      content_of(std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "server/console/core/plain_text.js");
  const std::size_t begin = module.find("const " + constant + " = /[");
  EXPECT_NE(begin, std::string::npos) << constant;
  const std::string line = module.substr(begin, module.find('\n', begin) - begin);
  static const std::regex range(R"(\\[ux]([0-9a-f]+)(?:-\\[ux]([0-9a-f]+))?)");
  std::set<unsigned> all;
  for (std::sregex_iterator each(line.begin(), line.end(), range), end; each != end; ++each) {
    const unsigned long first = std::stoul((*each)[1], nullptr, 16);
    const unsigned long last = (*each)[2].matched ? std::stoul((*each)[2], nullptr, 16) : first;
    for (unsigned long code = first; code <= last; ++code) all.insert(static_cast<unsigned>(code));
  }
  return all;
}

TEST(PrintableText, TheConsoleTakesOutTheSameCharacters) {  // G16
  std::set<unsigned> here;
  for (unsigned code = 0; code <= 0xFFFF; ++code) {
    const bool is_half = code >= 0xD800 && code <= 0xDFFF;  // of a pair in UTF-16
    // An element begins no line at a separator, and shows a carriage return as a blank.
    const bool is_line_end = code == 0x2028 || code == 0x2029 || code == '\r';
    if (!is_half && !is_line_end && !is_printable_lines(in_utf8(code))) here.insert(code);
  }
  EXPECT_EQ(here, characters_of_console("needsCare"));
  std::set<unsigned> there = characters_of_console("CONTROL");
  there.merge(characters_of_console("DIRECTION"));
  EXPECT_EQ(here, there);
}

TEST(PrintableText, JsonStaysTheSameValue) {  // G16
  const std::string raw =
      "\x7f \xC2\x9b \xD8\x9C \xE2\x80\x8E \xE2\x80\xA8 \xE2\x80\xAE \xE2\x81\xA6 größe 日本 😀 "
      "\x1b\n";
  const std::string json = boost::json::serialize(boost::json::string(raw));
  const std::string shown = printable_json(json + "\n");
  EXPECT_EQ(shown, R"("\u007f \u009b \u061c \u200e \u2028 \u202e \u2066 größe 日本 😀 \u001b\n")"
                   "\n");
  EXPECT_EQ(boost::json::parse(shown).as_string(), raw);
}

}  // namespace
}  // namespace signalbox
