// Frames and entries of the log. Random bytes never have the right checksum, so the input is also
// framed: its first byte is the length of the header, and the payload follows.
#include "store/entry.h"
#include "store/frame.h"
#include "tests/fuzz/fuzz_target.h"

namespace signalbox {
namespace {

void check_frame(std::string_view bytes) {
  const auto frame = parse_frame(bytes);
  if (!frame) return;
  std::string again;
  append_frame(*frame, again);
  SIGNALBOX_CHECK(again == bytes.substr(0, frame->bytes));
  Record record;
  static_cast<void>(decode_frame(*frame, record));
}

}  // namespace

void fuzz_frame(std::string_view input) {
  check_frame(input);
  static_cast<void>(decode_entry(input, 1));
  const std::size_t header_bytes = input.empty() ? 0 : static_cast<unsigned char>(input[0]);
  if (input.size() < 1 + header_bytes) return;
  std::string framed;
  append_frame(input.substr(1, header_bytes), input.substr(1 + header_bytes), framed);
  check_frame(framed);
  static_cast<void>(decode_entry(framed, 1));
}

}  // namespace signalbox
