// HTTP on the wire to the real server: in pieces, pipelined, too large, malformed, from a foreign
// origin or to a wrong host; and JSON-RPC lines on the same sockets.
#include <gtest/gtest.h>

#include <thread>

#include "server/limits.h"
#include "tests/scenarios/http_client.h"
#include "tests/scenarios/lock_fixture.h"
#include "tests/scenarios/real_server.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr char status_line[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server.status\"}\n";

class HttpInput : public ::testing::Test {
 protected:
  void SetUp() override {
    server_.start();
    const std::string messages = server_.messages();
    const std::size_t at = messages.find("127.0.0.1:");
    ASSERT_NE(at, std::string::npos) << messages;
    port_ = static_cast<std::uint16_t>(std::stoi(messages.substr(at + sizeof "127.0.0.1")));
  }
  void TearDown() override {
    EXPECT_EQ(client().get("/healthz").status, 200U);
    EXPECT_EQ(server_.stop(), 0) << server_.messages();
  }
  HttpClient client() { return HttpClient(server_.socket()); }
  HttpClient tcp_client() { return HttpClient(port_); }
  // Sends raw bytes on a new connection. Returns the status of the answer.
  unsigned status_of_bytes(const std::string& bytes) {
    HttpClient raw = client();
    raw.send(bytes);
    return raw.reply().status;
  }

  RealServer server_{{"--listen", "127.0.0.1:0", "--loopback-role", "operator"}};
  std::uint16_t port_ = 0;
};

TEST_F(HttpInput, TheFirstByteDecidesOnBothSockets) {
  for (const bool is_tcp : {false, true}) {
    HttpClient lines = is_tcp ? tcp_client() : client();
    for (const char& byte : std::string(" \t") + status_line) lines.send({&byte, 1});
    EXPECT_NE(lines.read_until("\n").find("\"result\""), std::string::npos);
    HttpClient http = is_tcp ? tcp_client() : client();
    for (const char& byte : http.text("POST", "/v1/runs", {}, R"({"goal":"byte by byte"})")) {
      http.send({&byte, 1});
    }
    EXPECT_EQ(http.reply().status, 202U);
    // The protocol is decided once per connection: a line isn't accepted as HTTP, nor HTTP as a
    // line.
    http.send(status_line);
    EXPECT_EQ(http.reply().status, 400U);
    lines.send("GET /healthz HTTP/1.1\r\n");
    EXPECT_NE(lines.read_until("\n").find("PARSE_ERROR"), std::string::npos);
  }
}

TEST_F(HttpInput, NothingIsSaidToWhoSaysNothing) {
  { HttpClient silent = client(); }
  HttpClient half = client();
  half.end_output();
  EXPECT_TRUE(half.closed_by_server());
  HttpClient answered = client();
  answered.send(answered.text("GET", "/version"));
  answered.end_output();
  EXPECT_EQ(answered.reply().status, 200U) << "a half-close is no end";
  EXPECT_TRUE(answered.closed_by_server());
}

TEST_F(HttpInput, PipelinedRequestsAreAnsweredInOrder) {
  HttpClient http = client();
  std::string requests;
  for (int number = 0; number < 50; ++number) {
    requests += http.text("POST", "/v1/runs", {{"Idempotency-Key", std::to_string(number)}},
                          R"({"goal":"g"})");
    requests += http.text("GET", "/nowhere");
    requests += http.text("HEAD", "/version");
  }
  std::thread sender([&] { EXPECT_TRUE(http.send(requests)); });
  std::uint64_t position = 0;
  for (int number = 0; number < 50; ++number) {
    const HttpReply started = http.reply();
    ASSERT_EQ(started.status, 202U) << number;
    const auto now = started.json().at("position").to_number<std::uint64_t>();
    EXPECT_GT(now, position);
    position = now;
    EXPECT_EQ(http.reply().status, 404U);
    EXPECT_EQ(http.reply(true).status, 200U);
  }
  sender.join();
}

