#include "server/transport/http/http_exchange.h"

#include <boost/asio/post.hpp>
#include <boost/json/serialize.hpp>

#include "server/text/ascii_case.h"
#include "server/text/json_text.h"
#include "server/transport/http/artifact_download.h"
#include "server/transport/http/call_line.h"
#include "server/transport/http/console.h"
#include "server/transport/http/openapi.h"
#include "server/transport/http/output_download.h"
#include "server/transport/http/problem.h"
#include "server/transport/http/sse_stream.h"

namespace signalbox {
namespace {

namespace http = boost::beast::http;
namespace json = boost::json;

HttpAnswer json_answer(unsigned status, std::string body) {
  HttpAnswer answer;
  answer.status = status;
  answer.media_type = "application/json";
  answer.body = std::move(body);
  return answer;
}

// Turns the answer to one call into the response of its route.
class CallPeer final : public SingleResponsePeer {
 public:
  CallPeer(std::shared_ptr<HttpSession> session, const Route& route, Target target)
      : SingleResponsePeer(std::move(session)), route_(route), target_(std::move(target)) {}

 private:
  void on_answer(const std::string& line) override {
    const auto result = result_text(line);
    if (!result) return session().respond(problem_of_line(line));
    HttpAnswer answer = json_answer(route_.status, {});
    if (route_.show == nullptr) {
      answer.body = std::string(*result) + "\n";
    } else {
      route_.show(target_, parse_own_answer(*result), answer);
    }
    session().respond(std::move(answer));
  }

  const Route& route_;
  const Target target_;
};

// Turns the answer to POST /rpc into a response. JSON-RPC has its own errors, so they are sent with
// status 200. Only UNAUTHENTICATED becomes an HTTP status, because HTTP clients act on 401.
class RpcPeer final : public SingleResponsePeer {
 public:
  using SingleResponsePeer::SingleResponsePeer;

 private:
  void on_answer(const std::string& line) override {
    if (line.empty()) {
      HttpAnswer nothing;
      nothing.status = 204;
      return session().respond(std::move(nothing));
    }
    // A text in a result may be the same word.
    if (line.find("\"UNAUTHENTICATED\"") != std::string::npos) {
      const json::object answer = parse_own_answer(line);
      const json::value* error = answer.if_contains("error");
      if (error != nullptr && error->at("data").at("code") == "UNAUTHENTICATED") {
        return session().respond(problem(error->as_object()));
      }
    }
    session().respond(json_answer(200, line + "\n"));
  }
};

// Answers that a project was put, with what its cards will miss.
class CheckPeer final : public SingleResponsePeer {
 public:
  CheckPeer(std::shared_ptr<HttpSession> session, json::object put)
      : SingleResponsePeer(std::move(session)), put_(std::move(put)) {}

 private:
  // The project is saved, whatever becomes of the check.
  void on_answer(const std::string& line) override {
    if (const auto result = result_text(line)) {
      const json::object found = parse_own_answer(*result);
      for (const char* name : {"warnings", "not_checked"}) {
        if (const json::value* list = found.if_contains(name)) put_[name] = *list;
      }
    }
    session().respond(json_answer(200, json::serialize(put_) + "\n"));
  }

  json::object put_;
};

// Has a project that was put checked, as `signalbox project put` does. Results of commands follow
// from their events alone, so that a repeated one gets the same: hence two calls.
class PutPeer final : public SingleResponsePeer {
 public:
  PutPeer(std::shared_ptr<HttpSession> session, std::optional<std::string> secret)
      : SingleResponsePeer(std::move(session)), secret_(std::move(secret)) {}

 private:
  void on_answer(const std::string& line) override {
    const auto result = result_text(line);
    if (!result) return session().respond(problem_of_line(line));
    json::object put = parse_own_answer(*result);
    // Posted: this is called between the events of a commit that have become durable.
    boost::asio::post(session().socket().get_executor(),
                      [session = session().shared_from_this(), put = std::move(put),
                       secret = secret_]() mutable { check(session, std::move(put), secret); });
  }
  static void check(const std::shared_ptr<HttpSession>& session, json::object put,
                    const std::optional<std::string>& secret) {
    if (session->closed()) return;
    json::object request;
    request["jsonrpc"] = "2.0";
    request["id"] = 1;
    request["method"] = "project.check";
    request["params"] = json::object{{"name", put.at("name")}};
    const auto peer = std::make_shared<CheckPeer>(session, std::move(put));
    session->attach(peer);
    session->service().handle_request(json::serialize(request), session->origin().caller, secret,
                                      peer);
  }

  const std::optional<std::string> secret_;
};

// Turns a refusal into a response, whatever the route.
class RefusedPeer final : public SingleResponsePeer {
 public:
  using SingleResponsePeer::SingleResponsePeer;

