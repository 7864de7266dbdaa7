// What the structs of events are made of: the tag of each one, its texts, and the variant of the
// events of a noun.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox {

// The number, version and name under which an event is stored and shown.
struct EventTag {
  std::uint16_t number;  // append only; a retired one stays as a comment in event.h
  std::uint16_t version;
  std::string_view name;  // in JSON and on the screen
};

// Whether a text may be erased later. Each text of an event says it by its type: with a plain
// string in it, an event doesn't compile (free_text.cc).
enum class TextUse {
  free,  // anything may stand there, and nothing reads it but people
  json,  // likewise, a JSON value
  kept,  // names, keys, ids, codes and paths: identity, evolve() or a job needs them
};

// Beside that, it is the string that it derives from: on disk, in JSON, and for whoever reads it.
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

// A variant whose copying, moving, comparing and ending is compiled once, in event.cc, and not in
// each file that holds an event: that was half of the time to build.
template <class Variant>
class OneOf : public Variant {
 public:
  using Alternatives = Variant;

  using Variant::Variant;
  OneOf();
  OneOf(const OneOf& other);
  OneOf(OneOf&& other) noexcept;
  OneOf& operator=(const OneOf& other);
  OneOf& operator=(OneOf&& other) noexcept;
  ~OneOf();

  bool operator==(const OneOf& other) const;
};

}  // namespace signalbox
