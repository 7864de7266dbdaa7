// One HTTP request to a job endpoint and its response, over libcurl.
//
// It is separate so that what a status means (remote_endpoint.h) doesn't depend on a library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace signalbox {

inline constexpr std::size_t http_body_bytes_max = 32 * 1024 * 1024;
inline constexpr int http_redirects_max = 5;

struct OutgoingRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::string trusted = {};  // a file of certificates to trust instead of the system's, or empty
  bool follow = true;        // a 303; else it is given back as any other redirect
  // Asked about once a second; true ends the request as a failure.
  std::function<bool()> given_up = nullptr;
};

struct HttpResponse {
  long status = 0;
  std::string body;
  std::optional<std::int64_t> retry_after_ms;  // of a Retry-After in seconds
};

struct HttpFailure {
  std::string message;
  // False if it is certain that the server saw nothing of the request.
  bool may_have_arrived = true;
};

struct HttpTimes {
  std::int64_t connect_ms = 10'000;
  std::int64_t whole_ms = 60'000;
};

// Blocks, at most times.whole_ms for each hop. A 303 is followed with GET, http_redirects_max
// times; to another origin without the request's headers, never from https to http. Other
// redirects are given back as they are. A longer body than http_body_bytes_max is a failure.
tl::expected<HttpResponse, HttpFailure> send(const OutgoingRequest& request,
                                             const HttpTimes& times);

// Where what is sent to a URL can be read.
enum class UrlReach {
  none,              // it is no http or https URL with a host
  protected_,        // https
  machine,           // http, of a loopback address
  network_in_clear,  // http
};
UrlReach reach_of_url(const std::string& url);

}  // namespace signalbox
