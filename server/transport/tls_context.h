// The server's certificate and key, and what of TLS it speaks: 1.2 and 1.3.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>
#include <tl/expected.hpp>

namespace signalbox {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

// Both are PEM files; the certificate's may hold its chain. An error is a sentence that names the
// file.
tl::expected<TlsContext, std::string> make_tls_context(const std::filesystem::path& certificate,
                                                       const std::filesystem::path& key);

}  // namespace signalbox
