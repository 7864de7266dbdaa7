#include "server/platform/http_request.h"

#include <algorithm>
#include <memory>

#include "domain/check.h"
#include "server/platform/call_bounds.h"
#include "server/platform/curl_library.h"

namespace signalbox {
namespace {

using Handle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using Headers = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;
using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

Handle new_handle(const CurlLibrary& library) {
  Handle handle(library.easy_init(), library.easy_cleanup);
  SIGNALBOX_CHECK(handle != nullptr);
  return handle;
}

// Returns a part of the URL as libcurl reads it, since that is what it connects to; empty if there
// is none.
std::string part_of(const std::string& url, CURLUPart part) {
  const auto library = curl_library();
  if (!library) return {};
  const Url parsed((*library)->url(), (*library)->url_cleanup);
  if ((*library)->url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return {};
  char* text = nullptr;
  if ((*library)->url_get(parsed.get(), part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
  std::string result = text;
  (*library)->free(text);
  return result;
}

bool same_origin(const std::string& a, const std::string& b) {
  for (const CURLUPart part : {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT}) {
    if (part_of(a, part) != part_of(b, part)) return false;
  }
  return true;
}

bool is_canceled(const OutgoingRequest& request) {
  return CallBounds::is_canceled() || (request.is_canceled && request.is_canceled());
}

// libcurl's progress callback (CURLOPT_XFERINFOFUNCTION), about once a second: a value other than 0
// ends the transfer.
int on_progress(void* request, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return is_canceled(*static_cast<const OutgoingRequest*>(request)) ? 1 : 0;
}

struct Hop {
  HttpResponse response;
  std::string redirect;  // absolute, or empty
};

// What takes the body of a response.
struct Receiver {
  const OutgoingRequest& request;
  const CurlLibrary& libcurl;
  CURL* curl;
  std::string& body;
  std::size_t bytes = 0;

  // Returns whether the transfer goes on.
  bool receive(std::string_view part) {
    bytes += part.size();
    if (bytes > request.answer_bytes_max) return false;
    if (request.sink) {
      long status = 0;
      libcurl.easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
      if (request.sink_status != nullptr) *request.sink_status = status;
      if (status / 100 == 2) return request.sink(part);
    }
    // Only an error is kept of an answer that isn't the sink's.
    const std::size_t kept_max = request.sink ? http_error_bytes_max : request.answer_bytes_max;
    body.append(part.substr(0, kept_max - std::min(body.size(), kept_max)));
    return true;
  }
};

// libcurl's write callback (CURLOPT_WRITEFUNCTION). Returns less than it was given if the body is
// too long, or its sink refuses it, which makes libcurl end the transfer.
std::size_t receive_body(char* data, std::size_t size, std::size_t count, void* to) {
  return static_cast<Receiver*>(to)->receive({data, size * count}) ? size * count : 0;
}

// What looks for a field in the header of a response.
struct WantedField {
  static constexpr std::size_t bytes_max = 1024;
  const std::string& name;
  std::string& value;

  void note(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || line.size() > bytes_max) return;
    std::string field(line.substr(0, colon));
    std::transform(field.begin(), field.end(), field.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (field != name) return;
    std::string_view text = line.substr(colon + 1);
    const std::size_t begins = std::min(text.find_first_not_of(" \t"), text.size());
    text.remove_prefix(begins);
    value = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  }
};

// libcurl's header callback (CURLOPT_HEADERFUNCTION): one line of a header.
std::size_t receive_header(char* data, std::size_t size, std::size_t count, void* to) {
  static_cast<WantedField*>(to)->note({data, size * count});
  return size * count;
}

bool certainly_unsent(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
      return true;
    default:
      return false;
  }
}

tl::expected<Hop, HttpFailure> send_once(const OutgoingRequest& request,
                                         const HttpTimeouts& times) {
  const std::int64_t left_ms =
      CallBounds::deadline_ms() == CallBounds::never_ms
          ? times.whole_ms
          : std::min(times.whole_ms, CallBounds::deadline_ms() - CallBounds::now_ms());
  if (left_ms <= 0 || is_canceled(request)) {
    return tl::unexpected(HttpFailure{"the time for this work is over", false});
  }
  const auto library = curl_library();
  if (!library) return tl::unexpected(HttpFailure{library.error(), false});
  const CurlLibrary& libcurl = **library;
  const Handle handle = new_handle(libcurl);
  CURL* const curl = handle.get();
  Hop hop;
  Receiver receiver{request, libcurl, curl, hop.response.body};
  char why[CURL_ERROR_SIZE] = "";
  Headers headers(nullptr, libcurl.slist_free_all);
  for (const auto& [name, value] : request.headers) {
    headers.reset(libcurl.slist_append(headers.release(), (name + ": " + value).c_str()));
  }
  libcurl.easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  libcurl.easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  libcurl.easy_setopt(curl, CURLOPT_NOPROXY, "localhost,127.0.0.1,::1");
  libcurl.easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  libcurl.easy_setopt(curl, CURLOPT_USERAGENT, "signalbox/" SIGNALBOX_VERSION);
  libcurl.easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  libcurl.easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(times.connect_ms));
  libcurl.easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(left_ms));
  libcurl.easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
  libcurl.easy_setopt(curl, CURLOPT_WRITEFUNCTION, &receive_body);
  libcurl.easy_setopt(curl, CURLOPT_WRITEDATA, &receiver);
  libcurl.easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (!request.trusted.empty()) libcurl.easy_setopt(curl, CURLOPT_CAINFO, request.trusted.c_str());
  libcurl.easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  libcurl.easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &on_progress);
  libcurl.easy_setopt(curl, CURLOPT_XFERINFODATA, &request);
  const std::string_view sent = request.content.value_or(request.body);
  if (request.content || !sent.empty()) {
    libcurl.easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(sent.size()));
    libcurl.easy_setopt(curl, CURLOPT_POSTFIELDS, sent.empty() ? "" : sent.data());
  }
  WantedField wanted{request.wanted_header, hop.response.wanted};
  if (!request.wanted_header.empty()) {
    libcurl.easy_setopt(curl, CURLOPT_HEADERFUNCTION, &receive_header);
    libcurl.easy_setopt(curl, CURLOPT_HEADERDATA, &wanted);
  }
  if (request.method == "HEAD") {
    libcurl.easy_setopt(curl, CURLOPT_NOBODY, 1L);
    libcurl.easy_setopt(curl, CURLOPT_FILETIME, 1L);
  }
  if (request.stall_ms > 0) {
    libcurl.easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    libcurl.easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                        static_cast<long>((request.stall_ms + 999) / 1000));
  }
  const CURLcode code = libcurl.easy_perform(curl);
  if (code != CURLE_OK) {
    std::string text = why[0] != '\0' ? why : libcurl.easy_strerror(code);
    if (code == CURLE_ABORTED_BY_CALLBACK) text = "the request was canceled";
    return tl::unexpected(HttpFailure{
        code == CURLE_WRITE_ERROR
            ? "the answer is longer than " + std::to_string(request.answer_bytes_max) + " bytes"
            : text,
        !certainly_unsent(code)});
  }
  libcurl.easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &hop.response.status);
  curl_off_t retry_after_s = 0;
  libcurl.easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after_s);
  if (retry_after_s > 0) hop.response.retry_after_ms = std::int64_t{retry_after_s} * 1000;
  curl_off_t content_bytes = -1;
  libcurl.easy_getinfo(curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &content_bytes);
  if (content_bytes >= 0) hop.response.content_bytes = static_cast<std::uint64_t>(content_bytes);
  curl_off_t modified_s = -1;
  libcurl.easy_getinfo(curl, CURLINFO_FILETIME_T, &modified_s);
  if (modified_s >= 0) hop.response.modified_s = modified_s;
  const char* redirect = nullptr;
  libcurl.easy_getinfo(curl, CURLINFO_REDIRECT_URL, &redirect);
  if (redirect != nullptr) hop.redirect = redirect;
  return hop;
}

}  // namespace

