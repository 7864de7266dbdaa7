#include "tools/cli/tls_session.h"

#include <algorithm>
#include <array>
#include <utility>

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "domain/try.h"
#include "server/platform/certificate.h"
#include "server/text/printable_text.h"
#include "server/text/separated_text.h"
#include "server/text/time_text.h"
#include "tools/cli/text_source.h"

namespace signalbox {
namespace {

// A certificate may have thousands of names; a message has room for these.
constexpr std::size_t shown_names_max = 8;
constexpr std::size_t shown_name_bytes_max = 255;

using BioHandle = std::unique_ptr<BIO, decltype(&BIO_free)>;
using CertificateHandle = std::unique_ptr<X509, decltype(&X509_free)>;

// Returns the index of the CertificateFault among the data of a session.
int fault_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

std::string text_of_name(const X509_NAME* name) {
  const BioHandle out(BIO_new(BIO_s_mem()), &BIO_free);
  X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return size > 0 ? printable({text, static_cast<std::size_t>(size)}) : std::string("no name");
}

std::string text_of_alternative(const GENERAL_NAME& name) {
  if (name.type == GEN_DNS) {
    const auto* text = reinterpret_cast<const char*>(ASN1_STRING_get0_data(name.d.dNSName));
    const auto size = static_cast<std::size_t>(ASN1_STRING_length(name.d.dNSName));
    return printable({text, std::min(size, shown_name_bytes_max)});
  }
  if (name.type != GEN_IPADD) return {};
  const int size = ASN1_STRING_length(name.d.iPAddress);
  if (size != 4 && size != 16) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(size == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(name.d.iPAddress), text.data(),
              text.size());
  return text.data();
}

// Returns the host names and addresses that the certificate is for.
std::vector<std::string> certificate_names(const X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> found(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  std::vector<std::string> names;
  const int count = found ? sk_GENERAL_NAME_num(found.get()) : 0;
  for (int at = 0; at < count; ++at) {
    std::string name = text_of_alternative(*sk_GENERAL_NAME_value(found.get(), at));
    if (name.empty()) continue;
    if (names.size() == shown_names_max) {
      names.emplace_back("…");
      break;
    }
    names.push_back(std::move(name));
  }
  return names;
}

// Verifies the server's chain as OpenSSL does, and keeps what is wrong with it.
int verify_chain(X509_STORE_CTX* chain, void*) {
  const int verified = X509_verify_cert(chain);
  if (verified > 0) return verified;
  auto* session =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* fault = static_cast<CertificateFault*>(SSL_get_ex_data(session, fault_index()));
  if (fault == nullptr) return 0;
  fault->error = X509_STORE_CTX_get_error(chain);
  if (fault->error == X509_V_OK) fault->error = X509_V_ERR_UNSPECIFIED;
  const X509* own = X509_STORE_CTX_get0_cert(chain);
  const X509* at_fault = X509_STORE_CTX_get_current_cert(chain);
  if (at_fault == nullptr) at_fault = own;
  if (at_fault != nullptr) {
    fault->subject = text_of_name(X509_get_subject_name(at_fault));
    fault->issuer = text_of_name(X509_get_issuer_name(at_fault));
    fault->not_before_ns = utc_ns_of(X509_get0_notBefore(at_fault));
    fault->not_after_ns = utc_ns_of(X509_get0_notAfter(at_fault));
  }
  if (own != nullptr) fault->names = certificate_names(own);
  return 0;
}

// Adds the certificates in `pem` to the trusted ones. Returns how many there are.
std::size_t trust_certificates(SSL_CTX* context, const std::string& pem) {
  const BioHandle in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  std::size_t count = 0;
  for (;;) {
    const CertificateHandle each(PEM_read_bio_X509_AUX(in.get(), nullptr, nullptr, nullptr),
                                 &X509_free);
    if (!each) break;
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), each.get());  // takes a reference
    ++count;
  }
  ERR_clear_error();  // the end of the file counts as one
  return count;
}

// Returns a command that shows the certificates which the server sends.
std::string show_certificates_command(const Endpoint& endpoint) {
  return "openssl s_client -showcerts -connect " + endpoint.host_and_port() + " </dev/null";
}

CallError certificate_failure(const Endpoint& endpoint, const CertificateFault& fault,
                              bool is_trust_given) {
  const std::string server = "the server at " + endpoint.text();
  const std::string end = server + " has a certificate (" + fault.subject + ") that ";
  const auto refuse = [&](const char* reason, const std::string& message) {
    return certificate_refused(reason, message, fault.names, {show_certificates_command(endpoint)});
  };
  switch (fault.error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return refuse("expired", end + "expired at " + format_time(fault.not_after_ns) +
                                   ": renew it there, then reload the service (SIGHUP)");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return refuse("not_yet_valid", end + "is valid only from " +
                                         format_time(fault.not_before_ns) +
                                         " on, or the clock of this machine is wrong");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return refuse("wrong_name",
                    server + " has a certificate for " +
                        (fault.names.empty() ? std::string("no name at all (subjectAltName)")
                                             : comma_separated(fault.names)) +
                        ", not for " + printable(endpoint.host) +
                        ": use a name that it is for, or a certificate with this one");
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_UNTRUSTED:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:  // of a trusted name, by another key
      return refuse("unknown_authority",
                    server + " has a certificate of an authority (" + fault.issuer +
                        ") that isn't trusted: " +
                        (is_trust_given ? "the file of --ca (SIGNALBOX_CA) doesn't have it"
                                        : "name its certificate with --ca FILE (SIGNALBOX_CA)"));
    default:
      return refuse("other", end + "is refused: " + X509_verify_cert_error_string(fault.error));
  }
}

}  // namespace

