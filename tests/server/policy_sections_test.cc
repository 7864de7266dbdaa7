// Tests what becomes of keys of HEARTBEAT.md that stand under a heading where none count.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/board/policy_file.h"

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

}  // namespace
}  // namespace signalbox
