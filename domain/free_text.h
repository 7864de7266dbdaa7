// Finds and erases the texts that people and programs wrote into events as they liked: goals,
// reasons, messages, outputs. Which those are, their types say (event_parts.h).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "domain/event.h"

namespace signalbox {

inline constexpr std::string_view blanked_text = "[redacted]";

// A free text that an event has, and where: "goal", "failure.message", "labels" (of one of them).
struct FoundText {
  std::string field;
  std::string text;

  friend bool operator==(const FoundText&, const FoundText&) = default;
};

// All of an event that aren't empty, in its order.
std::vector<FoundText> free_texts(const Event& event);

// Their fields, each once.
std::vector<std::string> free_text_fields(const Event& event);

// Whether there is nothing left of the text but that it was erased.
bool is_blank(std::string_view text);

enum class Blank {
  telling,   // "[redacted]", or {"redacted":true} where it has to be JSON
  shortest,  // of a byte, or {} where it has to be JSON: for a record that would become too large
};

// The event without its free texts in `fields`. Empty ones stay so, and nothing else changes.
Event without_free_texts(Event event, std::span<const std::string> fields, Blank blank);

// How much longer, in bytes, an event can become by that with Blank::shortest: JSON texts of one
// byte, of which an event has no more than two.
inline constexpr std::size_t blank_growth_bytes_max = 2;

}  // namespace signalbox
