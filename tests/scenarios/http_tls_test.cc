// TLS on the TCP address: HTTP and JSON-RPC lines within it, and nothing outside it.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/write.hpp>

#include "server/platform/http_request.h"
#include "store/sha256.h"
#include "tests/scenarios/http_client.h"
#include "tests/scenarios/lock_fixture.h"
#include "tests/scenarios/real_server.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace json = boost::json;

class HttpTls : public ::testing::Test {
 protected:
  void SetUp() override {
    const Output made =
        run_process({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                     "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
                     file("key.pem"), "-out", file("certificate.pem")});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    std::filesystem::create_directories(server_.data());
    configure("tls_certificate = \"" + file("certificate.pem") + "\"\ntls_key = \"" +
              file("key.pem") + "\"\nhttp_hosts = [\"box.example.org\"]\n");
  }
  [[nodiscard]] std::string file(const char* name) const {
    return (scratch_.path() / name).string();
  }
  void configure(const std::string& text) {
    std::ofstream(server_.data() / "signalbox.toml") << text;
  }
  void start() {
    server_.start();
    const std::string messages = server_.messages();
    port_ = static_cast<std::uint16_t>(
        std::stoi(messages.substr(messages.find("127.0.0.1:") + sizeof "127.0.0.1")));
  }

  using Stream = asio::ssl::stream<asio::ip::tcp::socket>;
  // Connects a client that trusts the certificate and verifies that the server has it.
  Stream connect() {
    context_.load_verify_file(file("certificate.pem"));
    context_.set_verify_mode(asio::ssl::verify_peer);
    Stream stream(io_, context_);
    stream.next_layer().connect({asio::ip::make_address("127.0.0.1"), port_});
    stream.handshake(asio::ssl::stream_base::client);
    return stream;
  }
  http::response<http::string_body> ask(Stream& stream, http::verb verb, const std::string& target,
                                        const std::string& body = {},
                                        const std::string& host = "localhost") {
    http::request<http::string_body> request{verb, target, 11};
    request.set(http::field::host, host);
    request.set(http::field::content_type, "application/json");
    request.set(http::field::origin, "https://" + host);
    request.body() = body;
    request.prepare_payload();
    http::write(stream, request);
    boost::beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(boost::none);
    http::read(stream, buffer, parser);
    return parser.release();
  }

  TemporaryDirectory scratch_;
  RealServer server_{{"--listen", "127.0.0.1:0", "--loopback-role", "operator"}};
  std::uint16_t port_ = 0;
  asio::io_context io_;
  asio::ssl::context context_{asio::ssl::context::tls_client};
};

// The HTTP client for remote jobs, towards a server whose certificate the system doesn't trust.
TEST_F(HttpTls, OurOwnRequestsTrustWhomTheyAreToldToTrust) {  // S8
  start();
  OutgoingRequest request;
  request.url = "https://localhost:" + std::to_string(port_) + "/healthz";
  const auto stranger = send(request, {2'000, 5'000});
  ASSERT_FALSE(stranger);
  EXPECT_FALSE(stranger.error().may_have_arrived) << stranger.error().message;
  request.trusted = file("certificate.pem");
  const auto known = send(request, {2'000, 5'000});
  ASSERT_TRUE(known) << known.error().message;
  EXPECT_EQ(known->status, 200);
  // A certificate holds for its names only.
  request.url = "https://127.0.0.1:" + std::to_string(port_) + "/healthz";
  const auto other = send(request, {2'000, 5'000});
  ASSERT_FALSE(other);
  EXPECT_FALSE(other.error().may_have_arrived) << other.error().message;
}

