// A part of a long text that arrives in pieces, such as the output of a program: all of it is
// counted and hashed, and only the part is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "store/sha256.h"

namespace signalbox {

struct TextPart {
  std::uint64_t offset = 0;       // of its first byte in the whole text
  std::uint64_t next_offset = 0;  // of the byte after it
  std::uint64_t end = 0;          // bytes of the whole text
  Digest sha256;                  // of the whole text
  std::string text;               // valid UTF-8: see with_replacements()
};

class TextPartReader {
 public:
  // Keeps what follows the offset `from`, as much as `bytes_max` bytes of UTF-8 can show; at least
  // 64, so that each part is longer than one character.
  TextPartReader(std::uint64_t from, std::size_t bytes_max);

  // Adds the next bytes of the whole text.
  void add(std::string_view bytes);

  // Returns the part, once all bytes are added; empty if the text ends before it. A character that
  // goes on after it is left to the next part. Called once.
  TextPart finish();

 private:
  std::uint64_t from_;
  std::size_t bytes_max_;
  std::uint64_t end_ = 0;
  std::string kept_;
  Sha256 digest_;
};

}  // namespace signalbox
