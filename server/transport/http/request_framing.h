// Validates the framing of an HTTP/1.1 request header before it is parsed (RFC 9112). Two programs
// that read the same bytes differently, a proxy and this service, can be made to disagree about
// where a request ends (request smuggling). So whatever isn't framed in exactly one way is refused.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox {

struct FramingFault {
  unsigned status = 400;  // 400, 431 or 501
  std::string message;
};

// Finds the end of a header, which may arrive in pieces.
class HeaderScan {
 public:
  // Looks at the lines of `text` that it hasn't seen. `text` begins as in the call before. Returns
  // a fault as soon as a line has one.
  std::optional<FramingFault> scan(std::string_view text);
  // Returns true if a line was seen.
  [[nodiscard]] bool has_begun() const { return lines_ > 0; }
  // Returns the length of the whole header with its last empty line; 0 while it is incomplete.
  [[nodiscard]] std::size_t header_bytes() const { return header_bytes_; }

 private:
  std::size_t scanned_ = 0;  // the beginning of the first line that isn't complete
  std::size_t lines_ = 0;
  std::size_t header_bytes_ = 0;
};

// Returns the number of leading bytes that are empty lines, which precede a request (section 2.2).
std::size_t empty_line_bytes(std::string_view text);

// Returns what makes the framing of a complete header ambiguous; nullopt if nothing does.
// `header` has passed HeaderScan. Both Transfer-Encoding and Content-Length, a length that isn't
// one number, a coding that isn't `chunked` alone, and a second field where one is allowed, are
// faults.
std::optional<FramingFault> framing_fault(std::string_view header);

}  // namespace signalbox
