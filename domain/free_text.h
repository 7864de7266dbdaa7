// Finds and erases the free texts of events: goals, reasons, messages, outputs. A field's type
// declares whether it is a free text (event_parts.h).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "domain/event.h"

namespace signalbox {

inline constexpr std::string_view blanked_text = "[redacted]";

// A free text of an event.
struct FoundText {
  std::string field;  // path: "goal", "failure.message", "labels" (for each label's value)
  std::string text;

  friend bool operator==(const FoundText&, const FoundText&) = default;
};

// Returns the event's free texts that aren't empty, in the order of its fields.
std::vector<FoundText> free_texts(const Event& event);

// Returns the fields of free_texts(), each once.
std::vector<std::string> free_text_fields(const Event& event);

// Returns whether the text is one of those that replace an erased text.
bool is_blank(std::string_view text);

// The replacement of an erased text.
enum class Blank {
  telling,   // "[redacted]", or {"redacted":true} for JSON
  shortest,  // one byte, or {} for JSON: if the record would become too large otherwise
};

// Returns the event with its free texts in `fields` blanked. Empty texts stay empty, and nothing
// else changes.
Event without_free_texts(Event event, std::span<const std::string> fields, Blank blank);

}  // namespace signalbox