TEST_F(HttpInput, ChunkedBodiesAreTaken) {
  HttpClient http = client();
  http.send(http.text("POST", "/v1/runs", {{"Transfer-Encoding", "chunked"}}));
  for (const char* piece :
       {"8;x=y\r\n{\"goal\":\r\n", "4\r\n \"g\"\r\n", "1\r\n}\r\n", "0\r\n\r\n"}) {
    http.send(piece);
  }
  EXPECT_EQ(http.reply().status, 202U);
  // A body without end, and lengths that contradict each other.
  HttpClient endless = client();
  endless.send(endless.text("POST", "/v1/runs", {{"Transfer-Encoding", "chunked"}}));
  const std::string chunk = "10000\r\n" + std::string(65536, ' ') + "\r\n";
  for (int number = 0; number < 40 && endless.send(chunk); ++number) {
  }
  EXPECT_EQ(endless.reply().status, 413U);
  EXPECT_EQ(status_of_bytes("POST /v1/runs HTTP/1.1\r\nHost: signalbox\r\nContent-Type: "
                            "application/json\r\nContent-Length: 4\r\nTransfer-Encoding: "
                            "chunked\r\n\r\n0\r\n\r\n"),
            400U);
  EXPECT_EQ(status_of_bytes("POST /v1/runs HTTP/1.1\r\nHost: signalbox\r\nContent-Length: "
                            "2\r\nContent-Length: 3\r\n\r\n{}"),
            400U);
}

