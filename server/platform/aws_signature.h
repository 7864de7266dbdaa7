// Signatures of requests to S3-compatible stores: AWS Signature Version 4, in the Authorization
// header, or in the query of a URL that somebody else may use for a while.
//
// libcurl 7.88 signs as well, but it doesn't put query parameters in order and doesn't sign the
// payload's digest of a request to S3, which is what lets the store check what it receives.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace signalbox {

struct AwsCredentials {
  std::string key_id;
  std::string secret;
  std::string session_token;  // or empty
};

using NamedValues = std::vector<std::pair<std::string, std::string>>;

// A request as it is signed.
struct SignedParts {
  std::string method;
  std::string host;            // with the port, unless it is the scheme's own
  std::string path;            // percent-encoded, from the first slash on
  NamedValues query;           // neither encoded nor in order
  NamedValues headers;         // names in lower case; all of them are signed
  std::string payload_sha256;  // in hexadecimal
};

// Returns the query as it is sent and signed: encoded, in order; without a question mark.
std::string canonical_query(const NamedValues& query);

// Returns the header fields to send: those of the request, x-amz-date, x-amz-content-sha256,
// x-amz-security-token if the credentials have a token, and Authorization. The client has to send
// `host` as Host. `wall_ns` is the time (UTC).
NamedValues signed_headers(const SignedParts& request, const AwsCredentials& credentials,
                           const std::string& region, std::int64_t wall_ns);

// What the signature of a URL says of the payload's digest: only the headers may bind it.
inline constexpr const char* unsigned_payload = "UNSIGNED-PAYLOAD";

// Returns the query of a URL that allows this one request for `expires_s` seconds from `wall_ns`
// (UTC) on: that of the request, and the X-Amz-… fields with the signature. Whoever sends it has to
// send the request's headers as they are. `payload_sha256` is unsigned_payload.
NamedValues presigned_query(const SignedParts& request, const AwsCredentials& credentials,
                            const std::string& region, std::int64_t wall_ns,
                            std::int64_t expires_s);

}  // namespace signalbox
