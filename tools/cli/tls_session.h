// TLS as a client: whom to trust, a session for one handshake, and what a failed one means. Moves
// no bytes itself, so that a blocking connection (server_connection.h) and the console's proxy
// share it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tools/cli/call_error.h"
#include "tools/cli/server_address.h"

struct ssl_ctx_st;  // of OpenSSL
struct ssl_st;

namespace signalbox {

// Why a server's certificate was refused.
struct CertificateFault {
  int error = 0;                   // X509_V_ERR_…; 0: it was accepted, or none came
  std::string subject;             // of the certificate that is at fault, as "CN=box"; printable
  std::string issuer;              // likewise
  std::vector<std::string> names;  // that the server's certificate is for; printable
  std::int64_t not_before_ns = 0;
  std::int64_t not_after_ns = 0;
};

struct TlsSessionFree {
  void operator()(ssl_st* session) const;
};
using TlsSession = std::unique_ptr<ssl_st, TlsSessionFree>;

class TlsTrust {
 public:
  // Trusts the certificates in the PEM file `ca`, or those of the system if it is empty. A usage
  // error if the file can't be read, or has none.
  static Called<TlsTrust> load(const std::filesystem::path& ca);

  // Returns a session as a client of `endpoint`: TLS 1.2 or 1.3, with its name asked for (SNI) and
  // its certificate verified, for that name or address too. `fault` says why a handshake failed,
  // and lives until the end of the session, or forget_fault().
  [[nodiscard]] Called<TlsSession> begin(const Endpoint& endpoint, CertificateFault& fault) const;

 private:
  explicit TlsTrust(std::shared_ptr<ssl_ctx_st> context) : context_(std::move(context)) {}

  std::shared_ptr<ssl_ctx_st> context_;
};

// Lets go of the session's CertificateFault, which then needn't live on.
void forget_fault(const TlsSession& session);

// Makes the error of a handshake that OpenSSL gave up with its error number `error`.
// `is_trust_given`: --ca names whom to trust.
CallError handshake_failure(const Endpoint& endpoint, const CertificateFault& fault,
                            bool is_trust_given, unsigned long error);
// Makes the error of a handshake in which the server closed the connection or fell silent.
CallError handshake_ended(const Endpoint& endpoint);
CallError handshake_timed_out(const Endpoint& endpoint);

}  // namespace signalbox
