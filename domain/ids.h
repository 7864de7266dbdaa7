// Identifiers and digests that domain values carry.
//
// They are plain values with `==` and an order, so that they can be keys, can be compared in tests,
// and can be written field by field. Digests are computed in store/.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox {

// An event's number in the log: 1, 2, 3, … without gaps. 0 means "none" or "before the first".
using Position = std::uint64_t;

// A fencing token: the position of the event that granted it. 0 means "none".
using Token = std::uint64_t;

// A universally unique identifier (RFC 9562). Runs carry version 7, spans version 4.
struct Uuid {
  std::array<std::uint8_t, 16> bytes{};

  [[nodiscard]] bool is_nil() const { return *this == Uuid{}; }
  friend auto operator<=>(const Uuid&, const Uuid&) = default;
};

using RunId = Uuid;
using CardId = Uuid;

// A SHA-256 digest.
struct Digest {
  std::array<std::uint8_t, 32> bytes{};

  [[nodiscard]] bool is_zero() const { return *this == Digest{}; }
  friend auto operator<=>(const Digest&, const Digest&) = default;
};

// Returns the canonical text form (RFC 9562): lower-case hexadecimal in groups 8-4-4-4-12.
std::string to_string(const Uuid& uuid);
// Parses the canonical form in either case. Returns nullopt for anything else.
std::optional<Uuid> parse_uuid(std::string_view text);

// Return the bytes as they are. The view points into the argument.
inline std::string_view raw_bytes(const Uuid& uuid) {
  return {reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size()};
}
inline std::string_view raw_bytes(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}

// Returns 64 lower-case hexadecimal digits.
std::string to_hex(const Digest& digest);
// Parses 64 hexadecimal digits in either case. Returns nullopt for anything else.
std::optional<Digest> parse_digest(std::string_view text);

// Hashes of a Uuid and a Digest. Both are uniformly distributed already, so a few of their bytes
// suffice.
struct UuidHash {
  using is_avalanching = void;
  std::size_t operator()(const Uuid& uuid) const {
    std::uint64_t tail = 0;  // the first bytes of a version 7 UUID are a time
    std::memcpy(&tail, uuid.bytes.data() + 8, sizeof tail);
    return static_cast<std::size_t>(tail * 0x9E3779B97F4A7C15ULL);
  }
};

struct DigestHash {
  using is_avalanching = void;
  std::size_t operator()(const Digest& digest) const {
    std::uint64_t head = 0;
    std::memcpy(&head, digest.bytes.data(), sizeof head);
    return static_cast<std::size_t>(head);
  }
};

}  // namespace signalbox
