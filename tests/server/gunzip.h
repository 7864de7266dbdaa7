// Unpacks what the service sends compressed, with another library than the one that packed it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <boost/beast/zlib/inflate_stream.hpp>

namespace signalbox {

// Returns the content of a gzip file without optional fields (RFC 1952), of which `content_bytes`
// are expected at most.
inline std::string gunzip(std::string_view gzip, std::size_t content_bytes) {
  constexpr std::size_t header_bytes = 10;
  constexpr std::size_t trailer_bytes = 8;
  if (gzip.size() < header_bytes + trailer_bytes || !gzip.starts_with("\x1f\x8b")) return {};
  std::string content(content_bytes, '\0');
  boost::beast::zlib::z_params params;
  params.next_in = gzip.data() + header_bytes;
  params.avail_in = gzip.size() - header_bytes - trailer_bytes;
  params.next_out = content.data();
  params.avail_out = content.size();
  boost::beast::zlib::inflate_stream inflate;
  boost::system::error_code error;
  inflate.write(params, boost::beast::zlib::Flush::finish, error);
  content.resize(params.total_out);
  return content;
}

}  // namespace signalbox
