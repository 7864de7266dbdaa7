#include "server/transport/http/http_request.h"

#include <boost/beast/http/error.hpp>

#include "domain/try.h"
#include "server/limits.h"
#include "server/text/ascii_case.h"
#include "server/text/utf8_text.h"
#include "server/transport/http/host_rule.h"
#include "server/transport/http/problem.h"

namespace signalbox {
namespace {

namespace http = boost::beast::http;

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

std::string shown(std::string_view text) {
  return std::string(utf8_prefix(with_replacements(text), 64));
}

tl::unexpected<HttpAnswer> refused(unsigned status, ErrorCode code, std::string message,
                                   std::vector<Detail> details = {},
                                   std::vector<std::string> next_commands = {}) {
  return tl::unexpected(
      problem(status, {code, std::move(message), std::move(details), std::move(next_commands)}));
}

tl::expected<void, HttpAnswer> check_host(const HttpRequest& request, const Target& target,
                                          const ConnectionOrigin& origin,
                                          const HttpService& service) {
  // Only HTTP/1.0 comes without one; no browser sends it, so there is no page to protect against.
  if (request.count(http::field::host) == 0 && target.authority.empty()) return {};
  const std::string_view header =
      request.count(http::field::host) == 0 ? target.authority : view(request[http::field::host]);
  const std::string_view host = target.authority.empty() ? header : target.authority;
  if (service.host_rule.allows(header, origin.is_tcp, origin.local_address) &&
      service.host_rule.allows(host, origin.is_tcp, origin.local_address)) {
    return {};
  }
  return refused(421, ErrorCode::NOT_ALLOWED,
                 "this service doesn't answer to the name " + shown(host) +
                     "; names of its own are configured as http_hosts",
                 {{"host", shown(host)}}, {"signalbox serve --help"});
}

// The console's page is the same for everybody and does nothing by itself, so a link to it may
// stand anywhere. A frame, an image or a script of another site isn't a visit.
bool is_visit_to_console(const HttpRequest& request, const Target& target) {
  const bool is_get = request.method() == http::verb::get || request.method() == http::verb::head;
  const bool is_page = target.segments.empty() ||
                       (target.segments.size() == 1 && target.segments.front() == "console");
  return is_get && is_page &&
         is_page_visit(view(request["Sec-Fetch-Mode"]), view(request["Sec-Fetch-Dest"]));
}

tl::expected<void, HttpAnswer> check_site(const HttpRequest& request, const Target& target,
                                          const ConnectionOrigin& origin) {
  if (is_visit_to_console(request, target)) return {};
  const std::string_view site = view(request["Sec-Fetch-Site"]);
  const std::string_view page = view(request[http::field::origin]);
  if (!is_cross_site(site, page, view(request[http::field::host]), origin.is_encrypted)) return {};
  return refused(403, ErrorCode::NOT_ALLOWED, "a page of another site asks for this",
                 {{"sec_fetch_site", shown(site)}, {"origin", shown(page)}});
}

tl::expected<void, HttpAnswer> check_body(const HttpRequest& request) {
  const auto verb = request.method();
  if (verb != http::verb::post && verb != http::verb::put) return {};
  const std::string_view type = view(request[http::field::content_type]);
  const std::string_view essence = type.substr(0, type.find_first_of("; \t"));
  const bool is_json = is_same_but_for_case(essence, "application/json");
  const bool is_plain = request.count(http::field::content_encoding) == 0;
  if (is_json && is_plain) return {};
  auto refusal = refused(415, ErrorCode::INVALID_REQUEST,
                         is_json ? "a body comes without Content-Encoding"
                                 : "a POST or PUT has Content-Type: application/json, without a "
                                   "body too",
                         {{"content_type", shown(type)}});
  refusal.value().headers.emplace_back("Accept", "application/json");
  return refusal;
}

std::string list_of(const std::vector<std::string>& verbs) {
  std::string list;
  for (const std::string& verb : verbs) list += verb + ", ";
  return list + "OPTIONS";
}

tl::expected<RouteMatch, HttpAnswer> find_route(const HttpRequest& request, const Target& target) {
  const std::string verb(view(request.method_string()));
  RouteMatch match = match_route(verb, target);
  const bool is_server_wide = target.segments.size() == 1 && target.segments.front() == "*";
  if (verb == "OPTIONS" && is_server_wide) match.verbs = {"GET", "HEAD", "POST", "PUT"};
  if (match.verbs.empty() && target.ends_with_slash) {
    return refused(400, ErrorCode::INVALID_REQUEST, "the request's target ends with a slash");
  }
  if (match.verbs.empty()) {
    return refused(404, ErrorCode::METHOD_NOT_FOUND, "there is nothing at this path", {},
                   {"curl --unix-socket \"$SIGNALBOX_SOCKET\" http://signalbox/openapi.json"});
  }
  if (match.route != nullptr) return match;
  HttpAnswer answer;
  if (verb == "OPTIONS") {
    answer.status = 204;
  } else {
    answer = problem(405, {ErrorCode::METHOD_NOT_FOUND,
                           "this path doesn't take " + shown(verb),
                           {{"allow", match.verbs}},
                           {}});
  }
  answer.headers.emplace_back("Allow", list_of(match.verbs));
  return tl::unexpected(std::move(answer));
}

}  // namespace

std::string list_field(const HttpRequest& request, http::field name) {
  std::string list;
  const auto [first, last] = request.equal_range(name);
  for (auto each = first; each != last; ++each) {
    if (each != first) list += ", ";
    list += view(each->value());
  }
  return list;
}

tl::expected<RequestedRoute, HttpAnswer> validate_header(const HttpRequest& request,
                                                         const ConnectionOrigin& origin,
                                                         const HttpService& service) {
  auto target = read_target(view(request.target()));
  if (!target) return tl::unexpected(problem(target.error()));
  TRY(check_host(request, *target, origin, service));
  TRY(check_site(request, *target, origin));
  auto match = TRY(find_route(request, *target));
  TRY(check_body(request));
  return RequestedRoute{std::move(*target), std::move(match)};
}

HttpAnswer malformed_request(const boost::system::error_code& error) {
  if (error == http::error::body_limit) {
    return problem(413, {ErrorCode::LIMIT_EXCEEDED,
                         "a body has at most " + std::to_string(line_bytes_max) + " bytes",
                         {{"line_bytes_max", static_cast<std::int64_t>(line_bytes_max)}},
                         {"signalbox server limits"}});
  }
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return problem(431,
                   {ErrorCode::LIMIT_EXCEEDED,
                    "a header has at most " + std::to_string(http_header_bytes_max) + " bytes",
                    {{"http_header_bytes_max", static_cast<std::int64_t>(http_header_bytes_max)}},
                    {"signalbox server limits"}});
  }
  return problem(
      {ErrorCode::INVALID_REQUEST,
       "this isn't a request of HTTP/1.1 (a line of JSON-RPC begins with `{`): " + error.message(),
       {},
       {"curl --unix-socket \"$SIGNALBOX_SOCKET\" http://signalbox/openapi.json"}});
}

}  // namespace signalbox
