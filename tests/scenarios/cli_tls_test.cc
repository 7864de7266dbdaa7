// The command line and a server on another machine, as far as one machine shows that: over TLS, by
// several addresses, some of which are dead, and over kills.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <csignal>
#include <sstream>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "store/file_descriptor.h"
#include "tests/fixtures/certificate.h"
#include "tests/scenarios/http_client.h"
#include "tests/scenarios/lock_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// A port of this machine at which nobody listens, as long as this lives.
class DeadPort {
 public:
  DeadPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    text_ = "tls://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  FileDescriptor socket_;
  std::string text_;
};

class CliTls : public CliTest {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(server_.data());
    std::filesystem::permissions(server_.data(), std::filesystem::perms::owner_all);
    std::ofstream(pipeline()) << worker_pipeline;
  }

  [[nodiscard]] std::string at(const char* name) const { return (scratch_.path() / name).string(); }
  void configure(const std::string& port, bool is_encrypted) const {
    write_text(server_.data() / "signalbox.toml",
               "listen = \"127.0.0.1:" + port + "\"\n" +
                   (is_encrypted ? "tls_certificate = \"" + at("certificate.pem") +
                                       "\"\ntls_key = \"" + at("key.pem") + "\"\n"
                                 : std::string()) +
                   "[board]\nheartbeat = \"366d\"\nsynthesizer = \"366d\"\nprune = \"366d\"\n");
  }
  // Starts the server, which keeps its port when it is started again.
  void serve(bool is_encrypted = true) {
    configure("0", is_encrypted);
    server_.start();
    constexpr std::string_view words = "listening on 127.0.0.1:";
    const std::string messages = server_.messages();
    const std::size_t port = messages.rfind(words) + words.size();
    port_ = messages.substr(port, messages.find('\n', port) - port);
    port_ = port_.substr(0, port_.find_first_not_of("0123456789"));
    configure(port_, is_encrypted);
  }
  void serve_with(const test::CertificateSpec& spec) {
    test::write_certificate(at("certificate.pem"), at("key.pem"), spec);
    serve();
    write_text(at("token"), server_.cli({"access", "issue", "me", "--role", "operator"}).out);
  }
  [[nodiscard]] std::string address(const std::string& host = "localhost") const {
    return "tls://" + host + ":" + port_;
  }

  // Returns the command against `server`, as another machine would give it.
  [[nodiscard]] std::vector<std::string> words_to(const std::string& server,
                                                  std::vector<std::string> words) const {
    words.insert(words.begin(), SIGNALBOX_BINARY);
    const std::vector<std::string> more{"--server",     server,     "--ca", at("certificate.pem"),
                                        "--token-file", at("token")};
    words.insert(words.begin() + 1, more.begin(), more.end());
    return words;
  }
  [[nodiscard]] Output over_tls(std::vector<std::string> words) const {
    return run_process(words_to(address(), std::move(words)));
  }
  [[nodiscard]] static Output without_ca(const std::string& server,
                                         const std::vector<std::string>& environment = {}) {
    return run_process({SIGNALBOX_BINARY, "lock", "list", "--json", "--server", server},
                       environment);
  }
  static void expect_error(const Output& output, const std::string& code, int exit_code,
                           const std::vector<std::string>& parts) {
    EXPECT_EQ(output.exit_code, exit_code) << output.out << output.err;
    EXPECT_EQ(code_of(output), code);
    for (const std::string& part : parts) {
      EXPECT_NE(output.out.find(part), std::string::npos) << part << ": " << output.out;
    }
  }

  std::string port_;
};

