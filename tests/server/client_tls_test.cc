// Tests where the command line looks for its server, and which servers it refuses over TLS: both
// ends of the handshake are in memory.
#include <optional>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <boost/json/serialize.hpp>

#include "server/tls_identity.h"
#include "tests/fixtures/certificate.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"
#include "tools/cli/backoff.h"
#include "tools/cli/server_address.h"
#include "tools/cli/server_connection.h"
#include "tools/cli/tls_session.h"

namespace signalbox {
namespace {

namespace json = boost::json;

TEST(ServerAddressTest, NamesOneOrSeveralEndpoints) {
  const auto one = ServerAddress::parse("tls://box.example.org:7777");
  ASSERT_TRUE(one.has_value());
  ASSERT_EQ(one->endpoints.size(), 1U);
  EXPECT_EQ(one->endpoints[0].host, "box.example.org");
  EXPECT_EQ(one->endpoints[0].port, "7777");
  EXPECT_TRUE(one->endpoints[0].is_tls);
  EXPECT_FALSE(one->is_unix());
  const std::string several = "tls://a:7777,tcp://127.0.0.1:1,tls://[2001:db8::1]:65535";
  const auto all = ServerAddress::parse(several);
  ASSERT_TRUE(all.has_value());
  ASSERT_EQ(all->endpoints.size(), 3U);
  EXPECT_FALSE(all->endpoints[1].is_tls);
  EXPECT_EQ(all->endpoints[2].host, "2001:db8::1");
  EXPECT_EQ(all->text(), several);
}

TEST(ServerAddressTest, AnythingElseIsAUsageErrorThatNamesTheForm) {
  for (const std::string wrong : {"",
                                  "box:7777",
                                  "https://box:7777",
                                  "tls://box",
                                  "tls://box:",
                                  "tls://:7777",
                                  "tls://::1:70",
                                  "tls://box:http",
                                  "tls://box:0",
                                  "tls://box:65536",
                                  "tls://box:+1",
                                  "tls://box:7777/",
                                  "tls://me@box:7777",
                                  "tls://a:1,",
                                  ",tls://a:1",
                                  "tls://a:1,,tls://b:1",
                                  "tls://a:1, tls://b:1",
                                  "tls://a:1,/run/signalbox.sock",
                                  "TLS://a:1",
                                  "tls://-oProxyCommand:1",
                                  "tls://$(reboot):1",
                                  "tls://a;b:1",
                                  "tls://a b:1"}) {
    const auto parsed = ServerAddress::parse(wrong);
    ASSERT_FALSE(parsed.has_value()) << wrong;
    EXPECT_EQ(parsed.error().exit_code, ExitCode::usage) << wrong;
    EXPECT_NE(message_of(parsed.error()).find("tls://HOST:PORT"), std::string::npos);
  }
}

TEST(ServerAddressTest, AfterABrokenConnectionTheOthersComeFirst) {
  const auto address = ServerAddress::parse("tls://a:1,tls://b:2,tls://c:3");
  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(address->after(address->endpoints[0]).text(), "tls://b:2,tls://c:3,tls://a:1");
  EXPECT_EQ(address->after(address->endpoints[1]).text(), "tls://c:3,tls://a:1,tls://b:2");
  EXPECT_EQ(address->after(address->endpoints[2]).text(), address->text());
  EXPECT_EQ(address->after({}).text(), address->text());
}

TEST(ServerAddressTest, SeveralFailuresAreOneErrorWithAllThatCanBeDone) {
  const CallError both = none_answered(
      {unreachable("no a", {"try a", "both"}), unreachable("no b", {"both", "try b"})});
  EXPECT_EQ(code_of(both), "NOT_REACHABLE");
  EXPECT_EQ(message_of(both), "the server answers at none of its 2 addresses:\n  no a\n  no b");
  EXPECT_EQ(next_commands_of(both), (std::vector<std::string>{"try a", "both", "try b"}));
  const CallError mixed =
      none_answered({certificate_refused("expired", "old", {}, {}), timed_out("silent")});
  EXPECT_EQ(mixed.exit_code, ExitCode::unreachable) << "it may pass by itself";
  const CallError one = none_answered({certificate_refused("expired", "old", {}, {})});
  EXPECT_EQ(message_of(one), "old");
  EXPECT_EQ(one.exit_code, ExitCode::not_allowed);
}

TEST(BackoffTest, PausesGrowToABoundAndVary) {
  Backoff pause(std::chrono::milliseconds(50), std::chrono::milliseconds(1000));
  std::int64_t full = 50;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const std::int64_t next = pause.next().count();
    EXPECT_GE(next, full / 2);
    EXPECT_LE(next, full);
    full = std::min<std::int64_t>(2 * full, 1000);
  }
  pause.reset();
  EXPECT_LE(pause.next().count(), 50);
}

class ClientTls : public testing::Test {
 protected:
  void make_certificate(const test::CertificateSpec& spec) {
    test::write_certificate(certificate_, key_, spec);
  }
  [[nodiscard]] static Endpoint endpoint(const std::string& host) {
    return {{}, host, "7777", true};
  }

