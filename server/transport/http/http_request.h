// What a request is judged by before its body is read: the name it was sent to, whose page sent
// it, the route, and the form of the body.
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

struct AskedRoute {
  Target target;
  RouteMatch match;  // its route is there
};

// The route, or the answer: a refusal, or to OPTIONS. `request` has its header only.
tl::expected<AskedRoute, HttpAnswer> judge_header(const HttpRequest& request,
                                                  const ConnectionOrigin& origin,
                                                  const HttpService& service);

// The answer to what couldn't be read as a request.
HttpAnswer unreadable_request(const boost::system::error_code& error);

}  // namespace signalbox
