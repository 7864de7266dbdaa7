// One HTTP request and its response, over libcurl.
//
// It is separate so that the meaning of a status (remote_endpoint.h) doesn't depend on a library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace signalbox {

inline constexpr std::size_t http_body_bytes_max = 32 * 1024 * 1024;
// Of an answer that says why there is none for the sink.
inline constexpr std::size_t http_error_bytes_max = 64 * 1024;
inline constexpr int http_redirects_max = 5;

struct OutgoingRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::string trusted = {};  // PEM file of certificates to trust instead of the system's; or empty
  bool follow = true;        // follow a 303; false: return it like any other redirect
  // Called about once a second during the transfer; true ends the request as a failure.
  std::function<bool()> is_canceled = nullptr;
  // Sent instead of `body` if it has a value; it outlives the call.
  std::optional<std::string_view> content = {};
  std::size_t answer_bytes_max = http_body_bytes_max;
  // Takes the body of a 2xx, a part at a time, instead of HttpResponse::body; false ends the
  // request as a failure.
  std::function<bool(std::string_view part)> sink = nullptr;
  long* sink_status = nullptr;  // set to the status before `sink` is called; outlives the call
  // Time without a byte in either direction after which the request has failed; 0: no bound.
  std::int64_t stall_ms = 0;
  // The header field of the response that HttpResponse::wanted gets, in lower case; or empty.
  std::string wanted_header = {};
};

struct HttpResponse {
  long status = 0;
  std::string body;
  // from the Retry-After header; empty if there is none
  std::optional<std::int64_t> retry_after_ms;
  std::string wanted;  // the value of the request's wanted_header, if it is short; or empty
  // Of Content-Length, which for HEAD is the size of what GET would give.
  std::optional<std::uint64_t> content_bytes;
  std::optional<std::int64_t> modified_s;  // of Last-Modified (UTC)
};

struct HttpFailure {
  std::string message;
  // False if the server certainly received nothing of the request.
  bool may_have_arrived = true;
};

// Timeouts of one hop.
struct HttpTimeouts {
  std::int64_t connect_ms = 10'000;
  std::int64_t whole_ms = 60'000;
};

// Sends the request and returns the response; blocks for at most times.whole_ms per hop, or until
// the bounds of the thread's calls (call_bounds.h) have passed. Any thread. A 303 is followed with
// GET, at most http_redirects_max times: to another origin without the request's headers, and never
// from https to http. Other redirects are returned as responses. A body longer than the request's
// answer_bytes_max is a failure.
tl::expected<HttpResponse, HttpFailure> send(const OutgoingRequest& request,
                                             const HttpTimeouts& times);

// Where data that is sent to a URL could be read.
enum class UrlReach {
  none,              // the text is no http or https URL with a host
  protected_,        // https: readable by the two ends only
  machine,           // http to a loopback address: this machine only
  network_in_clear,  // http to another host: readable on the way
};
// Returns the reach of a URL. Doesn't resolve names and doesn't block.
UrlReach reach_of_url(const std::string& url);

}  // namespace signalbox
