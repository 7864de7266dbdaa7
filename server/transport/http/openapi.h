// The OpenAPI document, compiled in from server/transport/http/openapi.json.
#pragma once

#include <string_view>

namespace signalbox {

std::string_view openapi_text();

}  // namespace signalbox
