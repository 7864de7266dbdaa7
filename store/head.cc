#include "store/head.h"

#include <bit>
#include <cstring>

#include "store/crc32c.h"
#include "store/little_endian.h"
#include "store/newer_version.h"

namespace signalbox {
namespace {

constexpr std::uint8_t head_format_current = 1;
constexpr std::size_t crc_bytes = sizeof(std::uint32_t);
constexpr std::size_t fixed_bytes = crc_bytes + sizeof head_format_current + sizeof(std::uint64_t);

}  // namespace

void encode_head(const MerkleFrontier& frontier, std::string& out) {
  const std::size_t begin = out.size();
  append_integer(out, std::uint32_t{0});
  append_integer(out, head_format_current);
  append_integer(out, frontier.leaves);
  for (const Digest& subtree : frontier.subtrees) {
    out.append(raw_bytes(subtree));
  }
  const std::uint32_t crc = crc32c(std::string_view(out).substr(begin + crc_bytes));
  std::memcpy(out.data() + begin, &crc, sizeof crc);
}

Stored<MerkleFrontier> decode_head(std::string_view bytes) {
  if (bytes.size() < fixed_bytes ||
      crc32c(bytes.substr(crc_bytes)) != read_integer<std::uint32_t>(bytes.data())) {
    return store_failure(StoreError::Kind::damaged, "the checksum of the log's head is wrong");
  }
  const auto format = read_integer<std::uint8_t>(bytes.data() + crc_bytes);
  if (format > head_format_current) {
    return newer_version_failure("the log's head has format " + std::to_string(format));
  }
  MerkleFrontier frontier;
  frontier.leaves = read_integer<std::uint64_t>(bytes.data() + crc_bytes + sizeof format);
  bytes.remove_prefix(fixed_bytes);
  frontier.subtrees.resize(static_cast<std::size_t>(std::popcount(frontier.leaves)));
  if (format != head_format_current || bytes.size() != frontier.subtrees.size() * sizeof(Digest)) {
    return store_failure(StoreError::Kind::damaged, "the log's head doesn't fit its length");
  }
  for (Digest& subtree : frontier.subtrees) {
    std::memcpy(subtree.bytes.data(), bytes.data(), sizeof(Digest));
    bytes.remove_prefix(sizeof(Digest));
  }
  return frontier;
}

}  // namespace signalbox
