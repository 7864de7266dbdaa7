// What the service knows about its own certificate, and what it says about the certificate's end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

struct asn1_string_st;  // ASN1_TIME, as OpenSSL defines it

namespace signalbox {

// Time before a certificate's end from which on the service says that it ends.
inline constexpr std::int64_t certificate_notice_ms = 14LL * 24 * 60 * 60 * 1000;

struct Certificate {
  std::filesystem::path file;
  std::string subject;  // RFC 4514, as "CN=box.example.org"; printable
  std::int64_t not_before_ns = 0;
  std::int64_t not_after_ns = 0;

  friend bool operator==(const Certificate&, const Certificate&) = default;
};

enum class CertificateState { valid, not_yet_valid, ends_soon, expired };

CertificateState state_of(const Certificate& certificate, std::int64_t wall_ns);
// Returns the name of the state as `server.status` shows it.
const char* name_of(CertificateState state);
// Returns a sentence for the server's log about the state, with what to do where something is.
std::string certificate_text(const Certificate& certificate, std::int64_t wall_ns);

// Returns the first certificate in `pem`, the text of `file`: that of the service itself, which the
// rest of its chain may follow. The error is a sentence without the name of the file.
tl::expected<Certificate, std::string> read_certificate(const std::string& pem,
                                                        const std::filesystem::path& file);

// Returns the time (ns, UTC) of a certificate's field: the last one that nanoseconds can tell, in
// 2262, for all that is later. 0 if it is no time.
std::int64_t utc_ns_of(const asn1_string_st* time);

}  // namespace signalbox
