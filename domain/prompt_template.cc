#include "domain/prompt_template.h"

#include <algorithm>

#include "domain/text_parts.h"

namespace signalbox {
namespace {

const std::string* value_of(std::string_view name, const PromptValues& values) {
  if (name == "goal") return &values.goal;
  if (name == "input") return &values.input;
  if (name == "previous") return &values.previous;
  if (name == "strategy") return &values.strategy;
  if (name == "station") return &values.station;
  return nullptr;
}

struct Placeholder {
  std::size_t begin = 0;
  std::size_t end = 0;  // behind its braces
  std::string_view name;
};

std::optional<Placeholder> next_placeholder(std::string_view text, std::size_t from) {
  const std::size_t begin = text.find("{{", from);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = text.find("}}", begin + 2);
  if (end == std::string_view::npos) return std::nullopt;
  return Placeholder{begin, end + 2, trimmed(text.substr(begin + 2, end - begin - 2), " \t")};
}

}  // namespace

std::optional<std::string> unknown_placeholder(std::string_view text) {
  const PromptValues none;
  for (auto place = next_placeholder(text, 0); place; place = next_placeholder(text, place->end)) {
    if (value_of(place->name, none) == nullptr) {
      return std::string(
          text.substr(place->begin, std::min<std::size_t>(place->end - place->begin, 64)));
    }
  }
  return std::nullopt;
}

std::string fill_prompt(std::string_view text, const PromptValues& values) {
  std::string filled;
  std::size_t done = 0;
  for (auto place = next_placeholder(text, 0); place; place = next_placeholder(text, place->end)) {
    const std::string* value = value_of(place->name, values);
    filled += text.substr(done, place->begin - done);
    filled += value != nullptr ? *value : text.substr(place->begin, place->end - place->begin);
    done = place->end;
  }
  filled += text.substr(done);
  return filled;
}

}  // namespace signalbox
