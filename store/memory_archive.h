// cereal archives that write to a string and read from memory, in the format of cereal's portable
// binary archive: little endian, after one byte for the byte order.
//
// cereal's own archives use a stream, with a virtual call for every field, and allocate their
// pointer-tracking maps (which nothing here uses) for every archive. For payloads of a hundred
// bytes that costs several times the coding itself. These archives can be restarted and reused.
//
// Internal, like described_archive.h.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include <cereal/cereal.hpp>

namespace signalbox::described {

static_assert(std::endian::native == std::endian::little,
              "these archives copy integers as they lie in memory");

// The first byte of an archive. Only this byte order is written.
inline constexpr std::uint8_t little_endian = 1;

// The bytes don't encode a value of the type. Thrown while decoding, and caught by decode_payload()
// or a codec like it.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class MemoryOutput final
    : public cereal::OutputArchive<MemoryOutput, cereal::AllowEmptyClassElision> {
 public:
  MemoryOutput() : OutputArchive(this) {}

  // Starts an archive that is appended to `out`, which must outlive the last write.
  void begin(std::string& out) {
    out_ = &out;
    (*this)(little_endian);
  }
  void put(const void* bytes, std::size_t size) {
    out_->append(static_cast<const char*>(bytes), size);
  }

 private:
  std::string* out_ = nullptr;
};

class MemoryInput final : public cereal::InputArchive<MemoryInput, cereal::AllowEmptyClassElision> {
 public:
  MemoryInput() : InputArchive(this) {}

  // Starts reading `bytes`, which must outlive the last read.
  void begin(std::string_view bytes) {
    left_ = bytes;
    std::uint8_t order = 0;
    (*this)(order);
    if (order != little_endian) throw Malformed("an unknown order of bytes");
  }
  // Returns the next `size` bytes and skips them. Throws Malformed if there are fewer.
  std::string_view take(std::size_t size) {
    if (size > left_.size()) throw Malformed("fewer bytes than its fields");
    const std::string_view taken(left_.data(), size);
    left_.remove_prefix(size);
    return taken;
  }
  [[nodiscard]] std::size_t left() const { return left_.size(); }

 private:
  std::string_view left_;
};

// cereal finds these functions by the archive's type.
template <std::integral T>
void CEREAL_SAVE_FUNCTION_NAME(MemoryOutput& archive, const T& value) {
  archive.put(&value, sizeof value);
}
template <std::integral T>
void CEREAL_LOAD_FUNCTION_NAME(MemoryInput& archive, T& value) {
  std::memcpy(&value, archive.take(sizeof value).data(), sizeof value);
}

}  // namespace signalbox::described