TEST_F(CliTls, CommandsReachAServerWhoseCertificateTheyAreToldToTrust) {  // O11
  serve_with({});
  EXPECT_EQ(over_tls({"status"}).exit_code, 0);
  const Output started = over_tls({"run", "start", "over TLS", "--pipeline", pipeline()});
  ASSERT_EQ(started.exit_code, 0) << started.err;
  const std::string id = started.out.substr(0, started.out.size() - 1);
  EXPECT_EQ(text(run(id), "goal"), "over TLS");
  EXPECT_NE(over_tls({"run", "get", id}).out.find("over TLS"), std::string::npos);
  // More than one record of TLS, in both directions.
  const std::string goal(4'000, 'g');
  const std::string input = "\"" + std::string(16'000, 'n') + "\"";
  const Output large = over_tls({"run", "start", goal, "--input", input, "--pipeline", pipeline()});
  EXPECT_EQ(large.exit_code, 0) << large.err;
  EXPECT_NE(over_tls({"events", "--json"}).out.find(std::string(16'000, 'n')), std::string::npos);
  EXPECT_NE(over_tls({"events", "--json"}).out.find("token:me"), std::string::npos);
  // What a lock protects finds the server by itself.
  const Output holder = over_tls(
      {"lock", "exec", "deploy", "--", "sh", "-c", "echo $SIGNALBOX_SERVER $SIGNALBOX_CA"});
  EXPECT_EQ(holder.out, address() + " " + at("certificate.pem") + "\n") << holder.err;
  // All of it from the environment, with the authorities of the system in the second case.
  const std::string secret = content_of(at("token"));
  const std::vector<std::string> variables{
      "SIGNALBOX_SERVER=" + address(), "SIGNALBOX_DATA=", "SIGNALBOX_SOCKET=",
      "SIGNALBOX_ACCESS_TOKEN=" + secret.substr(0, secret.find('\n'))};
  for (const char* trusted : {"SIGNALBOX_CA=", "SSL_CERT_FILE="}) {
    std::vector<std::string> environment = variables;
    environment.push_back(trusted + at("certificate.pem"));
    EXPECT_EQ(run_process({SIGNALBOX_BINARY, "status"}, environment).exit_code, 0) << trusted;
  }
}

TEST_F(CliTls, AServerThatCantProveWhoItIsIsRefused) {  // O11
  serve_with({"our own", -3600, 3600});
  expect_error(without_ca(address()), "CERTIFICATE_REFUSED", 77,
               {"unknown_authority", "CN=our own", "--ca FILE"});
  test::write_certificate(at("other.pem"), at("other_key.pem"));
  expect_error(without_ca(address(), {"SIGNALBOX_CA=" + at("other.pem")}), "CERTIFICATE_REFUSED",
               77, {"unknown_authority", "doesn't have it"});
  expect_error(run_process(words_to(address("127.0.0.1"), {"status", "--json"})),
               "CERTIFICATE_REFUSED", 77,
               {"wrong_name", "a certificate for localhost, not for 127.0.0.1"});
  EXPECT_EQ(without_ca(address(), {"SIGNALBOX_CA=" + at("none.pem")}).exit_code, 2);
}

TEST_F(CliTls, AnExpiredCertificateIsRefusedWithItsEnd) {  // O11
  serve_with({"box", -7200, -3600});
  expect_error(over_tls({"status", "--json"}), "CERTIFICATE_REFUSED", 77,
               {"\"expired\"", "CN=box", "expired at 20"});
}

TEST_F(CliTls, EachSideWithoutTlsIsToldWhatTheOtherOneSpeaks) {  // O11
  serve_with({});
  const std::string plain = "tcp://127.0.0.1:" + port_;
  expect_error(without_ca(plain), "NOT_ALLOWED", 77,
               {"takes TLS connections only: name it tls://127.0.0.1:" + port_});
  EXPECT_EQ(server_.stop(), 0);
  serve(false);
  const std::string encrypted = address("127.0.0.1");
  const Output refused = without_ca(encrypted);
  expect_error(refused, "NOT_REACHABLE", 69,
               {"doesn't speak TLS; a server without it is named tcp://127.0.0.1:" + port_,
                "curl -s http://127.0.0.1:" + port_ + "/healthz"});
  // It is answered at once: a beginning of TLS has no line break to wait for.
  HttpClient beginning(static_cast<std::uint16_t>(std::stoi(port_)));
  beginning.send(std::string("\x16\x03\x01\x02\x00\x01\x00\x01", 8));
  EXPECT_NE(beginning.read_all().find("this address takes no TLS"), std::string::npos);
}

TEST_F(CliTls, OfSeveralAddressesTheFirstThatAnswersIsTaken) {  // O11
  serve_with({});
  const DeadPort dead, other;
  EXPECT_EQ(run_process(words_to(dead.text() + "," + address(), {"status"})).exit_code, 0);
  // One whose certificate is for another name counts as one that doesn't answer.
  const Output second = run_process(words_to(address("127.0.0.1") + "," + address(), {"status"}));
  EXPECT_EQ(second.exit_code, 0) << second.err;
  expect_error(run_process(words_to(dead.text() + "," + other.text(), {"status", "--json"})),
               "NOT_REACHABLE", 69,
               {"none of its 2 addresses", dead.text() + ": Connection refused",
                other.text() + ": Connection refused"});
}

TEST_F(CliTls, WhatFollowsGoesOnOverKillsWithoutAGapOrARepetition) {  // O11
  serve_with({});
  const DeadPort dead;
  const BackgroundCommand follower(
      words_to(dead.text() + "," + address(),
               {"events", "--follow", "--from", "1", "--type", "RunStarted", "--json"}),
      scratch_.path() / "follower");
  const auto printed = [&follower](const std::string& run_id) {
    int count = 0;
    std::istringstream lines(follower.out());
    for (std::string line; std::getline(lines, line);) {
      count += line.find(run_id) != std::string::npos ? 1 : 0;
    }
    return count;
  };
  std::vector<std::string> runs;
  for (int round = 0; round < 3; ++round) {
    runs.push_back(start_run("round " + std::to_string(round)));
    await([&] { return printed(runs.back()) > 0; });
    server_.kill();
    server_.start();
    runs.push_back(start_run("after round " + std::to_string(round)));
    await([&] { return printed(runs.back()) > 0; });
  }
  for (const std::string& run_id : runs) EXPECT_EQ(printed(run_id), 1) << follower.out();
  EXPECT_NE(follower.err().find("the connection to the server was lost"), std::string::npos);
}

TEST_F(CliTls, ALockIsHeldOnOverAKill) {  // O11
  serve_with({});
  const DeadPort dead;
  const std::string go = at("go");
  BackgroundCommand holder(words_to(dead.text() + "," + address(),
                                    {"lock", "exec", "deploy", "--lease-ms", "600000",
                                     "--interval-ms", "50", "--max-failures", "1000000", "--", "sh",
                                     "-c", "while [ ! -e '" + go + "' ]; do sleep 0.02; done"}),
                           scratch_.path() / "holder");
  const auto is_refreshed_after = [this](const json::value& position) {
    return !rpc("events.read", {{"types", json::array{"LockRefreshed"}}, {"from", position}})
                .at("events")
                .as_array()
                .empty();
  };
  await([&] { return is_refreshed_after(1); });
  server_.kill();
  server_.start();
  const json::value position = result({"status"}).at("position");
  await([&] { return is_refreshed_after(position.to_number<std::int64_t>() + 1); });
  write_text(go, "");
  EXPECT_EQ(holder.wait(), 0) << holder.err();
}

TEST_F(CliTls, TheConsolesProxyReachesAServerOverTls) {  // O11
  serve_with({});
  const DeadPort dead;
  const BackgroundCommand console(words_to(dead.text() + "," + address(), {"console", "--no-open"}),
                                  scratch_.path() / "console");
  await([&] { return console.out().find('\n') != std::string::npos; });
  const std::string line = console.out();
  const std::size_t mark = line.find("/console/#t=");
  ASSERT_NE(mark, std::string::npos) << line << console.err();
  const auto port =
      static_cast<std::uint16_t>(std::stoi(line.substr(line.find("127.0.0.1:") + 10)));
  const std::string secret = line.substr(mark + 12, line.find('\n') - mark - 12);
  const HttpHeaders shown{{"Authorization", "Bearer " + secret}};
  EXPECT_EQ(HttpClient(port).get("/console/").status, 200U);
  EXPECT_EQ(HttpClient(port).get("/v1/runs").status, 401U);
  EXPECT_EQ(HttpClient(port).get("/v1/runs", shown).status, 200U);
  // The page is of the proxy's address, without TLS, and the server is told one of its own.
  HttpHeaders from_page = shown;
  from_page.emplace_back("Origin", "http://127.0.0.1:" + std::to_string(port));
  const std::string who = R"({"jsonrpc":"2.0","id":1,"method":"server.whoami"})";
  EXPECT_EQ(HttpClient(port).post("/rpc", who, from_page).status, 200U);
  from_page.back().second = "http://evil.example";
  EXPECT_EQ(HttpClient(port).post("/rpc", who, from_page).status, 403U);
  // A stream is passed on as it comes, and the server's end is noticed.
  HttpClient stream(port);
  stream.send(stream.text("GET", "/v1/events?from=1", shown));
  EXPECT_NE(stream.read_until("event: ServerStarted").find("text/event-stream"), std::string::npos);
  server_.kill();
  HttpClient unanswered(port);
  unanswered.send(unanswered.text("GET", "/v1/runs", shown));
  EXPECT_EQ(unanswered.reply().status, 503U);
  server_.start();
  EXPECT_EQ(HttpClient(port).get("/v1/runs", shown).status, 200U);
}

}  // namespace
}  // namespace signalbox