void TlsSessionFree::operator()(ssl_st* session) const { SSL_free(session); }

Called<TlsTrust> TlsTrust::load(const std::filesystem::path& ca) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  if (!context) return tl::unexpected(io_error("OpenSSL can't be used"));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context.get(), verify_chain, nullptr);
  if (ca.empty()) {
    SSL_CTX_set_default_verify_paths(context.get());
    ERR_clear_error();  // a system without any is one that trusts nobody
    return TlsTrust(std::move(context));
  }
  // Whatever the file has is trusted: the server's own certificate, or one in the middle, too.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context.get()), X509_V_FLAG_PARTIAL_CHAIN);
  const std::string pem = TRY(read_file(ca));
  if (trust_certificates(context.get(), pem) == 0) {
    return tl::unexpected(
        usage_error("--ca (SIGNALBOX_CA) is a file with certificates in PEM format, and " +
                    ca.string() + " has none"));
  }
  return TlsTrust(std::move(context));
}

Called<TlsSession> TlsTrust::begin(const Endpoint& endpoint, CertificateFault& fault) const {
  TlsSession session(SSL_new(context_.get()));
  if (!session) return tl::unexpected(io_error("OpenSSL can't be used"));
  SSL_set_ex_data(session.get(), fault_index(), &fault);
  SSL_set_connect_state(session.get());
  SSL_set_hostflags(session.get(),
                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  X509_VERIFY_PARAM* const param = SSL_get0_param(session.get());
  // An address is no server name (RFC 6066), and is checked as an address.
  if (X509_VERIFY_PARAM_set1_ip_asc(param, endpoint.host.c_str()) == 1) return session;
  ERR_clear_error();
  std::string name = endpoint.host;
  if (name.ends_with('.')) name.pop_back();  // of the root, which no certificate has
  // OpenSSL takes an empty name for any.
  if (name.empty() || SSL_set1_host(session.get(), name.c_str()) != 1 ||
      SSL_set_tlsext_host_name(session.get(), name.c_str()) != 1) {
    return tl::unexpected(usage_error(endpoint.host + " is no name of a host"));
  }
  return session;
}

void forget_fault(const TlsSession& session) {
  SSL_set_ex_data(session.get(), fault_index(), nullptr);
}

CallError handshake_failure(const Endpoint& endpoint, const CertificateFault& fault,
                            bool is_trust_given, unsigned long error) {
  const char* const reason = ERR_reason_error_string(error);
  const int number = ERR_GET_REASON(error);
  if (fault.error != 0) return certificate_failure(endpoint, fault, is_trust_given);
  if (number == SSL_R_WRONG_VERSION_NUMBER || number == SSL_R_HTTP_REQUEST ||
      number == SSL_R_PACKET_LENGTH_TOO_LONG) {
    Endpoint plain = endpoint;
    plain.is_tls = false;
    return unreachable("what listens at " + endpoint.text() +
                           " doesn't speak TLS; a server without it is named " + plain.text(),
                       {plain.status_command()});
  }
  return unreachable("no TLS connection to the server at " + endpoint.text() + ": " +
                         (reason != nullptr ? reason : "the handshake failed"),
                     {show_certificates_command(endpoint)});
}

CallError handshake_ended(const Endpoint& endpoint) {
  return unreachable(
      "the server at " + endpoint.text() + " closed the connection during the TLS handshake",
      {show_certificates_command(endpoint)});
}

CallError handshake_timed_out(const Endpoint& endpoint) {
  return timed_out("the server at " + endpoint.text() +
                       " doesn't answer the TLS handshake: it hangs, or doesn't speak TLS",
                   {show_certificates_command(endpoint)});
}

}  // namespace signalbox
