#include "server/text/toml_text.h"

#include <gtest/gtest.h>

namespace signalbox {
namespace {

std::string dotted_key(std::size_t parts, const std::string& part = "a") {
  std::string key = part;
  for (std::size_t i = 1; i < parts; ++i) key += "." + part;
  return key;
}

std::string error_of(const std::string& text) {
  const auto table = parse_toml(text);
  return table ? "" : table.error().message;
}

const std::string too_many_parts =
    "a key has more than " + std::to_string(toml_key_parts_max) + " parts separated by dots";

TEST(TomlText, AKeyHasABoundedNumberOfParts) {  // G14
  EXPECT_EQ(error_of(dotted_key(toml_key_parts_max) + " = 1\n"), "");
  EXPECT_EQ(error_of(dotted_key(toml_key_parts_max + 1) + " = 1\n"), too_many_parts);
  EXPECT_EQ(error_of(dotted_key(100'000) + " = 1\n"), too_many_parts);
  EXPECT_EQ(error_of("[" + dotted_key(toml_key_parts_max + 1) + "]\n"), too_many_parts);
  EXPECT_EQ(error_of("x = {" + dotted_key(toml_key_parts_max + 1) + " = 1}\n"), too_many_parts);
  EXPECT_EQ(error_of(dotted_key(toml_key_parts_max + 1, "\"a\"") + " = 1\n"), too_many_parts);
  EXPECT_EQ(error_of(dotted_key(toml_key_parts_max + 1, "'a'") + " = 1\n"), too_many_parts);
}

// Whatever a string before the key looks like, it hides no key.
TEST(TomlText, NoStringHidesAKey) {  // G14
  for (const std::string before :
       {"'''x''''", "'''x'''''", "\"\"\"x\"\"\"\"", "\"\"\"x\\\"\"\"\"\"", "'\\'", "\"\\\"\"",
        "\"\"\"\n\\\n\"\"\"", "''", "\"\"", "''''''"}) {
    ASSERT_EQ(error_of("x = {y = " + before + ", z = 1}\n"), "") << before;
    EXPECT_EQ(
        error_of("x = {y = " + before + ", " + dotted_key(toml_key_parts_max + 1) + " = 1}\n"),
        too_many_parts)
        << before;
  }
}

TEST(TomlText, DotsElsewhereAreNotCounted) {
  const std::string dots(100, '.');
  EXPECT_EQ(error_of("a = '" + dots + "'\nb = \"" + dots + "\" # " + dots + "\n"), "");
  EXPECT_EQ(error_of("a = '''\n" + dots + "\n'''\nb = \"\"\"\n" + dots + "\\\"\n\"\"\"\n"), "");
  std::string numbers = "1.5";
  for (int i = 0; i < 100; ++i) numbers += ", 1.5";
  EXPECT_EQ(error_of("a = [" + numbers + "]\n"), "");
}

TEST(TomlText, SaysWhereTheErrorIs) {
  const auto syntax = parse_toml("a = 1\nb = \n");
  ASSERT_FALSE(syntax);
  EXPECT_EQ(syntax.error().line, 2U);
  const auto deep = parse_toml("a = '''\n\n'''\n" + dotted_key(40));
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().line, 4U);
  EXPECT_EQ(deep.error().column, 64U);
}

TEST(TomlText, IsBounded) {  // G14
  EXPECT_EQ(error_of("# " + std::string(toml_text_bytes_max, 'x')),
            "the text is longer than 1048576 bytes");
}

}  // namespace
}  // namespace signalbox
