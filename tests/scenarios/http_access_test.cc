// Access tokens over HTTP with the real server: who is authenticated, who is authorized, and which
// paths are open to all.
#include <gtest/gtest.h>

#include "tests/scenarios/http_client.h"
#include "tests/scenarios/real_server.h"

namespace signalbox {
namespace {

class HttpAccess : public ::testing::Test {
 protected:
  void SetUp() override {
    server_.start();
    const std::string messages = server_.messages();
    port_ = static_cast<std::uint16_t>(
        std::stoi(messages.substr(messages.find("127.0.0.1:") + sizeof "127.0.0.1")));
  }
  std::string issue(const char* name, const char* role) {
    const Output issued = server_.cli({"access", "issue", name, "--role", role});
    EXPECT_EQ(issued.exit_code, 0) << issued.err;
    return issued.out.substr(0, issued.out.find('\n'));
  }
  HttpReply ask(const char* verb, const char* target, const HttpHeaders& headers = {},
                const char* body = "") {
    return HttpClient(port_).ask(verb, target, headers, body);
  }

  RealServer server_{{"--listen", "127.0.0.1:0"}};
  std::uint16_t port_ = 0;
};

// As it is delivered, TCP answers health only: no token was issued, and nobody set loopback_role.
TEST_F(HttpAccess, WithoutATokenThereIsHealthOnly) {  // G9
  for (const char* path : {"/healthz", "/readyz", "/version", "/openapi.json", "/openrpc.json"}) {
    EXPECT_EQ(ask("GET", path).status, 200U) << path;
  }
  for (const char* path : {"/v1/runs", "/v1/runs/7/output", "/v1/events", "/metrics"}) {
    EXPECT_EQ(ask("GET", path).status, 401U) << path;
  }
  const HttpReply refused = ask("POST", "/v1/runs", {}, R"({"goal":"g"})");
  EXPECT_EQ(refused.status, 401U);
  EXPECT_EQ(refused.code(), "UNAUTHENTICATED");
  EXPECT_NE(refused.body().find("signalbox access issue my-machine --socket"), std::string::npos)
      << refused.body();
  HttpClient lines(port_);
  lines.send(
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"run.start\",\"params\":{\"goal\":\"g\"}}\n");
  lines.end_output();
  EXPECT_NE(lines.read_all().find("UNAUTHENTICATED"), std::string::npos);
  EXPECT_EQ(server_.cli({"run", "list", "--json"}).out.find("\"goal\""), std::string::npos);
}

TEST_F(HttpAccess, NeedsAToken) {
  const std::string secret = issue("ci", "viewer");
  const HttpReply nobody = ask("GET", "/v1/runs");
  EXPECT_EQ(nobody.status, 401U);
  EXPECT_EQ(nobody.code(), "UNAUTHENTICATED");
  EXPECT_TRUE(nobody.header("WWW-Authenticate").starts_with("Bearer"));
  for (const std::string& value :
       {"Bearer " + secret + "0", std::string("Bearer "), "Basic " + secret, secret}) {
    EXPECT_EQ(ask("GET", "/v1/runs", {{"Authorization", value}}).status, 401U) << value;
  }
  EXPECT_EQ(ask("GET", "/v1/runs", {{"Authorization", "bearer " + secret}}).status, 200U);
  // Health needs no token. Over the Unix socket, the kernel identifies the client.
  for (const char* path : {"/healthz", "/readyz", "/version", "/openapi.json", "/openrpc.json"}) {
    EXPECT_EQ(ask("GET", path).status, 200U) << path;
  }
  EXPECT_EQ(HttpClient(server_.socket()).get("/v1/runs").status, 200U);
  EXPECT_EQ(HttpClient(server_.socket()).get("/v1/runs", {{"Authorization", "Bearer x"}}).status,
            401U)
      << "who shows a token is whom it names";
}

// A body would take memory, and time to parse it, before anybody knows whose it is.
TEST_F(HttpAccess, AStrangersBodyIsNotRead) {  // G5
  for (const char* target : {"/v1/runs", "/rpc"}) {
    for (const HttpHeaders& headers :
         {HttpHeaders{{"Content-Length", "1000000"}}, HttpHeaders{{"Transfer-Encoding", "chunked"}},
          HttpHeaders{{"Content-Length", "1000000"}, {"Expect", "100-continue"}},
          HttpHeaders{{"Content-Length", "1000000"}, {"Authorization", "Bearer sbx_guess"}}}) {
      HttpClient stranger(port_);
      stranger.send(stranger.text("POST", target, headers));  // and nothing of the body
      const HttpReply reply = stranger.reply();
      EXPECT_EQ(reply.status, 401U) << target;
      EXPECT_EQ(reply.header("Connection"), "close");
      EXPECT_TRUE(reply.header("WWW-Authenticate").starts_with("Bearer"));
      EXPECT_NE(reply.body().find("signalbox access issue my-machine"), std::string::npos)
          << reply.body();
      EXPECT_TRUE(stranger.closed_by_server());
    }
  }
  const Output events = server_.cli({"events", "--json"});
  EXPECT_NE(events.out.find("\"run.start\""), std::string::npos) << "the denials are recorded";
  EXPECT_NE(events.out.find("\"POST /rpc\""), std::string::npos) << events.out;
  // Whoever is known may take time for a body.
  const std::string secret = issue("starts", "operator");
  const std::string body = R"({"goal":"g"})";
  HttpClient known(port_);
  known.send(known.text("POST", "/v1/runs",
                        {{"Authorization", "Bearer " + secret},
                         {"Expect", "100-continue"},
                         {"Content-Length", std::to_string(body.size())}}));
  EXPECT_EQ(known.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  known.send(body);
  EXPECT_EQ(known.reply().status, 202U);
}

TEST_F(HttpAccess, ARoleIsWhatOneMayDo) {
  const HttpHeaders viewer{{"Authorization", "Bearer " + issue("looks", "viewer")}};
  const HttpHeaders starter{{"Authorization", "Bearer " + issue("starts", "operator")}};
  const HttpReply refused = ask("POST", "/v1/runs", viewer, R"({"goal":"g"})");
  EXPECT_EQ(refused.status, 403U);
  EXPECT_EQ(refused.code(), "FORBIDDEN");
  EXPECT_EQ(ask("PUT", "/v1/projects/p", viewer, R"({"repository":"/"})").status, 403U);
  EXPECT_EQ(ask("POST", "/v1/runs", starter, R"({"goal":"g"})").status, 202U);
  const Output events = server_.cli({"events", "--json"});
  EXPECT_NE(events.out.find("token:starts"), std::string::npos) << "the actor of the run";
  EXPECT_NE(events.out.find("AccessDenied"), std::string::npos);
}

TEST_F(HttpAccess, ARevokedTokenEndsAtItsNextRequest) {
  const HttpHeaders headers{{"Authorization", "Bearer " + issue("ci", "operator")}};
  HttpClient client(port_);
  EXPECT_EQ(client.get("/v1/runs", headers).status, 200U);
  ASSERT_EQ(server_.cli({"access", "revoke", "ci", "--reason", "over"}).exit_code, 0);
  EXPECT_EQ(client.get("/v1/runs", headers).status, 401U);
  const HttpReply rpc =
      client.post("/rpc", R"({"jsonrpc":"2.0","id":1,"method":"run.list"})", headers);
  EXPECT_EQ(rpc.status, 401U);
  EXPECT_EQ(rpc.code(), "UNAUTHENTICATED");
}

}  // namespace
}  // namespace signalbox
