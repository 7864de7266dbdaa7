// Content codings (RFC 9110, 8.4): which one a client takes, and gzip itself.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "server/transport/http/http_answer.h"

namespace signalbox {

// JSON up to this size is sent as it is: it fits into a few packets either way.
inline constexpr std::size_t plain_json_bytes_max = 4 * 1024;

// Returns true if `accept_encoding`, the list of all header fields of this name, takes gzip at
// least as gladly as content that isn't coded. Without the field that is false: the client takes
// anything then, but hasn't said that it unpacks.
bool accepts_gzip(std::string_view accept_encoding);

// Returns true if `answer` depends on Accept-Encoding: JSON of more than plain_json_bytes_max that
// isn't coded yet and has no entity tag, which is that of one coding.
bool is_compressible(const HttpAnswer& answer);

// Returns `content` as a gzip file; nullopt if that isn't smaller. Takes about 3 ms for a megabyte,
// and 400 KB beside the content and its result.
std::optional<std::string> gzip_text(std::string_view content);

}  // namespace signalbox
