// Tests reading HEARTBEAT.md: what is accepted, which line an error names, and that no input
// crashes the reader.
#include "server/board/policy_file.h"

#include <gtest/gtest.h>

#include <boost/describe/enum_to_string.hpp>
#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

#include <algorithm>
#include <ctime>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <rapidcheck/gtest.h>

#include "server/board/policy_keys.h"
#include "server/text/utf8_text.h"
#include "tests/fixtures/random_seed.h"

namespace signalbox {
namespace {

Policy policy(const std::string& text) {
  const auto parsed = parse_policy_file(text);
  if (!parsed)
    ADD_FAILURE() << parsed.error().line << ": " << parsed.error().message << "\n" << text;
  return parsed.value_or(Policy{});
}

// Returns the error with its line, such as "3: what is wrong".
std::string policy_refusal(const std::string& text) {
  const auto parsed = parse_policy_file(text);
  return parsed ? "none" : std::to_string(parsed.error().line) + ": " + parsed.error().message;
}

Policy with(void (*change)(Policy&)) {
  Policy changed;
  change(changed);
  return changed;
}

TEST(PolicyFile, BothWaysToWriteAKey) {  // H3
  const Policy five = with([](Policy& it) { it.max_concurrent_agents = 5; });
  for (const char* item :
       {"- maxConcurrentAgents: 5", "- [x] Max concurrent agents: 5", "* max_concurrent_agents: 5",
        "+ MAX-CONCURRENT-AGENTS:5", "1. **Max concurrent agents:** `5`",
        " - [X] maxconcurrentagents : 5", "- maxConcurrentAgents: 5 (over all projects)",
        "- maxConcurrentAgents: 5 <!-- was 2 -->", "- [x] Max concurrent agents (all): 5\t"}) {
    EXPECT_EQ(policy("# Constraints\n" + std::string(item) + "\n"), five) << item;
  }
}

TEST(PolicyFile, Toggles) {  // H3
  const Policy off = with([](Policy& it) { it.retry_blocked = false; });
  for (const char* item : {"- [ ] Retry blocked", "- retryBlocked: false", "- retryBlocked: No",
                           "- [ ] retryBlocked: off", "- [] retryBlocked",
                           "- [ ] retryBlocked:", "- [ ] `retryBlocked` (see: the note)"}) {
    EXPECT_EQ(policy("## Builder\n" + std::string(item)), off) << item;
  }
  for (const char* item : {"- [x] retryBlocked", "- retryBlocked: true", "- retryBlocked: YES",
                           "- [ x ] retryBlocked: on"}) {
    EXPECT_EQ(policy("## Builder\n" + std::string(item)), Policy{}) << item;
  }
}

TEST(PolicyFile, AllOfIt) {  // H3
  const Policy all = policy(R"(Read this first: it is prose.

# CONSTRAINTS
- maxConcurrentAgents: 4
- [x] Max concurrent agents per project: 2
- blockedRetryMinutes: 45
- maxAttempts: 5
- agentTimeoutMinutes: 90
#### 2. Builder:
- [ ] processBacklog
- [ ] retryBlocked
Synthesizer
-----------
- mergeVerified: false
###### Notifications ######
- websocketEvents: no
# Notes
- maxConcurrentAgents: what you like
- [-] given up
)");
  const Policy expected{4, 2, 45, 5, 90, false, false, false, ChecksChanged::approve, false};
  EXPECT_EQ(all, expected);
}

TEST(PolicyFile, FreeTextIsIgnored) {
  for (const char* text : {"",
                           "\n",
                           "\xEF\xBB\xBF",
                           "- maxAttempts: 9\n",
                           "# Ideas\n- maxAttempts: 9\n",
                           "# Constraints\nmaxAttempts: 9\n",
                           "# Constraints\n- a note\n  - maxAttempts: 9\n",
                           "# Constraints\n- a note\n\n  maxAttempts: 9\n",
                           "# Constraints\n\n    - maxAttempts: 9\n",
                           "# Constraints\n```\n- maxAttempts: 9\n```\n",
                           "# Constraints\n~~~~ md\n- maxAttempts: 9\n~~~\n~~~~\n",
                           "# Constraints\n<!--\n- maxAttempts: 9\n-->\n",
                           "# Constraints\n<!-- - maxAttempts: 9 -->\n",
                           "# Constraints\n- [ ] maxAttempts: 9\n",
                           "# Constraints\n- see https://example.org/a\n",
                           "# Constraints\n- [our rules](rules.md)\n",
                           "# Constraints\n- [1] a footnote\n",
                           "# Constraints\n### Why\n- maxAttempts: 9\n",
                           "# Constraints\n- write (a: b)\n",
                           "#Constraints\n- maxAttempts: 9\n",
                           "####### Constraints\n- maxAttempts: 9\n",
                           "# Constraints\n---\n***\n",
                           "# Constraints\n- `<!--` begins a comment\n",
                           "# Constraints\n-\n"}) {
    EXPECT_EQ(policy(text), Policy{}) << text;
  }
}

TEST(PolicyFile, AListGoesOnBehindWhatBelongsToAnItem) {
  EXPECT_EQ(policy("# Constraints\n- one\n  more of it\n\n  - nested: 3\n\n- maxAttempts: 9\n")
                .max_attempts,
            9);
  EXPECT_EQ(policy("# Constraints\n- one\nlazy\n- maxAttempts: 9\n").max_attempts, 9);
  EXPECT_EQ(policy("# Constraints\n- one\n\n  ```\n  - nested: 3\n  ```\n- maxAttempts: 9\n")
                .max_attempts,
            9);
  EXPECT_EQ(policy("# Constraints\n- one\n\nA paragraph.\n\n  - maxAttempts: 9\n").max_attempts, 9);
}

TEST(PolicyFile, LinesMayEndAsTheyLike) {
  EXPECT_EQ(
      policy("\xEF\xBB\xBF# Constraints\r\n\r\n- maxAttempts: 9\r\n# Builder\r\n- [ ] retryBlocked")
          .max_attempts,
      9);
  EXPECT_FALSE(policy("\xEF\xBB\xBF# Builder\r\n- [ ] retryBlocked").retry_blocked);
}

TEST(PolicyFile, BytesThatAreNotUtf8) {
  EXPECT_EQ(policy("# Constraints\n\xFF\xC3\x28 prose\n- \x80 note\n- maxAttempts: 9").max_attempts,
            9);
  const std::string message = policy_refusal("# Constraints\n- maxAtt\xFFmpts: 9");
  EXPECT_TRUE(is_utf8(message));
  EXPECT_NE(message.find("\"- maxAttempts: N\""), std::string::npos) << message;
  EXPECT_EQ(policy_refusal(std::string("#\0 \0C\0o\0", 8)),
            "1: there is a NUL byte: save the file as UTF-8 text");
}

TEST(PolicyFile, RefusesWithTheLineAndWhatToWrite) {  // H3
  const auto expect_refusal = [](const std::string& text, const std::string& expected) {
    const std::string found = policy_refusal(text);
    EXPECT_EQ(found.substr(0, expected.size()), expected) << text << ": " << found;
  };
  expect_refusal(
      "# Constraints\n\n- maxConcurentAgents: 2\n",
      "3: \"maxConcurentAgents\" is not a key of a policy; write \"- maxConcurrentAgents: N\" "
      "with a "
      "whole number N from 1 to 1000");
  expect_refusal(
      "# Builder\r\n- [x] proces backlog\r\n",
      "2: \"proces backlog\" is not a key of a policy; write \"- [x] processBacklog\" or");
  expect_refusal("# Builder\n- colour: blue\n",
                 "2: \"colour\" is not a key of a policy; the keys are maxConc");
  expect_refusal("# Builder\n- : blue\n", "2: \"\" is not a key of a policy; the keys are maxConc");
  expect_refusal("# Builder\n- [x]\n", "2: \"\" is not a key");
  expect_refusal("# Builder\n- maxAttempts2: 3\n",
                 "2: \"maxAttempts2\" is not a key of a policy; write \"- maxAtt");
  expect_refusal("# Constraints\n- maxAttempts: three\n",
                 "2: maxAttempts: \"three\" is not a whole number; write \"- maxAttempts: N\"");
  expect_refusal("# Constraints\n- maxAttempts: 2.5\n",
                 "2: maxAttempts: \"2.5\" is not a whole number");
  expect_refusal("# Constraints\n- maxAttempts: -1\n",
                 "2: maxAttempts: \"-1\" is not a whole number");
  expect_refusal("# Constraints\n- maxAttempts: 0x10\n",
                 "2: maxAttempts: \"0x10\" is not a whole number");
  expect_refusal("# Constraints\n- maxAttempts: 3 times\n",
                 "2: maxAttempts: \"3 times\" is not a whole number");
  expect_refusal("# Constraints\n- maxAttempts:\n", "2: maxAttempts: \"\" is not a whole number");
  expect_refusal("# Constraints\n- [x] maxAttempts\n", "2: maxAttempts: its number is missing");
  expect_refusal("# Constraints\n- maxAttempts: 0\n",
                 "2: maxAttempts: \"0\" is out of range; write");
  expect_refusal("# Constraints\n- maxAttempts: 101\n",
                 "2: maxAttempts: \"101\" is out of range; write");
  expect_refusal("# Constraints\n- agentTimeoutMinutes: 10081\n",
                 "2: agentTimeoutMinutes: \"10081\" is out");
  expect_refusal("# Constraints\n- maxAttempts: 99999999999999999999\n",
                 "2: maxAttempts: \"99999999999999");
  expect_refusal("# Constraints\n- [ ] maxAttempts: 999\n",
                 "2: maxAttempts: \"999\" is out of range");
  expect_refusal("# Builder\n- retryBlocked: maybe\n",
                 "2: retryBlocked is on or off, not \"maybe\"; write");
  expect_refusal("# Builder\n- [x] retryBlocked: no\n",
                 "2: retryBlocked's box says one thing and \"no\"");
  expect_refusal("# Builder\n- [-] retryBlocked\n", "2: a box is [x] or [ ], not [-]");
  expect_refusal("# Builder\n- [y] retryBlocked\n", "2: a box is [x] or [ ], not [y]");
  expect_refusal("# Constraints\n- maxAttempts: 3\n# Builder\n- Max attempts: 3\n",
                 "4: maxAttempts is said in line 2 already");
  expect_refusal("# Constraints\n```\n- maxAttempts: 3\n", "2: this block of code isn't closed");
  expect_refusal("a <!-- b\n# Constraints\n- maxAttempts: 3\n", "1: this comment isn't closed");
  expect_refusal(std::string(64 * 1024 + 1, ' '),
                 "0: the file has 65537 bytes; at most 65536 are read");
  expect_refusal(std::string(1024 * 1024, 'x'), "0: the file has 1048576 bytes");
  EXPECT_EQ(policy(std::string(64 * 1024, ' ')), Policy{});
}

// Such a line in another section may be a misspelt limit, which must not be ignored.
TEST(PolicyFile, UnknownNotificationsAreWarnings) {  // A8
  std::vector<LineError> warnings;
  const auto parsed = parse_policy_file(
      "# Heartbeat\n\n## Constraints\n- maxConcurrentAgents: 3\n\n## Synthesizer\n"
      "- [ ] mergeVerified\n\n## Notifications\n- [x] websocketEvents\n- [ ] telegramSpawned\n"
      "- telegramChat: 17\n",
      &warnings);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->max_concurrent_agents, 3U);
  EXPECT_FALSE(parsed->merge_verified);
  EXPECT_TRUE(parsed->websocket_events);
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_EQ(warnings[0].line, 11U);
  EXPECT_NE(warnings[0].message.find("telegramSpawned"), std::string::npos);
  EXPECT_EQ(warnings[1].line, 12U);
  EXPECT_EQ(policy("# Notifications\n- [ ] websocketEvents\n").websocket_events, false);
  EXPECT_NE(policy_refusal("# Builder\n- [ ] telegramSpawned\n"), "none");
  EXPECT_NE(policy_refusal("# Notifications\n- websocketEvents: maybe\n"), "none");
}

TEST(PolicyFile, SaysWhatAChangeOfChecksNeeds) {  // A7
  EXPECT_EQ(Policy{}.checks_changed, ChecksChanged::approve);
  EXPECT_EQ(policy("## Synthesizer\n- checksChanged: allow\n").checks_changed,
            ChecksChanged::allow);
  EXPECT_EQ(policy("## Synthesizer\n- [x] Checks changed: `Refuse` (no)\n").checks_changed,
            ChecksChanged::refuse);
  EXPECT_EQ(policy("## Synthesizer\n- [ ] checksChanged: allow\n").checks_changed,
            ChecksChanged::approve)
      << "an empty box sets nothing";
  for (const char* wrong : {"- checksChanged: yes", "- checksChanged:", "- [x] checksChanged",
                            "- checksChanged: approve, allow", "- checksChanged: 1"}) {
    const std::string refusal = policy_refusal("## Synthesizer\n" + std::string(wrong) + "\n");
    EXPECT_NE(refusal.find("\"allow\" or \"refuse\""), std::string::npos) << wrong << refusal;
  }
}

TEST(PolicyFile, EachFieldOfAPolicyHasAKey) {
  using Members = boost::describe::describe_members<Policy, boost::describe::mod_any_access>;
  EXPECT_EQ(policy_keys().size(), boost::mp11::mp_size<Members>::value);
  std::set<std::string> names;
  for (const PolicyKey& key : policy_keys()) names.insert(policy_letters(key.name));
  boost::mp11::mp_for_each<Members>([&names](auto member) {
    EXPECT_TRUE(names.contains(policy_letters(member.name))) << member.name;
  });
}

Policy random_policy() {
  const auto number = [](std::int64_t max) { return *rc::gen::inRange<std::int64_t>(1, max + 1); };
  Policy made;
  made.max_concurrent_agents = static_cast<std::uint32_t>(number(policy_agents_max));
  made.max_concurrent_agents_per_project = static_cast<std::uint32_t>(number(policy_agents_max));
  made.blocked_retry_minutes = number(policy_retry_minutes_max);
  made.max_attempts = static_cast<std::uint32_t>(number(policy_attempts_max));
  made.agent_timeout_minutes = number(policy_agent_timeout_minutes_max);
  made.process_backlog = *rc::gen::arbitrary<bool>();
  made.retry_blocked = *rc::gen::arbitrary<bool>();
  made.merge_verified = *rc::gen::arbitrary<bool>();
  made.checks_changed =
      *rc::gen::element(ChecksChanged::approve, ChecksChanged::allow, ChecksChanged::refuse);
  made.websocket_events = *rc::gen::arbitrary<bool>();
  return made;
}

// Returns a file that states `policy`, with a note to each key.
std::string file_of(const Policy& policy) {
  std::string text = "# Heartbeat\n\nProse.\n";
  std::string_view section;
  for (const PolicyKey& key : policy_keys()) {
    if (key.section != section) text += "\n## " + std::string(section = key.section) + "\n\n";
    const auto write = [&](auto field) -> std::string {
      if constexpr (std::is_same_v<decltype(field), bool Policy::*>) {
        return (policy.*field ? "- [x] " : "- [ ] ") + std::string(key.name);
      } else if constexpr (std::is_same_v<decltype(field), ChecksChanged Policy::*>) {
        return "- " + std::string(key.name) + ": " +
               boost::describe::enum_to_string(policy.*field, "none");
      } else {
        return "- " + std::string(key.name) + ": " + std::to_string(policy.*field);
      }
    };
    text += std::visit(write, key.field) + " (a note: of what it is)\n";
  }
  return text;
}

RC_GTEST_PROP(PolicyFile, WhatIsWrittenComesBack, ()) {
  const Policy made = random_policy();
  const auto parsed = parse_policy_file(file_of(made));
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(*parsed == made);
}

// Any bytes give either a policy or a printable error.
void expect_harmless(const std::string& bytes) {
  const auto parsed = parse_policy_file(bytes);
  if (parsed) return;
  const auto lines = static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n')) + 1;
  ASSERT_LE(parsed.error().line, lines);
  ASSERT_TRUE(is_utf8(parsed.error().message)) << parsed.error().message;
  ASSERT_LT(parsed.error().message.size(), 1024U);
}

TEST(PolicyFile, RandomAndMutatedBytesDoNoHarm) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE("SIGNALBOX_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto pick = [&random](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  };
  const std::vector<std::string> pieces = {"#",
                                           "# ",
                                           "- ",
                                           "[x] ",
                                           "[ ]",
                                           "[",
                                           "]",
                                           ":",
                                           "\n",
                                           "\r\n",
                                           "```",
                                           "~~~",
                                           "<!--",
                                           "-->",
                                           "`",
                                           "  ",
                                           "\t",
                                           "1. ",
                                           "===",
                                           "---",
                                           "(",
                                           "\xFF",
                                           "\xF0\x9F\x98\x80",
                                           std::string(1, '\0'),
                                           "Constraints",
                                           "maxAttempts",
                                           "9"};
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(pick(200), '\0');
    for (char& byte : bytes) byte = static_cast<char>(pick(256));
    expect_harmless(bytes);
    expect_harmless("# Constraints\n- " + bytes);

    std::string mutated = file_of(Policy{});
    for (std::size_t change = pick(8) + 1; change > 0; --change) {
      const std::size_t at = pick(mutated.size());
      switch (pick(3)) {
        case 0:
          mutated.erase(at, pick(20));
          break;
        case 1:
          mutated.insert(at, pieces[pick(pieces.size())]);
          break;
        default:
          mutated[at] = static_cast<char>(pick(256));
      }
      if (mutated.empty()) mutated = "#";
    }
    expect_harmless(mutated);

    std::string assembled = "# Constraints\n";
    for (std::size_t piece = pick(40); piece > 0; --piece) assembled += pieces[pick(pieces.size())];
    expect_harmless(assembled);
  }
}

TEST(PolicyFile, LongFilesTakeNoLongTime) {
  const auto fill = [](const std::string& beginning, const std::string& piece) {
    std::string text = beginning;
    while (text.size() + piece.size() <= policy_file_bytes_max) text += piece;
    return text;
  };
  const std::clock_t began = std::clock();  // of this process, whatever runs beside it
  for (const std::string& text :
       {fill("# Constraints\n", "- \n"), fill("# Constraints\n- ", "a"),
        fill("# Constraints\n- [x] ", "maxAttempt"), fill("", "<!-- -->"), fill("", "`<!--"),
        fill("", "prose\n") + "===", fill("# " + std::string(30000, 'h') + "\n", "-\n"),
        fill("# Constraints\n- a: ", "1"), fill("", "#"), fill("", "[")}) {
    expect_harmless(text);
  }
  EXPECT_LT((std::clock() - began) / CLOCKS_PER_SEC, 30);
}

}  // namespace
}  // namespace signalbox
