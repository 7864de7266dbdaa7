// Validates a request before its body is read: the Host it was sent to, the site of the page that
// sent it, the route, and the content type of the body.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <tl/expected.hpp>

#include "server/transport/http/http_answer.h"
#include "server/transport/http/http_service.h"
#include "server/transport/http/open_connection.h"
#include "server/transport/http/route.h"

namespace signalbox {

using HttpRequest = boost::beast::http::request<boost::beast::http::string_body>;

// Returns the value of a header field that is a list, which may come in several fields.
std::string list_field(const HttpRequest& request, boost::beast::http::field name);

struct RequestedRoute {
  Target target;
  RouteMatch match;  // match.route isn't nullptr
};

// Returns the route of a request of which only the header was read. The error is the response to
// send instead: a refusal, or the response to OPTIONS.
tl::expected<RequestedRoute, HttpAnswer> validate_header(const HttpRequest& request,
                                                         const ConnectionOrigin& origin,
                                                         const HttpService& service);

// Returns the response to input that couldn't be parsed as a request: 413, 431 or 400.
HttpAnswer malformed_request(const boost::system::error_code& error);

}  // namespace signalbox
