#include "server/platform/exit_code.h"

#include <gtest/gtest.h>

namespace signalbox {
namespace {

using Kind = StoreError::Kind;

// Whatever only a person can put right isn't started again and again.
TEST(ExitCode, TellsWhatARestartDoesNotHelp) {
  for (const Kind kind :
       {Kind::damaged, Kind::unsupported, Kind::not_found, Kind::dropped, Kind::denied}) {
    EXPECT_EQ(exit_code_of(StoreError{kind, "why", {}, {}}), 78) << static_cast<int>(kind);
  }
  for (const Kind kind : {Kind::in_use, Kind::rebuilding, Kind::away}) {
    EXPECT_EQ(exit_code_of(StoreError{kind, "why", {}, {}}), 75) << static_cast<int>(kind);
  }
  for (const Kind kind : {Kind::full, Kind::io}) {
    EXPECT_EQ(exit_code_of(StoreError{kind, "why", {}, {}}), 74) << static_cast<int>(kind);
  }
}

}  // namespace
}  // namespace signalbox