 private:
  void on_answer(const std::string& line) override { session().respond(problem_of_line(line)); }
};

HttpAnswer version_answer() {
  json::object object;
  object["name"] = "signalbox";
  object["version"] = SIGNALBOX_VERSION;
  return json_answer(200, json::serialize(object) + "\n");
}

HttpAnswer readiness(const HttpService& service) {
  if (const auto why = service.not_ready()) return problem(503, *why);
  return json_answer(200, "{\"status\":\"ready\"}\n");
}

std::string_view header_of(const HttpRequest& request, boost::beast::string_view name) {
  const auto value = request[name];
  return {value.data(), value.size()};
}

// Returns the secret in the Authorization header; nullopt without the header. For another scheme
// than Bearer it returns the empty secret, which never authenticates.
std::optional<std::string_view> secret_of(const HttpRequest& request) {
  if (request.count(boost::beast::http::field::authorization) == 0) return std::nullopt;
  const std::string_view value = header_of(request, "Authorization");
  constexpr std::string_view scheme = "bearer ";
  if (!is_same_but_for_case(value.substr(0, scheme.size()), scheme)) return "";
  return value.substr(scheme.size());
}

// Passes `line` to the dispatcher, with `peer` for the answer.
template <class P>
void call(const std::shared_ptr<HttpSession>& session, const HttpRequest& request,
          const std::string& line, const std::shared_ptr<P>& peer) {
  session->attach(peer);
  session->service().handle_request(line, session->origin().caller, secret_of(request), peer);
  session->watch_for_hang_up();
}

}  // namespace

void SingleResponsePeer::answer(std::string line, std::size_t) {
  if (std::exchange(answered_, true) || session_->closed()) return;
  on_answer(line);
}

HttpAnswer problem_of_line(const std::string& line) {
  return problem(parse_own_answer(line).at("error").as_object());
}

std::optional<Rejection> stranger_refusal(const HttpSession& session, const RequestedRoute& asked,
                                          const HttpRequest& request) {
  switch (asked.match.route->kind) {
    case RouteKind::alive:
    case RouteKind::ready:
    case RouteKind::version:
    case RouteKind::openapi:
    case RouteKind::openrpc:
    case RouteKind::front:
    case RouteKind::console:
    case RouteKind::console_file:
      return std::nullopt;
    case RouteKind::call:
    case RouteKind::download:
    case RouteKind::output:
    case RouteKind::put:
    case RouteKind::stream:
    case RouteKind::rpc:
      break;
  }
  return session.service().stranger_refusal(session.origin().caller, secret_of(request));
}

void refuse_stranger(const std::shared_ptr<HttpSession>& session, const RequestedRoute& asked,
                     const Rejection& why) {
  const auto peer = std::make_shared<RefusedPeer>(session);
  session->attach(peer);
  session->service().refuse_unread(asked.match.route->method, session->origin().caller, why, peer);
  session->watch_for_hang_up();
}

void answer_request(const std::shared_ptr<HttpSession>& session, const RequestedRoute& asked,
                    const HttpRequest& request) {
  const Route& route = *asked.match.route;
  switch (route.kind) {
    case RouteKind::alive:
      return session->respond(json_answer(200, "{\"status\":\"ok\"}\n"));
    case RouteKind::ready:
      return session->respond(readiness(session->service()));
    case RouteKind::version:
      return session->respond(version_answer());
    case RouteKind::openapi:
      return session->respond(json_answer(200, std::string(openapi_text())));
    case RouteKind::openrpc:
      return session->respond(json_answer(200, std::string(session->service().openrpc())));
    case RouteKind::front:
      return session->respond(console_front(header_of(request, "Accept")));
    case RouteKind::console:
      return session->respond(console_page(
          asked.target, {header_of(request, "If-None-Match"), session->accepts_gzip()}));
    case RouteKind::console_file:
      return session->respond(
          console_file(asked.match.params.at("digest"), asked.match.params.at("file"),
                       {header_of(request, "If-None-Match"), session->accepts_gzip()}));
    case RouteKind::rpc:
      return call(session, request, request.body(), std::make_shared<RpcPeer>(session));
    case RouteKind::call:
    case RouteKind::download:
    case RouteKind::output:
    case RouteKind::put:
    case RouteKind::stream:
      break;
  }
  // It is unclear which of two keys is meant, and with the wrong one a retry would be executed
  // twice.
  if (!route.key_param.empty() && request.count("Idempotency-Key") > 1) {
    return session->respond(problem(400, {ErrorCode::INVALID_REQUEST,
                                          "the header Idempotency-Key is there twice",
                                          {{"header", std::string("Idempotency-Key")}},
                                          {}}));
  }
  const auto line = call_line(
      asked.match, asked.target,
      {header_of(request, "Idempotency-Key"), header_of(request, "Last-Event-ID")}, request.body());
  if (!line) return session->respond(problem(line.error()));
  if (route.kind == RouteKind::call) {
    return call(session, request, *line, std::make_shared<CallPeer>(session, route, asked.target));
  }
  if (route.kind == RouteKind::put) {
    const auto secret = secret_of(request);
    return call(session, request, *line,
                std::make_shared<PutPeer>(
                    session, secret ? std::optional(std::string(*secret)) : std::nullopt));
  }
  if (route.kind == RouteKind::download || route.kind == RouteKind::output) {
    const DownloadHeaders headers{list_field(request, http::field::if_none_match),
                                  std::string(header_of(request, "Range")),
                                  std::string(header_of(request, "If-Range"))};
    if (route.kind == RouteKind::output) {
      return call(session, request, *line, std::make_shared<OutputDownload>(session, headers));
    }
    return call(session, request, *line, std::make_shared<ArtifactDownload>(session, headers));
  }
  const auto form = read_sse_form(asked.target);
  if (!form) return session->respond(problem(form.error()));
  if (session->is_head()) return session->respond(event_stream_response());
  call(session, request, *line, std::make_shared<SseStream>(session, *form));
}

}  // namespace signalbox
