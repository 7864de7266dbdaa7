// The fixture of the tests of limits: a command with a value at its limit is accepted, and one that
// exceeds it by one is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "domain/limits.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {

// Returns a function that returns `command` with its `field` set to the function's argument.
template <class OneCommand, class Field>
auto with_field(OneCommand command, Field OneCommand::*field) {
  return [command = std::move(command), field](auto value) {
    OneCommand changed = command;
    changed.*field = std::move(value);
    return Command(std::move(changed));
  };
}

class LimitsTest : public GivenWhenThen {
 protected:
  using WithText = std::function<Command(std::string)>;
  using WithNumber = std::function<Command(std::int64_t)>;

  // Returns the code with which the command is refused now; nullopt if it is accepted. The world
  // stays as it is.
  [[nodiscard]] std::optional<ErrorCode> refusal_of(const Command& command) const {
    const auto decided = decide(world, command, now);
    if (decided) return std::nullopt;
    return decided.error().code;
  }

  // Expects that a text, which begins with `first`, may have `bytes_max` bytes.
  void expect_bytes_max(const char* field, std::size_t bytes_max, const WithText& command,
                        char first = 'x') const {
    std::string text(bytes_max, 'x');
    text.front() = first;
    EXPECT_EQ(refusal_of(command(text)), std::nullopt) << field;
    EXPECT_EQ(refusal_of(command(text + "x")), ErrorCode::LIMIT_EXCEEDED) << field;
  }

  // Expects that a number may lie between `min` and `max`.
  void expect_between(const char* field, std::int64_t min, std::int64_t max,
                      const WithNumber& command) const {
    EXPECT_EQ(refusal_of(command(min - 1)), ErrorCode::INVALID_PARAMS) << field;
    EXPECT_EQ(refusal_of(command(min)), std::nullopt) << field;
    EXPECT_EQ(refusal_of(command(max)), std::nullopt) << field;
    EXPECT_EQ(refusal_of(command(max + 1)), ErrorCode::INVALID_PARAMS) << field;
  }

  // Returns the length of the longest text, at most `bytes_max`, with which the command is
  // accepted.
  [[nodiscard]] std::size_t longest_accepted(std::size_t bytes_max, const WithText& command) const {
    std::size_t accepted = 0;
    std::size_t refused = bytes_max + 1;
    while (refused - accepted > 1) {
      const std::size_t bytes = accepted + (refused - accepted) / 2;
      (refusal_of(command(std::string(bytes, 'x'))) ? refused : accepted) = bytes;
    }
    return accepted;
  }
};

}  // namespace signalbox
