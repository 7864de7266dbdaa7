// The building blocks of event structs: the tag and the text types. The events of a noun are a
// OneOf (one_of.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/one_of.h"

namespace signalbox {

// The number, version and name under which an event is stored and shown.
struct EventTag {
  std::uint16_t number;  // append only; a retired number stays as a comment in event.h
  std::uint16_t version;
  std::string_view name;  // in JSON and for people
};

// The use of a text, which decides whether it may be erased later. Each text of an event declares
// it by its type: an event with a plain string doesn't compile (free_text.cc).
enum class TextUse {
  free,  // arbitrary text that only people read; may be erased
  json,  // likewise, a JSON value
  kept,  // names, keys, ids, codes and paths: identity, evolve() or a job needs them
};

// A text with its use. On disk, in JSON and for readers it is the string (or container) that it
// derives from.
template <TextUse use, class T = std::string>
struct Text : T {
  using T::T;
  using T::operator=;
  Text() = default;
  Text(T text) : T(std::move(text)) {}  // NOLINT(google-explicit-constructor)
};

using FreeText = Text<TextUse::free>;
using FreeTexts = Text<TextUse::free, std::vector<std::string>>;
using FreeLabels = Text<TextUse::free, std::map<std::string, std::string>>;  // the keys are kept
using FreeJson = Text<TextUse::json>;
using KeptText = Text<TextUse::kept>;
using KeptTexts = Text<TextUse::kept, std::vector<std::string>>;

}  // namespace signalbox
