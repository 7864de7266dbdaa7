// server/transport/http/openapi.json, as it was when this was built.
#pragma once

#include <string_view>

namespace signalbox {

std::string_view openapi_text();

}  // namespace signalbox
