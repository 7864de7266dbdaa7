#include "store/table_properties.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "store/directory_listing.h"
#include "store/file_descriptor.h"
#include "store/little_endian.h"

namespace signalbox {
namespace {

// The kind of checksum, two handles in 40 bytes, the version, and the magic number.
constexpr std::size_t footer_bytes = 53;
constexpr std::size_t word_bytes = sizeof(std::uint32_t);
constexpr std::uint64_t block_based_magic = 0x88e241b785f4cff7;
constexpr std::uint64_t meta_index_bytes_max = 64 * 1024;
constexpr std::uint32_t hash_index_bit = std::uint32_t{1} << 31;

// Where a block lies; its size is without the five bytes that follow it.
struct BlockPlace {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  [[nodiscard]] bool is_within(std::uint64_t bytes) const {
    return size >= word_bytes && size <= bytes && offset <= bytes - size;
  }
};

// Takes a number of seven bits a byte, the lowest first, from the beginning of `left`.
std::optional<std::uint64_t> take_number(std::string_view& left) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64 && !left.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(left.front());
    left.remove_prefix(1);
    number |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if ((byte & 0x80U) == 0) return number;
  }
  return std::nullopt;
}

std::optional<BlockPlace> take_place(std::string_view& left) {
  const auto offset = take_number(left);
  const auto size = offset ? take_number(left) : std::nullopt;
  if (!size) return std::nullopt;
  return BlockPlace{*offset, *size};
}

// Returns where the block of properties lies by this block, which lists the blocks with no records.
std::optional<BlockPlace> place_of_properties(std::string_view meta_index) {
  const auto restarts =
      read_integer<std::uint32_t>(meta_index.data() + meta_index.size() - word_bytes);
  if (restarts > meta_index.size() / word_bytes - 1) return std::nullopt;
  std::string_view left = meta_index.substr(0, meta_index.size() - word_bytes * (restarts + 1));
  std::string key;
  while (!left.empty()) {
    const auto shared = take_number(left);  // with the key before
    const auto other = shared ? take_number(left) : std::nullopt;
    const auto value = other ? take_number(left) : std::nullopt;
    if (!value || *shared > key.size() || *other > left.size()) return std::nullopt;
    key.resize(*shared);
    key += left.substr(0, *other);
    left.remove_prefix(*other);
    if (*value > left.size()) return std::nullopt;
    std::string_view place = left.substr(0, *value);
    if (key == "rocksdb.properties") return take_place(place);
    left.remove_prefix(*value);
  }
  return std::nullopt;
}

bool has_hash_index_of_properties(const FileDescriptor& file, std::uint64_t bytes) {
  if (bytes < footer_bytes) return false;
  const std::string footer = read_bytes_at(file, bytes - footer_bytes, footer_bytes);
  if (footer.size() < footer_bytes) return false;
  const char* magic = footer.data() + footer_bytes - sizeof block_based_magic;
  if (read_integer<std::uint64_t>(magic) != block_based_magic) return false;
  std::string_view handles = std::string_view(footer).substr(1, 40);
  const auto place = take_place(handles);
  if (!place || !place->is_within(bytes) || place->size > meta_index_bytes_max) return false;
  const std::string meta_index = read_bytes_at(file, place->offset, place->size);
  if (meta_index.size() < place->size) return false;
  const auto properties = place_of_properties(meta_index);
  if (!properties || !properties->is_within(bytes)) return false;
  const std::string word =
      read_bytes_at(file, properties->offset + properties->size - word_bytes, word_bytes);
  return word.size() == word_bytes &&
         (read_integer<std::uint32_t>(word.data()) & hash_index_bit) != 0;
}

}  // namespace

Stored<void> check_table_properties(const std::filesystem::path& directory) {
  std::error_code failed;  // a directory that isn't there has no tables
  for (const auto& each : list_directory(directory, failed)) {
    if (each.path().extension() != ".sst") continue;
    const FileDescriptor file(::open(each.path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    std::error_code unknown;
    const std::uintmax_t bytes = each.file_size(unknown);
    if (!file || unknown) continue;
    if (has_hash_index_of_properties(file, bytes)) {
      return store_failure(
          StoreError::Kind::damaged,
          "the table " + each.path().string() + " is damaged: a bit of its properties was changed",
          each.path().string());
    }
  }
  return {};
}

}  // namespace signalbox
