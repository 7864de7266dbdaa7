// Texts that somebody has to give: blanks alone, which is what a script's variable may have, are
// refused as an empty text is. P7
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "domain/text_parts.h"
#include "tests/domain/limits_fixture.h"

namespace signalbox {
namespace {

class BlankText : public LimitsTest {
 protected:
  // Returns the message with which `command` is refused; empty if it isn't.
  [[nodiscard]] std::string refusal_text(const Command& command) const {
    const auto decided = decide(world, command, now);
    return decided ? std::string() : decided.error().message;
  }
};

TEST_F(BlankText, IsRefusedWhereATextHasToBeGiven) {  // P7
  StartRun start;
  start.run_id = run;
  SubmitCard submit;
  submit.project = "p";
  BlockCard block;
  IssueAccessToken issue;
  AcquireLock acquire;
  acquire.key = "key";
  acquire.owner = "owner";
  BeginTick begin;
  begin.loop = "nightly";
  const RecoverTick recover{"nightly", "checked", true};
  PutProject put;
  put.name = "p";
  put.repository = "/r";
  const std::vector<std::pair<const char*, WithText>> texts{
      {"goal", with_field(start, &StartRun::goal)},
      {"title", with_field(submit, &SubmitCard::title)},
      {"reason", with_field(block, &BlockCard::reason)},
      {"name", with_field(issue, &IssueAccessToken::name)},
      {"key", with_field(acquire, &AcquireLock::key)},
      {"owner", with_field(acquire, &AcquireLock::owner)},
      {"loop", with_field(begin, &BeginTick::loop)},
      {"stage", with_field(begin, &BeginTick::stage)},
      {"reason", with_field(recover, &RecoverTick::reason)},
      {"name", with_field(put, &PutProject::name)},
      {"base", with_field(put, &PutProject::base)},
  };
  for (const auto& [field, command] : texts) {
    EXPECT_EQ(refusal_text(command("")), std::string(field) + " must not be empty");
    EXPECT_EQ(refusal_text(command("   ")),
              std::string(field) + " must not be only blanks: say in words what it is");
    EXPECT_EQ(refusal_of(command("   ")), ErrorCode::INVALID_PARAMS);
  }
  start.goal = " \t\r\n";
  EXPECT_EQ(refusal_of(start), ErrorCode::INVALID_PARAMS);
  start.goal = "g";
  start.labels[" "] = "its name shows as nothing";
  EXPECT_EQ(refusal_of(start), ErrorCode::INVALID_PARAMS);
}

// An earlier version took such names: what has one can be ended.
TEST_F(BlankText, OfWhatIsThereIsLookedFor) {
  const EndTick end{" ", 1, TickOutcome::succeeded, {}};
  EXPECT_EQ(refusal_of(end), ErrorCode::STALE_TOKEN);
  EXPECT_EQ(refusal_of(RecoverTick{" ", "its machine is gone", true}), std::nullopt);
  RefreshLock refresh;
  refresh.key = " ";
  EXPECT_EQ(refusal_of(refresh), ErrorCode::LOCK_NOT_OWNED);
}

TEST(IsBlank, OfEverySpace) {
  for (const char* blank :
       {"", " ", "\t \r\n\v\f", "\u00A0", "\u3000\u2003 ", "\uFEFF\u200B", "\u2028"}) {
    EXPECT_TRUE(shows_nothing(blank)) << '"' << blank << '"';
  }
  for (const char* text : {"a", " . ", "\u3000\u5B57", "-", "\xC2", "\xE2\x80"}) {
    EXPECT_FALSE(shows_nothing(text)) << '"' << text << '"';
  }
}

}  // namespace
}  // namespace signalbox
