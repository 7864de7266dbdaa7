#include "server/platform/s3_client.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/limits.h"
#include "server/platform/call_bounds.h"
#include "server/platform/clock.h"
#include "server/platform/http_request.h"
#include "server/text/percent_coding.h"
#include "store/base64.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

constexpr std::size_t s3_answer_bytes_max = 4 * 1024 * 1024;  // a page of a listing takes 0.5 MiB
constexpr std::int64_t bytes_per_s_min = 1024 * 1024;
// The digest of the content, which the store checks on arrival and keeps, where it knows it.
constexpr const char* checksum_header = "x-amz-checksum-sha256";
constexpr long whole_object = 200;  // where a part was asked for: 206
constexpr long range_beyond_end = 416;
constexpr const char* object_media_type = "application/octet-stream";

// Returns the path of a bucket's key, encoded but for its slashes.
std::string path_of_key(const std::string& bucket, const std::string& key) {
  std::string path = "/" + percent_encoded(bucket);
  for (std::size_t from = 0; !key.empty() && from <= key.size();) {
    const std::size_t slash = std::min(key.find('/', from), key.size());
    path += "/" + percent_encoded(key.substr(from, slash - from));
    from = slash + 1;
  }
  return path;
}

// Returns the Host field as libcurl sends it: without the scheme's own port.
std::string host_of(const std::string& endpoint) {
  const std::size_t begins = endpoint.find("://") + 3;
  std::string_view host = std::string_view(endpoint).substr(begins);
  const std::string_view own = endpoint.starts_with("https:") ? ":443" : ":80";
  if (host.ends_with(own)) host.remove_suffix(own.size());
  return std::string(host);
}

// Returns the digest that a store tells in base64; nullopt for another text, such as the checksum
// of checksums that an object of several parts has.
std::optional<Digest> digest_of_checksum(const std::string& text) {
  const auto bytes = from_base64(text);
  Digest digest;
  if (!bytes || bytes->size() != digest.bytes.size()) return std::nullopt;
  std::memcpy(digest.bytes.data(), bytes->data(), bytes->size());
  return digest;
}

std::string checksum_of(const Digest& sha256) { return to_base64(raw_bytes(sha256)); }

// Faults of the way there, or of the moment: the same request may succeed later.
bool is_passing(long status, std::string_view code) {
  static constexpr std::array<std::string_view, 6> codes{"BadDigest",
                                                         "XAmzContentSHA256Mismatch",
                                                         "XAmzContentChecksumMismatch",
                                                         "IncompleteBody",
                                                         "RequestTimeout",
                                                         "ConditionalRequestConflict"};
  return status >= 500 || status == 429 || status == 408 || status == 409 ||
         std::find(codes.begin(), codes.end(), code) != codes.end();
}

}  // namespace

struct S3Client::Request {
  std::string method;
  std::string key;  // empty: the bucket itself
  NamedValues query = {};
  NamedValues headers = {};
  Digest sha256{};  // of the content
  std::optional<std::string_view> content = std::nullopt;
  std::function<bool(std::string_view)> sink = nullptr;
  std::size_t bytes_max = s3_answer_bytes_max;  // of the answer, or of what is sent
  const bool* is_refused = nullptr;             // set by `sink`: what arrives isn't what was stored
  const bool* is_complete = nullptr;            // set by `sink`: what follows isn't needed
  long* sink_status = nullptr;                  // of the answer that `sink` gets
};

S3Client::S3Client(S3Settings settings) : settings_(std::move(settings)) {}

std::string S3Client::url_of(const std::string& key) const {
  return "s3://" + settings_.bucket + "/" + key;
}

tl::unexpected<StoreError> S3Client::failure(StoreError::Kind kind, const std::string& key,
                                             const std::string& why) const {
  // What is wrong with the store isn't of one key, and is said alike for all.
  const bool is_of_store = kind == StoreError::Kind::away || kind == StoreError::Kind::denied;
  const std::string url = url_of(is_of_store ? settings_.prefix : key);
  return store_failure(kind, url + " at " + settings_.endpoint + ": " + why, url);
}