  // Returns what a client of that host makes of the server; nullopt if it trusts it.
  [[nodiscard]] std::optional<CallError> refusal(const std::string& host,
                                                 const std::filesystem::path& ca) const {
    const auto identity = read_tls_identity(certificate_, key_);
    const auto trust = TlsTrust::load(ca);
    if (!identity || !trust) throw std::runtime_error("no certificate");
    CertificateFault fault;
    const auto client = trust->begin(endpoint(host), fault);
    const TlsSession server(SSL_new(identity->context->native_handle()));
    SSL_set_accept_state(server.get());
    connect(client->get(), server.get());
    for (int round = 0; round < 10; ++round) {
      ERR_clear_error();
      const int done = SSL_do_handshake(client->get());
      if (done != 1 && SSL_get_error(client->get(), done) != SSL_ERROR_WANT_READ) {
        return handshake_failure(endpoint(host), fault, !ca.empty(), ERR_get_error());
      }
      if (done == 1 && SSL_do_handshake(server.get()) == 1) return std::nullopt;
      SSL_do_handshake(server.get());
    }
    throw std::runtime_error("the handshake doesn't end");
  }
  // Returns how a client of localhost fails that is answered with these bytes.
  [[nodiscard]] static CallError failure_with(const std::string& answer) {
    const auto trust = TlsTrust::load({});
    CertificateFault fault;
    const auto client = trust->begin(endpoint("localhost"), fault);
    SSL_set_bio(client->get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    BIO_write(SSL_get_rbio(client->get()), answer.data(), static_cast<int>(answer.size()));
    ERR_clear_error();
    EXPECT_NE(SSL_do_handshake(client->get()), 1);
    return handshake_failure(endpoint("localhost"), fault, false, ERR_get_error());
  }
  static void expect_refusal(const std::optional<CallError>& refused, const std::string& reason,
                             const std::vector<std::string>& words) {
    ASSERT_TRUE(refused.has_value());
    EXPECT_EQ(code_of(*refused), "CERTIFICATE_REFUSED");
    EXPECT_EQ(refused->exit_code, ExitCode::not_allowed);
    EXPECT_NE(json::serialize(refused->error).find("\"reason\":\"" + reason + "\""),
              std::string::npos)
        << json::serialize(refused->error);
    for (const std::string& word : words) {
      EXPECT_NE(message_of(*refused).find(word), std::string::npos)
          << word << ": " << message_of(*refused);
    }
    EXPECT_EQ(next_commands_of(*refused).size(), 1U);
  }

  const TemporaryDirectory scratch_;
  const std::filesystem::path certificate_ = scratch_.path() / "certificate.pem";
  const std::filesystem::path key_ = scratch_.path() / "key.pem";

 private:
  static void connect(SSL* client, SSL* server) {
    BIO* const to_server = BIO_new(BIO_s_mem());
    BIO* const to_client = BIO_new(BIO_s_mem());
    BIO_up_ref(to_server);
    BIO_up_ref(to_client);
    SSL_set_bio(client, to_client, to_server);
    SSL_set_bio(server, to_server, to_client);
  }
};

TEST_F(ClientTls, TrustsWhatTheGivenFileHasForItsNamesAndAddresses) {  // O11
  make_certificate({"box", -3600, 3600, "DNS:box.example.org,DNS:*.wild.org,IP:10.0.0.5,IP:::1"});
  for (const char* host : {"box.example.org", "BOX.example.org", "box.example.org.", "a.wild.org",
                           "10.0.0.5", "::1"}) {
    EXPECT_FALSE(refusal(host, certificate_).has_value()) << host;
  }
  for (const char* host : {"example.org", "box", "a.b.wild.org", "wild.org", "10.0.0.6", "::2"}) {
    expect_refusal(refusal(host, certificate_), "wrong_name",
                   {"box.example.org, *.wild.org, 10.0.0.5, ::1", std::string("not for ") + host});
  }
}

TEST_F(ClientTls, NoNameIsNotAnyName) {  // O11
  const auto trust = TlsTrust::load({});
  ASSERT_TRUE(trust.has_value());
  CertificateFault fault;
  for (const char* host : {"", "."}) {
    const auto session = trust->begin(endpoint(host), fault);
    ASSERT_FALSE(session.has_value()) << host;
    EXPECT_EQ(session.error().exit_code, ExitCode::usage);
  }
}

TEST_F(ClientTls, AnUnknownAuthorityIsNamedWithTheOption) {  // O11
  make_certificate({"our own", -3600, 3600});
  expect_refusal(refusal("localhost", {}), "unknown_authority", {"CN=our own", "--ca FILE"});
  const auto other = scratch_.path() / "other.pem";
  test::write_certificate(other, scratch_.path() / "other_key.pem", {"another", -3600, 3600});
  expect_refusal(refusal("localhost", other), "unknown_authority",
                 {"CN=our own", "the file of --ca (SIGNALBOX_CA) doesn't have it"});
  // One of the same name, as when a certificate was made anew and the old one is still trusted.
  test::write_certificate(other, scratch_.path() / "other_key.pem", {"our own", -3600, 3600});
  expect_refusal(refusal("localhost", other), "unknown_authority", {"doesn't have it"});
  write_text(other, content_of(other) + content_of(certificate_));
  EXPECT_FALSE(refusal("localhost", other).has_value()) << "the file may have several";
}

TEST_F(ClientTls, ACertificateOutsideItsTimeIsRefusedWithThatTime) {  // O11
  make_certificate({"box", -7200, -3600});
  expect_refusal(refusal("localhost", certificate_), "expired",
                 {"CN=box", "expired at 20", "SIGHUP"});
  make_certificate({"box", 3600, 7200});
  expect_refusal(refusal("localhost", certificate_), "not_yet_valid", {"only from 20", "clock"});
}

TEST_F(ClientTls, ManyNamesDontFillTheMessage) {  // O11
  std::string names = "DNS:a0.org";
  for (int name = 1; name < 500; ++name) names += ",DNS:a" + std::to_string(name) + ".org";
  make_certificate({"box", -3600, 3600, names});
  const auto refused = refusal("localhost", certificate_);
  expect_refusal(refused, "wrong_name", {"a7.org, …, not for localhost"});
  EXPECT_EQ(message_of(*refused).find("a8.org"), std::string::npos);
}

TEST_F(ClientTls, AServerWithoutTlsIsNamedAsWhatItIs) {  // O11
  for (const std::string answer :
       {"{\"jsonrpc\":\"2.0\",\"id\":null}\n", "HTTP/1.1 400 Bad Request\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2p1\r\n", "220 mail.example.org\r\n"}) {
    const CallError failure = failure_with(answer);
    EXPECT_EQ(code_of(failure), "NOT_REACHABLE");
    EXPECT_NE(message_of(failure).find("doesn't speak TLS"), std::string::npos)
        << answer << message_of(failure);
    EXPECT_EQ(next_commands_of(failure),
              std::vector<std::string>{"curl -s http://localhost:7777/healthz"});
  }
}

// It takes the connection, as the kernel does for a server that hangs, and says nothing.
TEST_F(ClientTls, ASilentServerIsGivenUpInTime) {  // O11
  const FileDescriptor listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listening.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listening.get(), 4), 0);
  ASSERT_EQ(::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const auto server =
      ServerAddress::parse("tls://127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
  ASSERT_TRUE(server.has_value());
  const auto opened = ServerConnection::open(
      *server, server->endpoints[0], std::chrono::milliseconds(50), std::chrono::milliseconds(0));
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(code_of(opened.error()), "TIMED_OUT");
  EXPECT_EQ(opened.error().exit_code, ExitCode::unreachable);
  EXPECT_NE(message_of(opened.error()).find("or doesn't speak TLS"), std::string::npos);
}

TEST_F(ClientTls, AFileWithoutCertificatesIsAMistakeOfTheCommandLine) {  // O11
  write_text(certificate_, "-----BEGIN NOTHING-----\n");
  for (const auto& file : {certificate_, scratch_.path() / "none.pem", scratch_.path()}) {
    const auto trust = TlsTrust::load(file);
    ASSERT_FALSE(trust.has_value()) << file;
    EXPECT_EQ(trust.error().exit_code, ExitCode::usage) << file;
    EXPECT_NE(message_of(trust.error()).find(file.string()), std::string::npos);
  }
}

}  // namespace
}  // namespace signalbox
