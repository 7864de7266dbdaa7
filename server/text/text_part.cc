#include "server/text/text_part.h"

#include <algorithm>
#include <limits>

#include "server/text/utf8_text.h"

namespace signalbox {

TextPartReader::TextPartReader(std::uint64_t from, std::size_t bytes_max)
    : from_(std::min(from, std::numeric_limits<std::uint64_t>::max() - bytes_max)),
      bytes_max_(bytes_max) {}

void TextPartReader::add(std::string_view bytes) {
  digest_.update(bytes);
  const std::uint64_t begin = std::max(from_, end_);
  const std::uint64_t stop = std::min(from_ + bytes_max_, end_ + bytes.size());
  if (begin < stop) {
    kept_ += bytes.substr(static_cast<std::size_t>(begin - end_),
                          static_cast<std::size_t>(stop - begin));
  }
  end_ += bytes.size();
}

TextPart TextPartReader::finish() {
  TextPart part;
  part.offset = std::min(from_, end_);
  part.end = end_;
  part.sha256 = digest_.finish();
  for (;;) {
    if (part.offset + kept_.size() < end_) kept_.resize(kept_.size() - incomplete_end(kept_));
    part.text = with_replacements(kept_);
    if (part.text.size() <= bytes_max_) break;
    kept_.resize(kept_.size() / 2);  // replacements are longer than what they replace
  }
  part.next_offset = part.offset + kept_.size();
  return part;
}

}  // namespace signalbox
