// Requests that a browser makes for a page of somebody else are refused: such a page could start
// runs with the rights of whoever looks at it. Browsers say whose page it is in Sec-Fetch-Site;
// those that don't, in Origin. Programs send neither.
#pragma once

#include <string_view>

namespace signalbox {

// Empty header values stand for headers that aren't there. `origin` is ours if it is the scheme
// and exactly the `host` that was asked.
bool is_cross_site(std::string_view sec_fetch_site, std::string_view origin, std::string_view host,
                   bool is_encrypted);

}  // namespace signalbox
