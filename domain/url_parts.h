// The parts of a URL that decide whether it may be stored: its host, and credentials in it. The log
// keeps what it was given for ever, so a password in a URL would be kept, too.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace signalbox {

struct UrlParts {
  std::string scheme;         // in lower case
  std::string_view userinfo;  // before the "@"; empty if there is none
  std::string_view host;      // without its port; an IPv6 address has its brackets
};

// Returns the parts of "scheme://userinfo@host:port/…" (RFC 3986); nullopt for other texts, such as
// a path or git's "host:path". They point into `text`.
std::optional<UrlParts> url_parts(std::string_view text);

// Returns whether the text is a URL with a secret: a password, or a user other than an ssh URL's
// login, because tokens are given as users, too.
bool has_credentials(std::string_view text);

}  // namespace signalbox
