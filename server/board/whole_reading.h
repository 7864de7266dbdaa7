// Decides which reading of a file is whole, if others may rewrite the file in its place meanwhile.
#pragma once

#include <optional>
#include <string>

namespace signalbox {

class WholeReading {
 public:
  // Takes the next reading of the same file, and returns whether its text is whole: the file's
  // attributes were the same before and after. If the file is young, attributes don't show each
  // change of it, so it must also have been read alike the time before.
  bool is_whole(const std::string& text, bool changed_meanwhile, bool is_young) {
    const bool is_alike = previous_ == text;
    previous_ = changed_meanwhile ? std::nullopt : std::optional(text);
    return !changed_meanwhile && (!is_young || is_alike);
  }

 private:
  std::optional<std::string> previous_;
};

}  // namespace signalbox
