#include "store/tree_head.h"

#include <algorithm>
#include <charconv>

#include "domain/try.h"
#include "store/base64.h"

namespace signalbox {

std::string tree_head_text(const TreeHead& head) {
  return head.origin + "\n" + std::to_string(head.size) + "\n" + to_base64(raw_bytes(head.root)) +
         "\n";
}

std::optional<TreeHead> parse_tree_head(std::string_view text) {
  const std::size_t origin_end = text.find('\n');
  if (origin_end == std::string_view::npos) return std::nullopt;
  const std::size_t size_end = text.find('\n', origin_end + 1);
  if (size_end == std::string_view::npos) return std::nullopt;
  TreeHead head;
  head.origin = text.substr(0, origin_end);
  const std::string_view size = text.substr(origin_end + 1, size_end - origin_end - 1);
  std::from_chars(size.data(), size.data() + size.size(), head.size);
  const std::string_view rest = text.substr(size_end + 1);
  const auto root = from_base64(rest.substr(0, rest.find('\n')));
  if (!root || root->size() != head.root.bytes.size()) return std::nullopt;
  std::copy(root->begin(), root->end(), head.root.bytes.begin());
  // Only the canonical text is accepted: no sign, no leading zeroes, no further lines.
  if (!valid_note_name(head.origin) || tree_head_text(head) != text) return std::nullopt;
  return head;
}

Stored<TreeHead> open_tree_head(std::string_view note, std::span<const NoteVerifier> trusted) {
  const auto opened = TRY(open_note(note, trusted));
  auto head = parse_tree_head(opened.text);
  StoreError error;
  error.kind = StoreError::Kind::damaged;
  if (!head) {
    error.message = "its text isn't that of a checkpoint";
    return tl::unexpected(std::move(error));
  }
  const auto same = [&head](const NoteVerifier& key) { return key.name == head->origin; };
  if (std::none_of(opened.signed_by.begin(), opened.signed_by.end(), same)) {
    error.message = "it is of the log " + head->origin + ", whose name is none of the keys'";
    return tl::unexpected(std::move(error));
  }
  return *std::move(head);
}

}  // namespace signalbox
