#include "server/transport/tls_context.h"

#include <openssl/ssl.h>

namespace signalbox {

tl::expected<TlsContext, std::string> make_tls_context(const std::filesystem::path& certificate,
                                                       const std::filesystem::path& key) {
  namespace ssl = boost::asio::ssl;
  boost::system::error_code error;
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  context->use_certificate_chain_file(certificate.string(), error);
  if (error) {
    return tl::unexpected("tls_certificate " + certificate.string() + ": " + error.message());
  }
  context->use_private_key_file(key.string(), ssl::context::pem, error);
  if (error) return tl::unexpected("tls_key " + key.string() + ": " + error.message());
  if (SSL_CTX_check_private_key(context->native_handle()) != 1) {
    return tl::unexpected("tls_key " + key.string() + " is not the key of the certificate " +
                          certificate.string());
  }
  return context;
}

}  // namespace signalbox
