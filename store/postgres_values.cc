#include "store/postgres_values.h"

namespace signalbox {
namespace {

// Object ids of types, which never change.
constexpr unsigned bool_type = 16;
constexpr unsigned bytea_type = 17;
constexpr unsigned int8_type = 20;
constexpr unsigned int2_type = 21;
constexpr unsigned int4_type = 23;
constexpr unsigned text_type = 25;
constexpr unsigned varchar_type = 1043;

template <class T>
std::string big_endian(T value) {
  std::string bytes(sizeof value, '\0');
  for (std::size_t i = 0; i < sizeof value; ++i) {
    bytes[sizeof value - 1 - i] = static_cast<char>(value >> (8 * i));
  }
  return bytes;
}

}  // namespace

bool reads_as(unsigned type_id, PostgresType type) {
  switch (type) {
    case PostgresType::boolean:
      return type_id == bool_type;
    case PostgresType::bytea:
      return type_id == bytea_type;
    case PostgresType::integer:
      return type_id == int8_type || type_id == int4_type || type_id == int2_type;
    case PostgresType::text:
      return type_id == text_type || type_id == varchar_type;
  }
  return false;
}

PostgresValue PostgresValue::int4(std::int32_t value) { return {int4_type, big_endian(value)}; }
PostgresValue PostgresValue::int8(std::int64_t value) { return {int8_type, big_endian(value)}; }
PostgresValue PostgresValue::boolean(bool value) {
  return {bool_type, std::string(1, value ? '\1' : '\0')};
}
PostgresValue PostgresValue::text(std::string_view value) {
  return {text_type, std::string(value)};
}
PostgresValue PostgresValue::bytea(std::string_view value) {
  return {bytea_type, std::string(value)};
}

std::int64_t PostgresRow::integer(std::size_t column) const {
  const std::string& bytes = columns_.at(column);
  if (bytes.empty()) return 0;
  std::uint64_t value = (bytes.front() & 0x80) != 0 && bytes.size() > 1 ? ~std::uint64_t{0} : 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(value);
}

}  // namespace signalbox
