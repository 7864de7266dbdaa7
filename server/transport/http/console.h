// Serves the console: its page at /console/, and what the page is made of below the digest of all
// of it. A file of another digest is of another version, so files may be kept for ever and the page
// never is.
#pragma once

#include <string_view>

#include "server/transport/http/http_answer.h"
#include "server/transport/http/target.h"

namespace signalbox {

// What a request says about the answer that it wants.
struct ConsoleHeaders {
  std::string_view if_none_match;  // the header field; empty: it is missing
  bool accepts_gzip = false;
};

// Returns the response at `/`: a redirection to the console for a browser, whose `accept` has
// text/html, and 404 for other programs.
HttpAnswer console_front(std::string_view accept);

// Returns the page, or a redirection to its address with a slash.
HttpAnswer console_page(const Target& target, const ConsoleHeaders& headers);

// Returns a file of the page; 404 for another digest or name.
HttpAnswer console_file(std::string_view digest, std::string_view name,
                        const ConsoleHeaders& headers);

}  // namespace signalbox