TEST_F(HttpTls, CarriesHttpAndLines) {
  start();
  Stream stream = connect();
  EXPECT_EQ(ask(stream, http::verb::get, "/healthz").result_int(), 200U);
  const auto started =
      ask(stream, http::verb::post, "/v1/runs", R"({"goal":"over TLS"})", "box.example.org");
  EXPECT_EQ(started.result_int(), 202U) << started.body();
  EXPECT_EQ(ask(stream, http::verb::get, "/healthz", "", "evil.example").result_int(), 421U);

  Stream lines = connect();
  asio::write(
      lines, asio::buffer(std::string("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"run.list\"}\n")));
  std::string answer;
  asio::read_until(lines, asio::dynamic_buffer(answer), '\n');
  EXPECT_NE(answer.find("over TLS"), std::string::npos) << answer;
  EXPECT_NE(server_.cli({"events", "--json"}).out.find("tcp:127.0.0.1"), std::string::npos)
      << "the actor is who connected";
  // The server answers the client's close_notify with its own.
  boost::system::error_code error;
  lines.shutdown(error);
  EXPECT_FALSE(error) << error.message();
}

TEST_F(HttpTls, CarriesManyBytesBothWays) {
  start();
  Stream stream = connect();
  const std::string goal =
      R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"make",)"
      R"("executor":"process","command":["sh","-c",)"
      R"("head -c 5000000 /dev/urandom > $SIGNALBOX_ARTIFACTS_DIR/large"]}]}})";
  const auto started =
      ask(stream, http::verb::post, "/v1/runs", goal + std::string(1'000'000, ' '));
  ASSERT_EQ(started.result_int(), 202U) << started.body();
  const std::string path =
      "/v1/runs/" + std::string(json::parse(started.body()).at("run_id").as_string());
  ASSERT_TRUE(eventually([&] {
    const auto shown = ask(stream, http::verb::get, path);
    return json::parse(shown.body()).at("run").at("status") == "succeeded";
  }));
  const auto large = ask(stream, http::verb::get, path + "/artifacts/large");
  EXPECT_EQ(large.body().size(), 5'000'000U);
  EXPECT_EQ("\"" + to_hex(sha256(large.body())) + "\"", large[http::field::etag]);
}

TEST_F(HttpTls, TakesNothingElseOnItsAddress) {
  start();
  HttpClient plain(port_);
  const HttpReply reply = plain.get("/healthz");
  EXPECT_EQ(reply.status, 400U);
  EXPECT_EQ(reply.code(), "NOT_ALLOWED");
  EXPECT_TRUE(plain.closed_by_server());
  HttpClient lines(port_);
  lines.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"run.list\"}\n");
  EXPECT_NE(lines.read_all().find("NOT_ALLOWED"), std::string::npos);
  HttpClient broken(port_);
  broken.send(std::string("\x16\x03\x01\x00\x05hello", 10));
  broken.read_all();
  // The Unix socket is unaffected.
  EXPECT_EQ(HttpClient(server_.socket()).get("/healthz").status, 200U);
  // TLS 1.1 and older are refused.
  asio::ssl::context old(asio::ssl::context::tls_client);
  SSL_CTX_set_security_level(old.native_handle(), 0);
  SSL_CTX_set_min_proto_version(old.native_handle(), TLS1_VERSION);
  SSL_CTX_set_max_proto_version(old.native_handle(), TLS1_1_VERSION);
  Stream stream(io_, old);
  stream.next_layer().connect({asio::ip::make_address("127.0.0.1"), port_});
  boost::system::error_code error;
  stream.handshake(asio::ssl::stream_base::client, error);
  EXPECT_TRUE(error);
  EXPECT_EQ(server_.stop(), 0);
}

TEST_F(HttpTls, AWrongConfigurationIsNamed) {
  const auto refused = [this](const std::string& text) {
    configure(text);
    const Output output = server_.cli({"serve", "--listen", "127.0.0.1:0"});
    EXPECT_EQ(output.exit_code, 78) << output.err;
    return output.err;
  };
  const std::string certificate = "tls_certificate = \"" + file("certificate.pem") + "\"\n";
  EXPECT_NE(refused(certificate).find("together"), std::string::npos);
  EXPECT_NE(
      refused(certificate + "tls_key = \"" + file("missing.pem") + "\"\n").find("missing.pem"),
      std::string::npos);
  EXPECT_NE(
      refused(certificate + "tls_key = \"" + file("certificate.pem") + "\"\n").find("tls_key"),
      std::string::npos);
  EXPECT_NE(refused("http_hosts = [\"box:80\"]\n").find("signalbox.toml:1"), std::string::npos);
}

}  // namespace
}  // namespace signalbox
