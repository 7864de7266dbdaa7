// Templates with placeholders, for the prompts of coding agents: "Do {{goal}}".
//
// In domain/ and not in server/, because a pipeline with an unknown placeholder is rejected when a
// run starts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace signalbox {

// The value of each placeholder, by name.
struct PromptValues {
  std::string goal;
  std::string input;
  std::string previous;
  std::string strategy;
  std::string station;
};

// Returns the first unknown "{{…}}" with its braces (at most 64 bytes), or nullopt if all are
// known.
std::optional<std::string> unknown_placeholder(std::string_view text);

// Returns `text` with its placeholders replaced. Placeholders inside a value aren't replaced, and
// unknown ones stay.
std::string fill_prompt(std::string_view text, const PromptValues& values);

}  // namespace signalbox
