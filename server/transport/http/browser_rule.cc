#include "server/transport/http/browser_rule.h"

#include <string>

#include <boost/beast/core/string.hpp>

namespace signalbox {

bool is_cross_site(std::string_view sec_fetch_site, std::string_view origin, std::string_view host,
                   bool is_encrypted) {
  if (!sec_fetch_site.empty()) return sec_fetch_site != "same-origin" && sec_fetch_site != "none";
  if (origin.empty()) return false;
  const std::string own = (is_encrypted ? "https://" : "http://") + std::string(host);
  return !boost::beast::iequals({origin.data(), origin.size()}, {own.data(), own.size()});
}

}  // namespace signalbox