TEST_F(HttpInput, WhatIsTooLargeIsRefusedAndSaidSo) {
  const std::string large(1024 * 1024 + 1, ' ');
  // Repeated, over TCP as well: bytes that arrive after the refusal must not discard it.
  for (int number = 0; number < 20; ++number) {
    HttpClient http = number % 2 == 0 ? client() : tcp_client();
    ASSERT_TRUE(http.send(http.text("POST", "/v1/runs", {}, large)));
    const HttpReply body = http.reply();
    ASSERT_EQ(body.status, 413U);
    EXPECT_EQ(body.code(), "LIMIT_EXCEEDED");
    EXPECT_EQ(body.header("Connection"), "close");
  }
  // A body of exactly the limit is read.
  const std::string start = R"({"goal":"g"})";
  HttpClient fits = client();
  EXPECT_EQ(fits.post("/v1/runs", start + std::string(1024 * 1024 - start.size(), ' ')).status,
            202U);
  const auto status_with_header = [this](std::size_t bytes) {
    HttpClient headers = client();
    const std::size_t others = headers.text("GET", "/healthz", {{"X-Large", ""}}).size();
    return headers.get("/healthz", {{"X-Large", std::string(bytes - others, 'x')}}).status;
  };
  EXPECT_EQ(status_with_header(http_header_bytes_max), 200U);
  EXPECT_EQ(status_with_header(http_header_bytes_max + 1), 431U);
  HttpClient target = client();
  EXPECT_EQ(target.get("/" + std::string(20'000, 'x')).status, 431U);
}

TEST_F(HttpInput, ABodyMayWaitForTheGoAhead) {
  HttpClient http = client();
  const std::string body = R"({"goal":"g"})";
  http.send(
      http.text("POST", "/v1/runs",
                {{"Expect", "100-continue"}, {"Content-Length", std::to_string(body.size())}}));
  EXPECT_EQ(http.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  http.send(body);
  EXPECT_EQ(http.reply().status, 202U);
  // A body isn't requested if the header alone is refused.
  HttpClient refused = client();
  refused.send(
      refused.text("POST", "/nowhere", {{"Expect", "100-continue"}, {"Content-Length", "10"}}));
  EXPECT_EQ(refused.reply().status, 404U);
  EXPECT_TRUE(refused.closed_by_server());
}

// HTTP/1.0 has no interim responses: such a client would take one for the answer.
TEST_F(HttpInput, NoGoAheadIsSentToAnOldClient) {
  HttpClient http = client();
  http.send(
      "POST /v1/runs HTTP/1.0\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
      "Content-Length: 12\r\n\r\n");
  http.send(R"({"goal":"g"})");
  EXPECT_EQ(http.reply().status, 202U);
}

TEST_F(HttpInput, OnlyItsOwnNamesAreAnswered) {
  HttpClient http = tcp_client();
  const std::string port = ":" + std::to_string(port_);
  EXPECT_EQ(http.get("/healthz", {{"Host", "localhost" + port}}).status, 200U);
  EXPECT_EQ(http.get("/healthz", {{"Host", "[::1]" + port}}).status, 200U);
  for (const char* host : {"evil.example", "127.0.0.1.evil.example", "signalbox", ""}) {
    const HttpReply reply = http.get("/v1/runs", {{"Host", host}});
    EXPECT_EQ(reply.status, 421U) << host;
    EXPECT_EQ(reply.code(), "NOT_ALLOWED");
  }
  EXPECT_EQ(http.get("http://evil.example/v1/runs").status, 421U);
  EXPECT_EQ(http.get("http://localhost/v1/runs").status, 200U);
  EXPECT_EQ(status_of_bytes("GET /v1/runs HTTP/1.1\r\n\r\n"), 400U);
  EXPECT_EQ(status_of_bytes("GET / HTTP/1.1\r\nHost: signalbox\r\nHost: signalbox\r\n\r\n"), 400U);
  EXPECT_EQ(status_of_bytes("GET /v1/runs HTTP/1.0\r\nHost: signalbox\r\n\r\n"), 200U);
}

TEST_F(HttpInput, PagesOfOthersGetNothing) {
  HttpClient http = tcp_client();
  const std::string own = "http://127.0.0.1:" + std::to_string(port_);
  for (const HttpHeaders& headers :
       {HttpHeaders{{"Sec-Fetch-Site", "cross-site"}}, HttpHeaders{{"Sec-Fetch-Site", "same-site"}},
        HttpHeaders{{"Origin", "http://evil.example"}}, HttpHeaders{{"Origin", "null"}}}) {
    EXPECT_EQ(http.get("/v1/runs", headers).status, 403U);
    EXPECT_EQ(http.ask("OPTIONS", "/v1/runs", headers).status, 403U) << "no preflight either";
    HttpClient page = tcp_client();
    const HttpReply start = page.post("/v1/runs", R"({"goal":"g"})", headers);
    EXPECT_EQ(start.status, 403U);
    EXPECT_EQ(start.code(), "NOT_ALLOWED");
    EXPECT_EQ(start.header("Access-Control-Allow-Origin"), "");
  }
  EXPECT_EQ(http.get("/v1/runs", {{"Sec-Fetch-Site", "same-origin"}}).status, 200U);
  EXPECT_EQ(http.get("/v1/runs", {{"Origin", own}}).status, 200U);
  // The content types that a form of a foreign page may send without a preflight.
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded",
                           "multipart/form-data; boundary=x", "", "application/jsonx"}) {
    HttpClient form = tcp_client();
    EXPECT_EQ(form.post("/v1/runs", R"({"goal":"g"})", {{"Content-Type", type}}).status, 415U)
        << type;
  }
  EXPECT_EQ(
      http.post("/v1/runs", "{}", {{"Content-Type", "Application/JSON; charset=utf-8"}}).status,
      422U);
  EXPECT_EQ(http.get("/v1/runs").json().at("runs").as_array().size(), 0U) << "nothing was started";
}

// Two programs that read such a request differently can be made to disagree about where it ends.
TEST_F(HttpInput, FramingIsStrict) {  // G14
  const std::string start = "POST /v1/runs HTTP/1.1\r\nHost: signalbox\r\n";
  const std::string rest = "Content-Type: application/json\r\n\r\n";
  const auto status = [&](const std::string& fields, const std::string& body) {
    HttpClient raw = client();
    raw.send(start + fields + rest + body);
    const unsigned answered = raw.reply().status;
    EXPECT_TRUE(answered < 400 || raw.closed_by_server()) << fields;
    return answered;
  };
  const std::string body = R"({"goal":"g"})";
  EXPECT_EQ(status("Content-Length: 12\r\n", body), 202U);
  EXPECT_EQ(status("Transfer-Encoding: chunked\r\n", "c\r\n" + body + "\r\n0\r\n\r\n"), 202U);
  for (const char* codings : {"gzip", "xchunked", "identity", "gzip, chunked"}) {
    EXPECT_EQ(status("Transfer-Encoding: " + std::string(codings) + "\r\n", body), 501U) << codings;
  }
  for (const char* fields :
       {"Transfer-Encoding: chunked, gzip\r\n", "Transfer-Encoding:\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 12\r\n",
        "Content-Length: 12\r\nContent-Length: 12\r\n", "Content-Length: 12, 12\r\n",
        "Content-Length: +12\r\n", "Content-Length : 12\r\n", "X: a\r\n folded\r\n", "X: a\rb\r\n",
        "X: a\n", "Origin: http://signalbox\r\nOrigin: http://evil.example\r\n",
        "Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n"}) {
    EXPECT_EQ(status(fields, body), 400U) << fields;
  }
  EXPECT_EQ(client().get("/v1/runs").json().at("runs").as_array().size(), 2U);
}

// A proxy in front of the service may check the header's fields, and not those of a trailer.
TEST_F(HttpInput, TrailersAreNoHeaderFields) {  // G14
  const auto start = [this](const std::string& trailer) {
    HttpClient http = client();
    const std::string body = "c\r\n{\"goal\":\"g\"}\r\n0\r\n" + trailer + "\r\n";
    http.send(http.text("POST", "/v1/runs", {{"Transfer-Encoding", "chunked"}}, body));
    return http.reply();
  };
  const HttpReply first = start("Idempotency-Key: one\r\nX-Other: x\r\n");
  const HttpReply second = start("Idempotency-Key: one\r\n");
  ASSERT_EQ(first.status, 202U) << first.body();
  ASSERT_EQ(second.status, 202U) << second.body();
  EXPECT_NE(first.json().at("run_id"), second.json().at("run_id")) << "the key counted";
  // Whoever shows an access token is whom it names; over the Unix socket none is needed.
  EXPECT_EQ(start("Authorization: Bearer sbx_guess\r\n").status, 202U);
}

TEST_F(HttpInput, EmptyLinesBeforeARequestAreIgnored) {  // G14
  HttpClient http = client();
  http.send("\r\n\r\n" + http.text("GET", "/version"));
  EXPECT_EQ(http.reply().status, 200U);
  http.send("\r\n" + http.text("GET", "/version"));
  EXPECT_EQ(http.reply().status, 200U) << "between two of them as well";
  HttpClient lines = client();
  lines.send(std::string("\r\n\n\r\n") + status_line);
  EXPECT_NE(lines.read_until("\n").find("\"result\""), std::string::npos);
  HttpClient at_limit = client();
  at_limit.send(std::string(empty_lines_bytes_max, '\n') + at_limit.text("GET", "/version"));
  EXPECT_EQ(at_limit.reply().status, 200U);
  HttpClient beyond = client();
  beyond.send(std::string(empty_lines_bytes_max + 1, '\n') + beyond.text("GET", "/version"));
  EXPECT_NE(beyond.read_until("\n").find("PARSE_ERROR"), std::string::npos) << "no longer HTTP";
  HttpClient slow = client();
  for (const char& byte : "\r\n" + slow.text("GET", "/version")) slow.send({&byte, 1});
  EXPECT_EQ(slow.reply().status, 200U);
}

TEST_F(HttpInput, Http10NeedsNoHost) {  // G14
  EXPECT_EQ(status_of_bytes("GET /v1/runs HTTP/1.0\r\n\r\n"), 200U);
  EXPECT_EQ(status_of_bytes("GET /v1/runs HTTP/1.0\r\nHost: evil.example\r\n\r\n"), 421U);
  EXPECT_EQ(
      status_of_bytes("POST /v1/runs HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
      400U);
}

TEST_F(HttpInput, VerbsAreThoseThatAPathTakes) {
  HttpClient http = client();
  for (const char* verb : {"DELETE", "PUT", "PATCH", "TRACE", "BREW"}) {
    const HttpReply reply = http.ask(verb, "/v1/runs");
    EXPECT_EQ(reply.status, 405U) << verb;
    EXPECT_EQ(reply.header("Allow"), "POST, GET, HEAD, OPTIONS");
    EXPECT_EQ(reply.code(), "METHOD_NOT_FOUND");
  }
  EXPECT_EQ(http.get("/rpc").header("Allow"), "POST, OPTIONS");
  const HttpReply options = http.ask("OPTIONS", "/v1/events");
  EXPECT_EQ(options.status, 204U);
  EXPECT_EQ(options.header("Allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(http.ask("OPTIONS", "*").status, 204U);
  EXPECT_EQ(http.get("/v1/nothing").status, 404U);
  EXPECT_EQ(http.get("/v1/runs/").status, 400U);
  const HttpReply got = http.get("/v1/runs");
  const HttpReply head = http.ask("HEAD", "/v1/runs");
  EXPECT_EQ(head.status, 200U);
  EXPECT_EQ(head.header("Content-Length"), got.header("Content-Length"));
}

TEST_F(HttpInput, WhatIsNoHttpIsToldSo) {
  for (const char* bytes :
       {"hello\n", "GET\r\n\r\n", "GET /healthz HTTP/2.0\r\n\r\n", "GET /a b HTTP/1.1\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\nbroken header\r\n\r\n"}) {
    EXPECT_EQ(status_of_bytes(std::string(bytes) + "\r\n\r\n"), 400U) << bytes;
  }
  HttpClient gone = client();
  gone.send("GET /healthz HTTP/1.1\r\nHost: sig");
}

// Expects that the answer has what the served OpenAPI document requires of it.
void expect_required(const json::object& document, const std::string& name,
                     const json::value& value) {
  const json::object& schema = document.at("components").at("schemas").at(name).as_object();
  ASSERT_TRUE(value.is_object()) << name;
  for (const json::value& field : schema.at("required").as_array()) {
    EXPECT_TRUE(value.as_object().contains(field.as_string())) << name << " has no " << field;
  }
  for (const auto& field : schema.at("properties").as_object()) {
    const json::value* present = value.as_object().if_contains(field.key());
    if (present == nullptr) continue;
    const json::object& property = field.value().as_object();
    const auto name_of_ref = [](const json::value& ref) {
      const std::string text(ref.as_string());
      return text.substr(text.rfind('/') + 1);
    };
    if (property.contains("$ref") && present->is_object()) {
      expect_required(document, name_of_ref(property.at("$ref")), *present);
    }
    if (!property.contains("type") || !present->is_array()) continue;
    const json::object& items = property.at("items").as_object();
    if (!items.contains("$ref")) continue;
    for (const json::value& item : present->as_array()) {
      expect_required(document, name_of_ref(items.at("$ref")), item);
    }
  }
}

TEST_F(HttpInput, AnswersAsItsOwnDescriptionSays) {
  HttpClient http = client();
  const json::object document = http.get("/openapi.json").json();
  const json::object started =
      http.post("/v1/runs", R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"only"}]}})")
          .json();
  const std::string path = "/v1/runs/" + std::string(started.at("run_id").as_string());
  ASSERT_EQ(server_.cli({"station", "claim", "--worker", "w"}).exit_code, 0);
  expect_required(document, "StartedRun", started);
  expect_required(document, "RunPage", http.get("/v1/runs").json());
  expect_required(document, "RunDetail", http.get(path).json());
  expect_required(document, "ArtifactList", http.get(path + "/artifacts").json());
  expect_required(document, "Changed", http.post(path + "/pause", "{}").json());
  expect_required(document, "Problem", http.get("/v1/runs/x").json());
  expect_required(document, "Health", http.get("/readyz").json());
  expect_required(document, "Version", http.get("/version").json());
  expect_required(document, "RpcAnswer", http.post("/rpc", status_line).json());
}

}  // namespace
}  // namespace signalbox
