#include "server/followers/traces/trace_settings.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <sstream>

#include "domain/try.h"
#include "server/followers/traces/trace_limits.h"
#include "server/platform/atomic_file.h"
#include "server/platform/http_request.h"
#include "server/platform/secret_file.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

// Returns whether `name` is a field name of RFC 9110 and `value` is one line.
bool is_header(const std::string& name, const std::string& value) {
  const auto in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  };
  const auto in_value = [](char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), in_name) && !value.empty() &&
         std::all_of(value.begin(), value.end(), in_value);
}

// No error quotes the file: its contents are secret.
tl::expected<Headers, std::string> read_headers(const std::string& path) {
  const auto text = read_secret_file(path, limits::trace_headers_bytes_max);
  if (!text) return tl::unexpected("traces.headers_file: " + text.error());
  Headers headers;
  std::istringstream lines(*text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t colon = line.find(':');
    const std::string name = line.substr(0, colon);
    std::string value = colon == std::string::npos ? std::string() : line.substr(colon + 1);
    value.erase(0, value.find_first_not_of(" \t"));
    if (!is_header(name, value)) {
      return tl::unexpected("traces.headers_file: " + path + ":" + std::to_string(number) +
                            " is not a header; write lines like `Authorization: Bearer …`");
    }
    headers.emplace_back(name, value);
  }
  return headers;
}

// Returns whether the first certificate can be read: without one no collector could be trusted.
bool has_certificate(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&::BIO_free)> bytes(
      ::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &::BIO_free);
  const std::unique_ptr<X509, decltype(&::X509_free)> first(
      ::PEM_read_bio_X509_AUX(bytes.get(), nullptr, nullptr, nullptr), &::X509_free);
  ::ERR_clear_error();
  return first != nullptr;
}

// Fails at the start on what would fail for ever. curl reads the file again at each request.
tl::expected<void, std::string> require_certificates(const std::string& path) {
  const auto wrong = [&](const std::string& why) {
    return tl::unexpected("traces.certificate_authority: " + why +
                          "; name a file with the collector's authority in PEM (a relative path is "
                          "one beside the configuration file), or leave the key out to trust what "
                          "the system trusts");
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return wrong(path + " can't be opened: " + std::strerror(errno));
  const auto pem = read_regular_file(descriptor, path, limits::trace_certificates_bytes_max);
  ::close(descriptor);
  if (!pem) return wrong(pem.error().message);
  if (!has_certificate(*pem)) return wrong(path + " has no certificate that can be read");
  return {};
}

}  // namespace

std::string* trace_text(TraceTexts& texts, std::string_view key, bool& is_path) {
  is_path = key == "headers_file" || key == "certificate_authority";
  if (key == "endpoint") return &texts.endpoint;
  if (key == "headers_file") return &texts.headers_file;
  if (key == "certificate_authority") return &texts.certificate_authority;
  if (key == "service_name") return &texts.service_name;
  if (key == "backfill") return &texts.backfill;
  return nullptr;
}

tl::expected<TraceSettings, std::string> read_trace_settings(const TraceTexts& texts) {
  TraceSettings settings;
  settings.endpoint = texts.endpoint;
  settings.certificate_authority = texts.certificate_authority;
  settings.service_name = texts.service_name;
  if (texts.service_name.empty())
    return tl::unexpected(std::string("traces.service_name is empty"));
  const auto backfill_ms = parse_duration_ms(texts.backfill);
  if (!backfill_ms || *backfill_ms < 0 || *backfill_ms > limits::trace_backfill_ms_max) {
    return tl::unexpected(
        "traces.backfill must be a duration up to 366 days, such as 24h or 0s; not " +
        texts.backfill);
  }
  settings.backfill_ms = *backfill_ms;
  if (texts.endpoint.empty()) return settings;
  const auto reach = reach_of_url(texts.endpoint);
  if (reach == UrlReach::none) {
    return tl::unexpected(
        "traces.endpoint must be a URL such as http://127.0.0.1:4318/v1/traces; not " +
        texts.endpoint);
  }
  if (!texts.certificate_authority.empty()) {
    TRY(require_certificates(texts.certificate_authority));
  }
  if (texts.headers_file.empty()) return settings;
  if (reach == UrlReach::network_in_clear) {
    return tl::unexpected(std::string(
        "traces.headers_file: what is in it would cross the network in clear; the endpoint must be "
        "https, or of this machine"));
  }
  auto headers = TRY(read_headers(texts.headers_file));
  settings.headers = std::move(headers);
  return settings;
}

}  // namespace signalbox
