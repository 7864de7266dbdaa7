#include "server/transport/http/http_header.h"

#include <algorithm>
#include <ctime>
#include <sstream>

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/write.hpp>

namespace signalbox {
namespace {

namespace http = boost::beast::http;

// Returns a date as RFC 9110, section 5.6.7, has it. Its day and month names are English; so are
// strftime's, because this process keeps the C locale.
std::string http_date(std::time_t time) {
  std::tm utc{};
  gmtime_r(&time, &utc);
  char text[64];
  const std::size_t bytes = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc);
  return {text, bytes};
}

}  // namespace

std::string header_text(const HttpAnswer& answer, std::optional<std::uint64_t> body_bytes,
                        bool keep_alive) {
  http::response_header<> header;
  header.version(11);
  header.result(answer.status);
  header.set(http::field::date, http_date(std::time(nullptr)));
  header.set(http::field::server, "signalbox/" SIGNALBOX_VERSION);
  header.set("X-Content-Type-Options", "nosniff");
  header.set(http::field::cache_control, "no-store");
  if (!answer.media_type.empty()) header.set(http::field::content_type, answer.media_type);
  const bool has_length = !answer.endless && answer.status != 204 && answer.status != 304;
  if (has_length) {
    header.set(http::field::content_length,
               std::to_string(body_bytes.value_or(answer.body.size())));
  }
  for (const auto& [name, value] : answer.headers) header.set(name, value);
  header.set(http::field::connection, keep_alive ? "keep-alive" : "close");
  std::ostringstream text;
  text << header;
  return text.str();
}

std::string safe_media_type(std::string_view media_type) {
  const bool is_safe = !media_type.empty() && media_type.find('/') != std::string_view::npos &&
                       std::all_of(media_type.begin(), media_type.end(),
                                   [](char each) { return each >= ' ' && each <= '~'; });
  return is_safe ? std::string(media_type) : "application/octet-stream";
}

}  // namespace signalbox
