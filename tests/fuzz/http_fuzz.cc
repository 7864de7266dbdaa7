// The parts of an HTTP request that our own code parses: framing, target, range, codings, host and
// origin.
#include "server/text/utf8_text.h"
#include "server/transport/http/byte_range.h"
#include "server/transport/http/content_coding.h"
#include "server/transport/http/host_rule.h"
#include "server/transport/http/request_framing.h"
#include "server/transport/http/target.h"
#include "tests/fuzz/fuzz_target.h"

namespace signalbox {
namespace {

// A header is judged equally whether it arrives at once or byte by byte.
void check_framing(std::string_view input) {
  HeaderScan at_once;
  const bool is_faulty = at_once.scan(input).has_value();
  HeaderScan in_pieces;
  bool was_faulty = false;
  for (std::size_t bytes = 1; bytes <= input.size() && !was_faulty; ++bytes) {
    was_faulty = in_pieces.scan(input.substr(0, bytes)).has_value();
    if (in_pieces.header_bytes() > 0) break;
  }
  if (is_faulty || was_faulty) return;
  SIGNALBOX_CHECK(at_once.header_bytes() == in_pieces.header_bytes());
  if (at_once.header_bytes() == 0) return;
  SIGNALBOX_CHECK(at_once.header_bytes() <= input.size());
  static_cast<void>(framing_fault(input.substr(0, at_once.header_bytes())));
}

}  // namespace

void fuzz_http(std::string_view input) {
  SIGNALBOX_CHECK(empty_line_bytes(input) <= input.size());
  if (input.size() <= 4096) check_framing(input);
  if (const auto target = read_target(input)) {
    for (const std::string& segment : target->segments) {
      SIGNALBOX_CHECK(is_utf8(segment) && segment != "." && segment != ".." && !segment.empty() &&
                      segment.find('\0') == std::string::npos);
    }
  }
  const std::uint64_t file_bytes = input.size() * 7;
  const RequestedRange range = read_range(input, file_bytes);
  if (range.kind == RangeKind::part) {
    SIGNALBOX_CHECK(range.range.bytes > 0 && range.range.from < file_bytes &&
                    range.range.bytes <= file_bytes - range.range.from);
  }
  static const HostRule rule({"box.example"});
  const std::string name = host_name(input);
  if (rule.allows(input, true, "192.0.2.1")) {
    SIGNALBOX_CHECK(name == "localhost" || name == "127.0.0.1" || name == "::1" ||
                    name == "192.0.2.1" || name == "box.example");
  }
  static_cast<void>(accepts_gzip(input));
  static_cast<void>(is_cross_site("", input, "box.example", true));
}

}  // namespace signalbox
