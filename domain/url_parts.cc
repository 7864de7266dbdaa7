#include "domain/url_parts.h"

#include <algorithm>

#include "domain/text_parts.h"

namespace signalbox {
namespace {

bool is_scheme_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '-' || c == '.';
}

}  // namespace

std::optional<UrlParts> url_parts(std::string_view text) {
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  std::size_t begin = colon;
  while (begin > 0 && is_scheme_character(text[begin - 1])) --begin;
  if (begin == colon) return std::nullopt;
  UrlParts parts;
  parts.scheme = text.substr(begin, colon - begin);
  parts.scheme = lower_case(parts.scheme);
  // Some programs read a backslash as a slash.
  const std::string_view rest = text.substr(colon + 3);
  std::string_view authority = rest.substr(0, rest.find_first_of("/?#\\"));
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    parts.userinfo = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }
  const std::size_t after = authority.starts_with('[') ? authority.find(']') : 0;
  parts.host = authority.substr(0, authority.find(':', std::min(after, authority.size())));
  return parts;
}

bool has_credentials(std::string_view text) {
  const auto parts = url_parts(text);
  if (!parts || parts->userinfo.empty()) return false;
  const bool is_ssh = parts->scheme == "ssh" || parts->scheme.ends_with("+ssh");
  return !is_ssh || parts->userinfo.find(':') != std::string_view::npos;
}

}  // namespace signalbox
