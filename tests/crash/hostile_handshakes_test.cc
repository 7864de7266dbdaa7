// Clients that hold TLS handshakes and unread answers below them, as many as they can get.
#include <filesystem>
#include <memory>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>

#include "tests/crash/hostile_connections.h"

namespace signalbox::test {
namespace {

namespace asio = boost::asio;

class HostileHandshakes : public HostileConnections {
 protected:
  [[nodiscard]] std::string configuration() const override {
    const std::string key = (scratch_.path() / "key.pem").string();
    const std::string certificate = (scratch_.path() / "certificate.pem").string();
    const auto made =
        run_program({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                     "-subj", "/CN=localhost", "-keyout", key, "-out", certificate});
    EXPECT_EQ(made.end.exit_code, 0) << made.text;
    std::filesystem::permissions(key, std::filesystem::perms::owner_read);
    return "loopback_role = \"none\"\ntls_certificate = \"" + certificate + "\"\ntls_key = \"" +
           key + "\"\n";
  }
  [[nodiscard]] bool is_healthy() const override { return is_answered("/healthz", {}); }
  [[nodiscard]] bool token_is_served() const override {
    return is_answered("/v1/runs", {"--header", "Authorization: Bearer " + secret_});
  }
  [[nodiscard]] bool is_answered(const std::string& path, std::vector<std::string> more) const {
    std::vector<std::string> command{
        "curl",         "--silent",
        "--show-error", "--fail",
        "--insecure",   "--output",
        "/dev/null",    "https://127.0.0.1:" + std::to_string(port_) + path};
    command.insert(command.end(), more.begin(), more.end());
    const ProcessOutput curl = run_program(command);
    EXPECT_EQ(curl.end.exit_code, 0) << curl.text;
    return curl.end.exit_code == 0;
  }
};

TEST_F(HostileHandshakes, UnfinishedOnesKeepNobodyOut) {  // G5
  const std::string beginning("\x16\x03\x01\x02\x00\x01\x00\x01", 8);
  for (int number = 0; number < 1000; ++number) {
    hostile_.emplace_back(port_);
    hostile_.back().send(beginning);
  }
  EXPECT_TRUE(everybody_is_served());
  EXPECT_LE(metric("signalbox_connections{caller=\"stranger\"}"),
            static_cast<double>(tls_newcomers_max));
  expect_bounded_memory();
}

TEST_F(HostileHandshakes, UnfinishedOnesAreCutOff) {  // G5
  static_assert(tls_handshake_ms_max <= first_byte_ms_max, "that other bound would come first");
  const std::string beginning("\x16\x03\x01\x02\x00\x01\x00\x01", 8);
  const auto began = std::chrono::steady_clock::now();
  for (int number = 0; number < 50; ++number) {
    hostile_.emplace_back(port_);
    hostile_.back().send(beginning);
  }
  EXPECT_TRUE(are_all_closed());
  const auto waited = std::chrono::steady_clock::now() - began;
  EXPECT_GE(waited, std::chrono::milliseconds(tls_handshake_ms_max)) << "that is too early";
  EXPECT_LT(waited,
            std::chrono::milliseconds(tls_handshake_ms_max) + slowness * std::chrono::seconds(20));
  EXPECT_TRUE(everybody_is_served());
}

// A client that asks for much and never reads.
class UnreadingClient {
 public:
  UnreadingClient(asio::io_context& io, asio::ssl::context& context, std::uint16_t port)
      : stream_(io, context) {
    auto& socket = stream_.next_layer();
    socket.open(asio::ip::tcp::v4());
    socket.set_option(asio::socket_base::receive_buffer_size(4096));
    socket.connect({asio::ip::address_v4::loopback(), port});
    stream_.handshake(asio::ssl::stream_base::client);
    std::string requests;
    for (int number = 0; number < 60; ++number) {
      requests += "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
    }
    asio::write(stream_, asio::buffer(requests));
  }

 private:
  asio::ssl::stream<asio::ip::tcp::socket> stream_;
};

// The server closes its end of those that are too many. What decrypts them has to end with that.
TEST_F(HostileHandshakes, UnreadAnswersKeepNoDescriptors) {  // G5
  const auto descriptors = [this] {
    const std::filesystem::directory_iterator all("/proc/" + std::to_string(server_.pid()) + "/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  };
  const std::size_t idle = descriptors();
  asio::io_context io;
  asio::ssl::context context(asio::ssl::context::tls_client);
  std::vector<std::unique_ptr<UnreadingClient>> clients;
  for (std::size_t number = 0; number < 3 * tls_newcomers_max; ++number) {
    clients.push_back(std::make_unique<UnreadingClient>(io, context, port_));
  }
  constexpr std::size_t of_a_connection = 3;  // its own, and both ends of the socket pair
  const std::size_t most = idle + of_a_connection * tls_newcomers_max + 32;
  EXPECT_TRUE(eventually([&] { return descriptors() <= most; }))
      << descriptors() << " descriptors; at first " << idle;
  EXPECT_TRUE(everybody_is_served());
  expect_bounded_memory();
}

}  // namespace
}  // namespace signalbox::test
