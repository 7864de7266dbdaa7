// Tests what becomes of keys of HEARTBEAT.md that stand under a heading where none count.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/board/policy_file.h"
#include "server/board/policy_keys.h"

namespace signalbox {
namespace {

// Returns the refusal with its line, such as "3: what is wrong".
std::string said_elsewhere(const std::string& text) {
  const auto parsed = parse_policy_file(text);
  return parsed ? "none" : std::to_string(parsed.error().line) + ": " + parsed.error().message;
}

// Whoever forbids something under a heading of their own means it.
TEST(PolicyFile, APermissionThatIsOffOnlyElsewhereIsRefused) {  // A8
  for (const char* text : {"## Merging\n- [ ] mergeVerified\n", "- [ ] processBacklog\n",
                           "# Constraints\n- maxAttempts: 3\n## Actions\n- retryBlocked: no\n"}) {
    EXPECT_NE(said_elsewhere(text).find("where it doesn't count; move it under "),
              std::string::npos)
        << said_elsewhere(text);
  }
  EXPECT_EQ(said_elsewhere("## Merging\n- [ ] mergeVerified\n"),
            "2: mergeVerified stands under \"Merging\", where it doesn't count; move it under "
            "Synthesizer");
  for (const char* text : {"## Merging\n- [x] mergeVerified\n",
                           "## Merging\n- mergeVerified: we turned it off in May\n",
                           "## Merging\n- [-] mergeVerified\n"}) {
    EXPECT_EQ(parse_policy_file(text).value(), Policy{}) << text;
  }
  const auto both =
      parse_policy_file("# Synthesizer\n- [x] mergeVerified\n# Ideas\n- [ ] mergeVerified\n");
  EXPECT_TRUE(both && both->merge_verified);
}

TEST(PolicyFile, ASettingThatStandsElsewhereIsAWarning) {  // A8
  std::vector<LineError> warnings;
  const auto parsed = parse_policy_file(
      "## Schedule\n- maxAttempts: 1\n- maxConcurrentAgents: 2\n- [ ] websocketEvents\n"
      "- [ ] agentTimeoutMinutes: 5\n- maxAttempts: few\n",
      &warnings);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, Policy{});
  ASSERT_EQ(warnings.size(), 2U) << "what is in force anyway needs none";
  EXPECT_EQ(warnings[0].line, 2U);
  EXPECT_EQ(warnings[0].message,
            "maxAttempts stands under \"Schedule\", where it doesn't count; move it under "
            "Constraints");
  EXPECT_EQ(warnings[1].line, 4U);
}

// Of a line that was meant as a setting nothing is read if it is no item of a list.
TEST(PolicyFile, ASettingOutsideOfAListIsAWarning) {  // H3 P7
  struct Case {
    const char* text;
    std::size_t line;
    const char* write;
  };
  for (const Case& each : std::vector<Case>{
           {"max_attempts: 9\n", 1, "write \"- maxAttempts: N\" "},
           {"---\nmaxAttempts: 9\n---\n", 2, "write \"- maxAttempts: N\" "},
           {"# Constraints\nMAX_ATTEMPTS: 9\n", 2, "write \"- maxAttempts: N\" "},
           {"# Constraints\nmax_atempts: 9\n", 2, "write \"- maxAttempts: N\" "},
           {"# Constraints\nWe agreed:\nmax_attempts = 9\n", 3, "write \"- maxAttempts: N\" "},
           {"# Constraints\n- max_attempts = 9\n", 2, "write \"- maxAttempts: N\" "},
           {"# Constraints\n- max attempts 9\n", 2, "write \"- maxAttempts: N\" "},
           {"# Constraints\n- limits:\n", 0, ""},
           {"# Constraints\n- a note\n  - maxAttempts: 9,\n", 3, "write \"- maxAttempts: N\" "},
           {"# Builder\n- a note\n  - retryBlocked: no\n", 3, "write \"- [x] retryBlocked\" or"},
       }) {
    std::vector<LineError> warnings;
    const auto parsed = parse_policy_file(each.text, &warnings);
    if (each.line == 0) {
      EXPECT_FALSE(parsed) << "an item with a colon is an error, as ever";
      continue;
    }
    ASSERT_TRUE(parsed) << each.text << parsed.error().message;
    EXPECT_EQ(*parsed, Policy{}) << each.text;
    ASSERT_EQ(warnings.size(), 1U) << each.text;
    EXPECT_EQ(warnings[0].line, each.line) << each.text;
    EXPECT_NE(warnings[0].message.find(each.write), std::string::npos) << warnings[0].message;
  }
  EXPECT_EQ(said_elsewhere("# Synthesizer\nmerge_verified: no\n"),
            "2: \"merge_verified: no\" isn't in force, since it is no item of a list with a colon; "
            "write \"- [x] mergeVerified\" or \"- [ ] mergeVerified\" under Synthesizer");
}

TEST(PolicyFile, WarnsOfSoManyLines) {  // P8
  std::string text;
  for (std::size_t line = 0; line < policy_warnings_max + 8; ++line) text += "maxAttempts: 9\n";
  std::vector<LineError> warnings;
  EXPECT_TRUE(parse_policy_file(text, &warnings));
  EXPECT_EQ(warnings.size(), policy_warnings_max);
}

TEST(PolicyFile, ProseIsNoWarning) {
  for (const char* prose :
       {"# Constraints\nmaxAttempts: see the wiki\n",
        "# Constraints\nAt most 3 attempts: 1 is usual\n", "# Constraints\n- a note of 2026\n",
        "The number of attempts is 3\n", "# Constraints\nmaxAttempts: few\n",
        "# Ideas\nattempts: 9\n", "# Constraints\n```\nmaxAttempts: 9\n```\n",
        "# Constraints\n<!-- maxAttempts: 9 -->\n",
        "# Constraints\n- maxAttempts: 9\n\nmaxAttempts: 9\n"}) {
    std::vector<LineError> warnings;
    EXPECT_TRUE(parse_policy_file(prose, &warnings)) << prose;
    EXPECT_TRUE(warnings.empty()) << prose << warnings[0].message;
  }
}

}  // namespace
}  // namespace signalbox
