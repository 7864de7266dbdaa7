// Payloads of events: two bytes of the number, one of the version, then the payload. Checksums
// don't protect a parser from a log that somebody else wrote, so each payload must be safe to
// decode.
#include "store/codec.h"
#include "tests/fuzz/fuzz_target.h"

namespace signalbox {

void fuzz_payload(std::string_view input) {
  if (input.size() < 3) return;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(input[at]); };
  const auto number = static_cast<std::uint16_t>(byte(0) | byte(1) << 8U);
  const auto event = decode_payload(number, byte(2), input.substr(3));
  if (!event) return;
  std::string bytes;
  encode_payload(*event, bytes);
  const EventTag tag = tag_of(*event);
  const auto again = decode_payload(tag.number, tag.version, bytes);
  SIGNALBOX_CHECK(again && *again == *event);
}

}  // namespace signalbox
