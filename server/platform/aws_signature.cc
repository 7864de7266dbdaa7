#include "server/platform/aws_signature.h"

#include <algorithm>
#include <string_view>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "domain/check.h"
#include "domain/ids.h"
#include "server/text/percent_coding.h"
#include "server/text/time_text.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

constexpr const char* signing_algorithm = "AWS4-HMAC-SHA256";

Digest hmac_sha256(std::string_view key, std::string_view text) {
  Digest mac;
  unsigned int size = 0;
  const unsigned char* const made =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(),
           reinterpret_cast<unsigned char*>(mac.bytes.data()), &size);
  SIGNALBOX_CHECK(made != nullptr && size == sizeof(Digest));
  return mac;
}

// Returns the time as "20130524T000000Z".
std::string basic_time(std::int64_t wall_ns) {
  std::string text = format_time(wall_ns).substr(0, 19);  // 2013-05-24T00:00:00
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text + "Z";
}

// Returns the value without white space at its ends, and with one space for each run of it within.
std::string trimmed_value(std::string_view value) {
  std::string text;
  for (const char each : value) {
    const bool is_space = each == ' ' || each == '\t';
    if (is_space && (text.empty() || text.back() == ' ')) continue;
    text += is_space ? ' ' : each;
  }
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

// When a request is signed, and what the signature is valid for.
struct Moment {
  Moment(const std::string& region, std::int64_t wall_ns)
      : time(basic_time(wall_ns)),
        day(time.substr(0, 8)),
        scope(day + "/" + region + "/s3/aws4_request") {}

  const std::string time;
  const std::string day;
  const std::string scope;
};

// The header fields of a request as they are signed, with its host.
struct CanonicalHeaders {
  explicit CanonicalHeaders(const SignedParts& request) {
    NamedValues in_order = request.headers;
    in_order.emplace_back("host", request.host);
    std::sort(in_order.begin(), in_order.end());
    for (const auto& [name, value] : in_order) {
      lines += name + ":" + trimmed_value(value) + "\n";
      names += (names.empty() ? "" : ";") + name;
    }
  }

  std::string lines;
  std::string names;
};

std::string signature_of(const SignedParts& request, const CanonicalHeaders& headers,
                         const AwsCredentials& credentials, const std::string& region,
                         const Moment& moment) {
  const std::string canonical = request.method + "\n" + request.path + "\n" +
                                canonical_query(request.query) + "\n" + headers.lines + "\n" +
                                headers.names + "\n" + request.payload_sha256;
  const std::string to_sign = std::string(signing_algorithm) + "\n" + moment.time + "\n" +
                              moment.scope + "\n" + to_hex(sha256(canonical));
  Digest key = hmac_sha256("AWS4" + credentials.secret, moment.day);
  for (const std::string_view part :
       {std::string_view(region), std::string_view("s3"), std::string_view("aws4_request")}) {
    key = hmac_sha256(raw_bytes(key), part);
  }
  return to_hex(hmac_sha256(raw_bytes(key), to_sign));
}

}  // namespace

std::string canonical_query(const NamedValues& query) {
  NamedValues encoded;
  encoded.reserve(query.size());
  for (const auto& [name, value] : query) {
    encoded.emplace_back(percent_encoded(name), percent_encoded(value));
  }
  std::sort(encoded.begin(), encoded.end());
  std::string text;
  for (const auto& [name, value] : encoded) {
    if (!text.empty()) text += '&';
    text += name;
    text += '=';
    text += value;
  }
  return text;
}

NamedValues signed_headers(const SignedParts& request, const AwsCredentials& credentials,
                           const std::string& region, std::int64_t wall_ns) {
  const Moment moment(region, wall_ns);
  SignedParts whole = request;
  whole.headers.emplace_back("x-amz-date", moment.time);
  whole.headers.emplace_back("x-amz-content-sha256", request.payload_sha256);
  if (!credentials.session_token.empty()) {
    whole.headers.emplace_back("x-amz-security-token", credentials.session_token);
  }
  const CanonicalHeaders canonical(whole);
  const std::string signature = signature_of(whole, canonical, credentials, region, moment);
  whole.headers.emplace_back(
      "Authorization", std::string(signing_algorithm) + " Credential=" + credentials.key_id + "/" +
                           moment.scope + ",SignedHeaders=" + canonical.names +
                           ",Signature=" + signature);
  return std::move(whole.headers);
}

NamedValues presigned_query(const SignedParts& request, const AwsCredentials& credentials,
                            const std::string& region, std::int64_t wall_ns,
                            std::int64_t expires_s) {
  const Moment moment(region, wall_ns);
  const CanonicalHeaders canonical(request);
  SignedParts whole = request;
  whole.query.emplace_back("X-Amz-Algorithm", signing_algorithm);
  whole.query.emplace_back("X-Amz-Credential", credentials.key_id + "/" + moment.scope);
  whole.query.emplace_back("X-Amz-Date", moment.time);
  whole.query.emplace_back("X-Amz-Expires", std::to_string(expires_s));
  whole.query.emplace_back("X-Amz-SignedHeaders", canonical.names);
  if (!credentials.session_token.empty()) {
    whole.query.emplace_back("X-Amz-Security-Token", credentials.session_token);
  }
  whole.query.emplace_back("X-Amz-Signature",
                           signature_of(whole, canonical, credentials, region, moment));
  return std::move(whole.query);
}

}  // namespace signalbox
