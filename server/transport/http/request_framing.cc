#include "server/transport/http/request_framing.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "server/limits.h"
#include "server/text/ascii_case.h"

namespace signalbox {
namespace {

FramingFault bad(std::string message) { return {400, std::move(message)}; }

bool is_token_character(char each) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'z') ||
         (each >= 'A' && each <= 'Z') || marks.find(each) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}

bool is_control(char each) { return (each >= 0 && each < ' ' && each != '\t') || each == '\x7f'; }

std::string_view trimmed_value(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// Method, one space, target, one space, version.
bool is_request_line(std::string_view line) {
  const auto first = line.find(' ');
  const auto second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos) return false;
  const std::string_view target = line.substr(first + 1, second - first - 1);
  const std::string_view version = line.substr(second + 1);
  const auto is_in_target = [](char each) { return !is_control(each) && each != '\t'; };
  return is_token(line.substr(0, first)) && !target.empty() &&
         std::all_of(target.begin(), target.end(), is_in_target) &&
         (version == "HTTP/1.1" || version == "HTTP/1.0");
}

std::optional<FramingFault> field_line_fault(std::string_view line) {
  if (line.front() == ' ' || line.front() == '\t') {
    return bad("a header field may not be continued on a second line (obs-fold)");
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    return bad("a header field is a name, a colon without space before it, and a value");
  }
  const std::string_view value = line.substr(colon + 1);
  if (std::any_of(value.begin(), value.end(), is_control)) {
    return bad("a header field has a control character");
  }
  return std::nullopt;
}

// Fields that change what a request means, or who may send it, and of which one is taken.
constexpr std::array<std::string_view, 11> single_fields = {
    "Host",   "Content-Length", "Transfer-Encoding", "Content-Type", "Authorization",
    "Origin", "Sec-Fetch-Site", "Last-Event-ID",     "Range",        "If-Range",
    "Expect"};

struct FramingFields {
  std::array<std::optional<std::string_view>, single_fields.size()> values;

  [[nodiscard]] const std::optional<std::string_view>& of(std::string_view name) const {
    return values[static_cast<std::size_t>(
        std::find(single_fields.begin(), single_fields.end(), name) - single_fields.begin())];
  }
};

std::optional<FramingFault> collect(std::string_view lines, FramingFields& fields) {
  while (lines != "\r\n") {
    const auto end = lines.find("\r\n");
    const std::string_view line = lines.substr(0, end);
    const auto colon = line.find(':');
    for (std::size_t index = 0; index < single_fields.size(); ++index) {
      if (!is_same_but_for_case(line.substr(0, colon), single_fields[index])) continue;
      if (fields.values[index]) {
        return bad("the header field " + std::string(single_fields[index]) + " is there twice");
      }
      fields.values[index] = trimmed_value(line.substr(colon + 1));
    }
    lines.remove_prefix(end + 2);
  }
  return std::nullopt;
}

bool is_length(std::string_view text) {
  if (text.empty() || text.size() > std::numeric_limits<std::uint64_t>::digits10) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char each) { return each >= '0' && each <= '9'; });
}

std::optional<FramingFault> transfer_coding_fault(std::string_view codings, bool is_1_0) {
  if (is_1_0) return bad("HTTP/1.0 has no Transfer-Encoding");
  if (is_same_but_for_case(codings, "chunked")) return std::nullopt;
  std::size_t chunked = 0;
  bool is_last = false;
  bool has_unknown = false;
  for (bool more = true; more;) {
    const auto comma = codings.find(',');
    const std::string_view coding = trimmed_value(codings.substr(0, comma));
    const std::string_view name = trimmed_value(coding.substr(0, coding.find(';')));
    if (!is_token(name)) return bad("Transfer-Encoding isn't a list of codings");
    is_last = is_same_but_for_case(coding, "chunked");
    chunked += is_last ? 1 : 0;
    has_unknown = has_unknown || !is_same_but_for_case(name, "chunked");
    more = comma != std::string_view::npos;
    if (more) codings.remove_prefix(comma + 1);
  }
  if (chunked > 1 || (chunked == 1 && !is_last)) {
    return bad("the transfer coding `chunked` is the last one, and there once");
  }
  if (has_unknown) {
    return FramingFault{501, "a body comes in the transfer coding `chunked`, or in none"};
  }
  return bad("the transfer coding `chunked` has no parameters");
}

}  // namespace

std::size_t empty_line_bytes(std::string_view text) {
  std::size_t bytes = 0;
  while (true) {
    const std::string_view rest = text.substr(bytes);
    if (rest.starts_with("\r\n")) {
      bytes += 2;
    } else if (rest.starts_with("\n")) {
      bytes += 1;
    } else {
      return bytes;
    }
  }
}

std::optional<FramingFault> HeaderScan::scan(std::string_view text) {
  while (header_bytes_ == 0) {
    const auto end = text.find('\n', scanned_);
    if (end == std::string_view::npos) return std::nullopt;
    if (end == scanned_ || text[end - 1] != '\r') return bad("a line ends with CR LF");
    const std::string_view line = text.substr(scanned_, end - 1 - scanned_);
    if (line.find('\r') != std::string_view::npos) return bad("a CR comes before a LF only");
    scanned_ = end + 1;
    if (lines_ == 0) {
      if (!is_request_line(line)) {
        return bad("this isn't a request line of HTTP/1.1 (a line of JSON-RPC begins with `{`)");
      }
    } else if (line.empty()) {
      header_bytes_ = scanned_;
    } else if (lines_ > http_header_fields_max) {
      return FramingFault{
          431, "a header has at most " + std::to_string(http_header_fields_max) + " fields"};
    } else if (auto fault = field_line_fault(line)) {
      return fault;
    }
    ++lines_;
  }
  return std::nullopt;
}

std::optional<FramingFault> framing_fault(std::string_view header) {
  const std::string_view request_line = header.substr(0, header.find("\r\n"));
  const bool is_1_0 = request_line.ends_with("HTTP/1.0");
  FramingFields fields;
  if (auto fault = collect(header.substr(request_line.size() + 2), fields)) return fault;
  const auto& length = fields.of("Content-Length");
  const auto& codings = fields.of("Transfer-Encoding");
  if (length && codings) {
    return bad("a request has Content-Length or Transfer-Encoding, not both");
  }
  if (length && !is_length(*length)) return bad("Content-Length is one number");
  if (codings) {
    if (auto fault = transfer_coding_fault(*codings, is_1_0)) return fault;
  }
  if (!is_1_0 && !fields.of("Host")) return bad("a request has exactly one Host header");
  return std::nullopt;
}

}  // namespace signalbox
