// The texts that events hold. Each says by its type whether it may be erased later; an event with a
// plain string in it doesn't compile (free_text.cc). Else they are the strings that they derive
// from: on disk, in JSON, and for whoever reads or makes them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace signalbox {

enum class TextUse {
  free,  // anything may stand there, and nothing reads it but people
  json,  // likewise, a JSON value
  kept,  // names, keys, ids, codes and paths: identity, evolve() or a job needs them
};

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
