// The header of an answer as it goes over the wire.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/transport/http/http_answer.h"

namespace signalbox {

// Status line, the answer's own fields and those that every answer has. `body_bytes` where the
// body isn't answer.body.
std::string header_text(const HttpAnswer& answer, std::optional<std::uint64_t> body_bytes,
                        bool keep_alive);

// `media_type` if it can be said in a header as it is, else application/octet-stream.
std::string safe_media_type(std::string_view media_type);

}  // namespace signalbox