tl::expected<HttpResponse, HttpFailure> send(const OutgoingRequest& request,
                                             const HttpTimeouts& times) {
  OutgoingRequest next = request;
  for (int hops = 0; hops <= http_redirects_max; ++hops) {
    auto sent = send_once(next, times);
    if (!sent) {
      if (hops > 0) sent.error().may_have_arrived = true;  // as the first request has
      return tl::unexpected(std::move(sent.error()));
    }
    Hop& hop = *sent;
    if (hop.response.status != 303 || hop.redirect.empty() || !request.follow) {
      return std::move(hop.response);
    }
    if (next.url.starts_with("https:") && !hop.redirect.starts_with("https:")) {
      return tl::unexpected(HttpFailure{"a redirect from https to http isn't followed", true});
    }
    // The headers may hold credentials: drop them when a redirect leaves the origin.
    if (!same_origin(request.url, hop.redirect)) next.headers.clear();
    next.method = "GET";
    next.url = hop.redirect;
    next.body.clear();
    next.content.reset();
  }
  return tl::unexpected(
      HttpFailure{"more than " + std::to_string(http_redirects_max) + " redirects", true});
}

UrlReach reach_of_url(const std::string& url) {
  const std::string scheme = part_of(url, CURLUPART_SCHEME);
  const std::string host = part_of(url, CURLUPART_HOST);
  if (host.empty()) return UrlReach::none;
  if (scheme == "https") return UrlReach::protected_;
  if (scheme != "http") return UrlReach::none;
  const bool loopback = host == "localhost" || host == "[::1]" || host == "127.0.0.1";
  return loopback ? UrlReach::machine : UrlReach::network_in_clear;
}

}  // namespace signalbox
