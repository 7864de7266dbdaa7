// Serializes the header section of an HTTP/1.1 response.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/transport/http/http_answer.h"

namespace signalbox {

// Returns the status line, the fields that every response has, and the response's own fields.
// `body_bytes` is the length of a body that isn't answer.body.
std::string header_text(const HttpAnswer& answer, std::optional<std::uint64_t> body_bytes,
                        bool keep_alive);

// Returns `media_type` if it is a valid header value, else application/octet-stream.
std::string safe_media_type(std::string_view media_type);

}  // namespace signalbox
