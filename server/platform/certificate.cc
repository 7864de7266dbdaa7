#include "server/platform/certificate.h"

#include <unistd.h>

#include <ctime>
#include <limits>
#include <memory>

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "server/text/printable_text.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

constexpr std::int64_t certificate_ns_per_s = 1'000'000'000;
constexpr std::int64_t certificate_ns_per_ms = 1'000'000;

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using X509Handle = std::unique_ptr<X509, decltype(&X509_free)>;

std::string subject_of(const X509* certificate) {
  const Bio out(BIO_new(BIO_s_mem()), &BIO_free);
  X509_NAME_print_ex(out.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return size > 0 ? printable({text, static_cast<std::size_t>(size)}) : std::string("no subject");
}

std::string time_left_text(std::int64_t left_ns) {
  constexpr std::int64_t hour_ns = 3600 * certificate_ns_per_s;
  const std::int64_t days = left_ns / (24 * hour_ns);
  return days > 1 ? std::to_string(days) + " days" : std::to_string(left_ns / hour_ns) + " hours";
}

}  // namespace

std::int64_t utc_ns_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  const std::int64_t seconds = ::timegm(&parts);
  std::int64_t ns = 0;
  if (!__builtin_mul_overflow(seconds, certificate_ns_per_s, &ns)) return ns;
  return seconds < 0 ? std::numeric_limits<std::int64_t>::min()
                     : std::numeric_limits<std::int64_t>::max();
}

CertificateState state_of(const Certificate& certificate, std::int64_t wall_ns) {
  if (wall_ns >= certificate.not_after_ns) return CertificateState::expired;
  if (wall_ns < certificate.not_before_ns) return CertificateState::not_yet_valid;
  const std::int64_t left_ns = certificate.not_after_ns - wall_ns;
  return left_ns < certificate_notice_ms * certificate_ns_per_ms ? CertificateState::ends_soon
                                                                 : CertificateState::valid;
}

const char* name_of(CertificateState state) {
  switch (state) {
    case CertificateState::valid:
      return "valid";
    case CertificateState::not_yet_valid:
      return "not_yet_valid";
    case CertificateState::ends_soon:
      return "ends_soon";
    case CertificateState::expired:
      return "expired";
  }
  return "unknown";
}

std::string certificate_text(const Certificate& certificate, std::int64_t wall_ns) {
  const std::string what =
      "the certificate " + certificate.file.string() + " (" + certificate.subject + ") ";
  const std::string until = format_time(certificate.not_after_ns);
  const std::string renew = "renew it, then: kill -HUP " + std::to_string(::getpid());
  switch (state_of(certificate, wall_ns)) {
    case CertificateState::valid:
      break;
    case CertificateState::not_yet_valid:
      return what + "is valid only from " + format_time(certificate.not_before_ns) +
             " on; until then clients refuse to connect, or this machine's clock is wrong";
    case CertificateState::ends_soon:
      return what + "ends in " + time_left_text(certificate.not_after_ns - wall_ns) + ", at " +
             until + "; " + renew;
    case CertificateState::expired:
      return what + "expired at " + until + ", and clients refuse to connect; " + renew;
  }
  return what + "is valid until " + until;
}

tl::expected<Certificate, std::string> read_certificate(const std::string& pem,
                                                        const std::filesystem::path& file) {
  const Bio in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  const X509Handle found(PEM_read_bio_X509_AUX(in.get(), nullptr, nullptr, nullptr), &X509_free);
  if (!found) return tl::unexpected(std::string("there is no certificate in PEM format in it"));
  return Certificate{file, subject_of(found.get()), utc_ns_of(X509_get0_notBefore(found.get())),
                     utc_ns_of(X509_get0_notAfter(found.get()))};
}

}  // namespace signalbox