Stored<S3Client::Answer> S3Client::send_signed(const Request& request) const {
  const auto credentials = settings_.credentials();
  if (!credentials) return failure(StoreError::Kind::denied, request.key, credentials.error());
  const SignedParts signed_parts{request.method,
                                 host_of(settings_.endpoint),
                                 path_of_key(settings_.bucket, request.key),
                                 request.query,
                                 request.headers,
                                 to_hex(request.sha256)};
  OutgoingRequest outgoing;
  outgoing.method = request.method;
  outgoing.url = settings_.endpoint + signed_parts.path;
  if (!request.query.empty()) outgoing.url += "?" + canonical_query(request.query);
  outgoing.headers =
      signed_headers(signed_parts, *credentials, settings_.region, SystemClock().wall_ns());
  outgoing.trusted = settings_.certificate_authority;
  outgoing.follow = false;
  outgoing.content = request.content;
  outgoing.sink = request.sink;
  outgoing.sink_status = request.sink_status;
  outgoing.answer_bytes_max =
      request.sink ? std::max(s3_answer_bytes_max, request.bytes_max + 1) : s3_answer_bytes_max;
  outgoing.stall_ms = limits::artifact_store_stall_ms_max;
  outgoing.wanted_header = checksum_header;
  HttpTimeouts times;
  times.connect_ms = limits::artifact_store_stall_ms_max;
  times.whole_ms = limits::artifact_store_stall_ms_max +
                   static_cast<std::int64_t>(request.bytes_max) * 1000 / bytes_per_s_min;
  auto sent = send(outgoing, times);
  if (!sent) return failure(StoreError::Kind::away, request.key, sent.error().message);
  Answer answer{sent->status, std::move(sent->body), {}};
  answer.head = {sent->content_bytes, sent->modified_s.value_or(0) * ns_per_s,
                 digest_of_checksum(sent->wanted)};
  if (answer.status / 100 != 2) answer.code = s3_error_code(answer.body);
  return answer;
}

Stored<S3Client::Answer> S3Client::ask(const Request& request) {
  TRY(health_.admit());
  auto answer = send_signed(request);
  if (request.is_refused != nullptr && *request.is_refused) {
    health_.note(std::nullopt);
    return failure(StoreError::Kind::damaged, request.key, "it isn't what was stored");
  }
  if (request.is_complete != nullptr && *request.is_complete) {
    health_.note(std::nullopt);
    return Answer{whole_object, {}, {}};
  }
  if (answer) {
    const long status = answer->status;
    const std::string said =
        "HTTP " + std::to_string(status) + (answer->code.empty() ? "" : " " + answer->code);
    if (status == 501) {
      // It says something of a condition in the request; put() goes on without that.
    } else if (is_passing(status, answer->code)) {
      answer = failure(StoreError::Kind::away, request.key, said);
    } else if (status / 100 == 3) {
      answer = failure(StoreError::Kind::denied, request.key,
                       said + ": the bucket is elsewhere; check artifacts.endpoint and region");
    } else if (answer->code == "NoSuchBucket" || (status / 100 != 2 && status != 404 &&
                                                  status != 412 && status != range_beyond_end)) {
      answer = failure(StoreError::Kind::denied, request.key, said);
    }
  }
  // Work that was canceled, or had no time left, says nothing of the store.
  const bool is_over =
      CallBounds::is_canceled() || CallBounds::now_ms() >= CallBounds::deadline_ms();
  if (answer) {
    health_.note(std::nullopt);
  } else if (!is_over) {
    health_.note(answer.error());
  }
  return answer;
}

Stored<S3Client::Put> S3Client::put(const std::string& key, const Digest& sha256,
                                    std::string_view content, bool only_if_absent) {
  Request request{.method = "PUT", .key = key, .sha256 = sha256, .content = content};
  request.bytes_max = content.size();
  // x-amz-content-sha256, which is signed, is checked on arrival, too.
  request.headers = {{"content-type", object_media_type}, {checksum_header, checksum_of(sha256)}};
  const bool has_condition = only_if_absent && knows_conditions_;
  if (has_condition) request.headers.emplace_back("if-none-match", "*");
  auto answer = TRY(ask(request));
  if (answer.status == 501 && has_condition) {
    knows_conditions_ = false;
    return put(key, sha256, content, only_if_absent);
  }
  if (answer.status == 412) return Put::existed;
  if (answer.status / 100 == 2) return Put::created;
  return failure(StoreError::Kind::denied, key,
                 "HTTP " + std::to_string(answer.status) + " " + answer.code);
}

Stored<void> S3Client::get(const std::string& key, const Sink& sink) {
  return read({.method = "GET", .key = key, .sha256 = signalbox::sha256("")}, sink);
}

Stored<void> S3Client::get_range(const std::string& key, std::uint64_t offset, std::uint64_t bytes,
                                 const Sink& sink) {
  Request request{.method = "GET", .key = key, .sha256 = signalbox::sha256("")};
  request.headers = {
      {"range", "bytes=" + std::to_string(offset) + "-" + std::to_string(offset + bytes - 1)}};
  long status = 0;
  bool is_complete = false;
  request.sink_status = &status;
  request.is_complete = &is_complete;
  std::uint64_t skipped = 0;
  std::uint64_t taken = 0;
  return read(std::move(request), [&](std::string_view part) {
    if (status != whole_object) return sink(part);
    const auto skip =
        static_cast<std::size_t>(std::min<std::uint64_t>(offset - skipped, part.size()));
    skipped += skip;
    part.remove_prefix(skip);
    part = part.substr(
        0, static_cast<std::size_t>(std::min<std::uint64_t>(bytes - taken, part.size())));
    taken += part.size();
    if (!part.empty() && !sink(part)) return false;
    is_complete = taken == bytes;
    return true;
  });
}

