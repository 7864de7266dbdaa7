#include "server/text/percent_coding.h"

#include <boost/url/encode.hpp>
#include <boost/url/pct_string_view.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>

namespace signalbox {

namespace urls = boost::urls;

std::string percent_encoded(std::string_view text) {
  return urls::encode({text.data(), text.size()}, urls::unreserved_chars);
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  const auto escaped = urls::make_pct_string_view({text.data(), text.size()});
  if (!escaped) return std::nullopt;
  urls::encoding_opts options;
  options.space_as_plus = plus_is_space;
  return escaped->decode(options);
}

}  // namespace signalbox
