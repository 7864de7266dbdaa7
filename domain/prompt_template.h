// Texts with placeholders, as a coding agent's prompt has them: "Do {{goal}}".
//
// Here and not in server/, since a pipeline with an unknown placeholder is refused at its start.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace signalbox {

// What each placeholder stands for, by its name.
struct PromptValues {
  std::string goal;
  std::string input;
  std::string previous;
  std::string strategy;
  std::string station;
};

// The first "{{…}}" that stands for nothing, with its braces; nothing if all are known.
std::optional<std::string> unknown_placeholder(std::string_view text);

// Each placeholder of `text` replaced, once: what a value brings along stays as it is. Unknown
// ones stay, too.
std::string fill_prompt(std::string_view text, const PromptValues& values);

}  // namespace signalbox