Stored<void> S3Client::read(Request request, const Sink& sink) {
  bool is_refused = false;
  request.bytes_max = limits::artifact_bytes_max;
  request.sink = [&, is_complete = request.is_complete](std::string_view part) {
    is_refused = !sink(part);
    return !is_refused && (is_complete == nullptr || !*is_complete);
  };
  request.is_refused = &is_refused;
  const auto answer = TRY(ask(request));
  if (answer.status == 404) {
    return failure(StoreError::Kind::not_found, request.key, "it isn't there");
  }
  if (answer.status == range_beyond_end) {
    return failure(StoreError::Kind::damaged, request.key, "it ends before one of its parts");
  }
  if (answer.status / 100 == 2) return {};
  return failure(StoreError::Kind::denied, request.key,
                 "HTTP " + std::to_string(answer.status) + " " + answer.code);
}

Stored<std::optional<S3Head>> S3Client::head(const std::string& key) {
  Request request{.method = "HEAD", .key = key, .sha256 = signalbox::sha256("")};
  request.headers = {{"x-amz-checksum-mode", "ENABLED"}};
  const auto answer = TRY(ask(request));
  if (answer.status / 100 == 2) return answer.head;
  if (answer.status == 404) {
    // An answer to HEAD has no body that could say that it is the bucket that isn't there.
    const auto read = get_range(key, 0, 1, [](std::string_view) { return true; });
    if (read || read.error().kind == StoreError::Kind::not_found) return std::nullopt;
    if (read.error().kind == StoreError::Kind::damaged) return std::nullopt;  // empty by now
    return tl::unexpected(read.error());
  }
  return failure(StoreError::Kind::denied, key, "HTTP " + std::to_string(answer.status));
}

// A store that ignores a condition says nothing of that, and would let the holder of a URL replace
// what others have stored: it has to refuse one before the first URL.
Stored<bool> S3Client::keeps_conditions() {
  if (has_kept_condition_) return true;
  constexpr std::string_view content = "whether If-None-Match is kept\n";
  const std::string key = settings_.prefix + "condition-probe";
  for (int tries_left = 2; knows_conditions_ && tries_left > 0; --tries_left) {
    const auto result = TRY(put(key, signalbox::sha256(content), content, /*only_if_absent=*/true));
    if (result == Put::existed) return has_kept_condition_ = true;
  }
  return knows_conditions_ = false;
}

Stored<std::optional<UploadUrl>> S3Client::upload_url(const std::string& key, const Digest& sha256,
                                                      std::uint64_t bytes, std::int64_t wall_ns) {
  if (!TRY(keeps_conditions())) return std::nullopt;
  const auto credentials = settings_.credentials();
  if (!credentials) return failure(StoreError::Kind::denied, key, credentials.error());
  const std::string& endpoint =
      settings_.runner_endpoint.empty() ? settings_.endpoint : settings_.runner_endpoint;
  UploadUrl upload;
  upload.headers = {{"content-type", object_media_type},
                    {"if-none-match", "*"},
                    {checksum_header, checksum_of(sha256)}};
  SignedParts request{"PUT", host_of(endpoint), path_of_key(settings_.bucket, key),
                      {},    upload.headers,    unsigned_payload};
  // Every client sends it. It bounds what a store takes that doesn't know the checksum.
  request.headers.emplace_back("content-length", std::to_string(bytes));
  upload.url = endpoint + request.path + "?" +
               canonical_query(presigned_query(request, *credentials, settings_.region, wall_ns,
                                               limits::upload_url_ms_max / 1000));
  return upload;
}

Stored<void> S3Client::remove(const std::string& key) {
  const auto answer = TRY(ask({.method = "DELETE", .key = key, .sha256 = signalbox::sha256("")}));
  if (answer.status / 100 == 2 || answer.status == 404) return {};
  return failure(StoreError::Kind::denied, key,
                 "HTTP " + std::to_string(answer.status) + " " + answer.code);
}

Stored<S3Listing> S3Client::list(const std::string& prefix, std::size_t keys_max,
                                 const std::string& token) {
  Request request{.method = "GET", .key = {}, .sha256 = signalbox::sha256("")};
  request.query = {{"list-type", "2"}, {"max-keys", std::to_string(keys_max)}, {"prefix", prefix}};
  if (!token.empty()) request.query.emplace_back("continuation-token", token);
  const auto answer = TRY(ask(request));
  if (answer.status / 100 != 2) {
    return failure(StoreError::Kind::denied, prefix,
                   "HTTP " + std::to_string(answer.status) + " " + answer.code);
  }
  auto listing = parse_s3_listing(answer.body);
  if (!listing) return failure(StoreError::Kind::away, prefix, "its listing: " + listing.error());
  // A store that ignores the prefix would be read as a whole for each part of the artifacts.
  const auto is_outside = [&](const S3Object& each) { return !each.key.starts_with(prefix); };
  if (std::ranges::any_of(listing->objects, is_outside)) {
    return failure(StoreError::Kind::away, prefix, "its listing has objects that aren't below it");
  }
  return *std::move(listing);
}

}  // namespace signalbox
