// SIGHUP with the real server: certificates and settings change without a closed connection, wrong
// ones don't, and a signal at any moment does no harm.
#include <csignal>

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include "tests/fixtures/certificate.h"
#include "tests/fixtures/notify_socket.h"
#include "tests/scenarios/cli_fixture.h"
#include "tests/scenarios/http_client.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

class ReloadTest : public CliTest {
 protected:
  ReloadTest() : CliTest({"--listen", "127.0.0.1:0"}) {}
  void SetUp() override { std::filesystem::create_directories(server_.data()); }

  void write_settings(const std::string& text) const {
    const auto file = server_.data() / "signalbox.toml";
    write_text(file.string() + ".new", text);
    std::filesystem::rename(file.string() + ".new", file);
  }
  [[nodiscard]] std::string tls_settings() const {
    return "tls_certificate = \"" + at("certificate.pem") + "\"\ntls_key = \"" + at("key.pem") +
           "\"\n";
  }
  [[nodiscard]] std::string at(const char* name) const { return (scratch_.path() / name).string(); }
  void make_certificate(const test::CertificateSpec& spec) const {
    test::write_certificate(at("certificate.pem"), at("key.pem"), spec);
  }
  void start_with_tls(const test::CertificateSpec& spec) {
    make_certificate(spec);
    write_settings(tls_settings() + "loopback_role = \"viewer\"\n");
    server_.start();
  }
  [[nodiscard]] std::uint16_t port() const {
    const std::string messages = server_.messages();
    const std::size_t begin = messages.find("listening on 127.0.0.1:") + 23;
    return static_cast<std::uint16_t>(std::stoi(messages.substr(begin)));
  }
  [[nodiscard]] std::size_t lines_with(const std::string& part) const {
    const std::string messages = server_.messages();
    std::size_t count = 0;
    for (std::size_t found = messages.find(part); found != std::string::npos;
         found = messages.find(part, found + 1)) {
      ++count;
    }
    return count;
  }
  // Sends SIGHUP and blocks until the server said that it took the files, or refused them.
  void reload() const {
    const auto answers = [this] {
      return lines_with("settings reloaded") + lines_with("the settings stay as they are");
    };
    const std::size_t before = answers();
    ASSERT_EQ(::kill(server_.pid(), SIGHUP), 0);
    await([&] { return answers() > before; });
  }
  [[nodiscard]] json::object status() const { return rpc("server.status"); }
  [[nodiscard]] double metric(const std::string& name) const {
    std::istringstream lines(text(rpc("server.metrics", {}), "text"));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(name + " ")) return std::stod(line.substr(name.size()));
    }
    ADD_FAILURE() << "no metric " << name;
    return -1;
  }

  using Stream = asio::ssl::stream<asio::ip::tcp::socket>;
  Stream connect() {
    Stream stream(io_, context_);
    stream.next_layer().connect({asio::ip::make_address("127.0.0.1"), port()});
    stream.handshake(asio::ssl::stream_base::client);
    return stream;
  }
  static std::string name_in(Stream& stream) {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(
        SSL_get1_peer_certificate(stream.native_handle()), &X509_free);
    std::array<char, 256> name{};
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name.data(),
                              name.size());
    return name.data();
  }
  static bool answers(Stream& stream) {
    asio::write(
        stream,
        asio::buffer(std::string("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server.status\"}\n")));
    std::string answer;
    asio::read_until(stream, asio::dynamic_buffer(answer), '\n');
    return answer.find("\"result\"") != std::string::npos;
  }

  asio::io_context io_;
  asio::ssl::context context_{asio::ssl::context::tls_client};
};

// Returns whether the process's first thread blocks SIGHUP: then it no longer ends the process.
bool blocks_hang_up(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("SigBlk:")) continue;
    const unsigned long long blocked = std::stoull(line.substr(7), nullptr, 16);
    const auto has = [blocked](int signal) { return ((blocked >> (signal - 1)) & 1U) != 0; };
    return has(SIGHUP) && !has(SIGUSR1);  // before it is the program, all signals are
  }
  return false;
}

TEST_F(ReloadTest, ARenewedCertificateIsServedWithoutADroppedConnection) {  // G13
  start_with_tls({"first"});
  const pid_t pid = server_.pid();
  Stream before = connect();
  EXPECT_EQ(name_in(before), "first");
  EXPECT_TRUE(answers(before));
  make_certificate({"second", -3600, 50L * 24 * 3600});
  Stream meanwhile = connect();
  EXPECT_EQ(name_in(meanwhile), "first") << "files that change without a signal don't count";
  reload();
  Stream after = connect();
  EXPECT_EQ(name_in(after), "second");
  for (Stream* each : {&before, &meanwhile, &after}) EXPECT_TRUE(answers(*each));
  EXPECT_EQ(text(status().at("certificate").as_object(), "subject"), "CN=second");
  EXPECT_EQ(server_.pid(), pid);
  EXPECT_TRUE(server_.running());
  EXPECT_EQ(server_.stop(), 0);
}

TEST_F(ReloadTest, AWrongFileKeepsTheFormerAndIsSaid) {  // G13
  start_with_tls({"first"});
  EXPECT_EQ(metric("signalbox_reload_refused"), 0);
  const std::string good = content_of(at("certificate.pem"));
  std::size_t refused = 0;
  const auto expect_refused = [&](const std::string& part) {
    reload();
    EXPECT_EQ(lines_with("the settings stay as they are"), ++refused) << server_.messages();
    Stream stream = connect();
    EXPECT_EQ(name_in(stream), "first");
    const json::object present = status().at("settings").as_object();
    EXPECT_NE(text(present.at("refused").as_object(), "error").find(part), std::string::npos)
        << json::serialize(present);
    EXPECT_EQ(metric("signalbox_reload_refused"), 1);
    EXPECT_NE(server_.cli({"status"}).out.find("not reloaded"), std::string::npos);
  };
  write_text(at("certificate.pem"), "this is no certificate\n");
  expect_refused("certificate.pem");
  write_text(at("certificate.pem"), good);
  ASSERT_EQ(::chmod(at("key.pem").c_str(), 0644), 0);
  expect_refused("chmod 600");
  ASSERT_EQ(::chmod(at("key.pem").c_str(), 0600), 0);
  test::write_certificate(at("other.pem"), at("key.pem"));
  expect_refused("key.pem");
  write_settings(tls_settings() + "jobs_max = 0\n");
  expect_refused("signalbox.toml:3");
  // Once it is mended, the next signal takes it.
  make_certificate({"second"});
  write_settings(tls_settings() + "loopback_role = \"viewer\"\n");
  reload();
  Stream stream = connect();
  EXPECT_EQ(name_in(stream), "second");
  EXPECT_TRUE(status().at("settings").at("refused").is_null());
  EXPECT_EQ(metric("signalbox_reload_refused"), 0);
}

TEST_F(ReloadTest, HostsRolesLimitsAndLogLevelChange) {  // G13
  server_.start();
  HttpClient kept(port());
  const HttpHeaders of_box{{"Host", "box.example.org"}};
  EXPECT_EQ(HttpClient(port()).get("/healthz", of_box).status, 421U);
  EXPECT_EQ(HttpClient(port()).get("/v1/runs").status, 401U);
  EXPECT_EQ(kept.get("/healthz").status, 200U);
  write_settings(
      "http_hosts = [\"box.example.org\"]\nloopback_role = \"viewer\"\njobs_max = 1\n"
      "log_level = \"debug\"\nlisten = \"127.0.0.1:1\"\n");
  reload();
  EXPECT_EQ(lines_with("changed http_hosts, jobs_max, log_level, loopback_role; listen will change "
                       "at the next start"),
            1U)
      << server_.messages();
  EXPECT_EQ(HttpClient(port()).get("/healthz", of_box).status, 200U);
  EXPECT_EQ(kept.get("/v1/runs").status, 200U) << "on the connection from before";
  // One job at a time from now on, with lines about each attempt.
  const std::string pipeline =
      "name = \"p\"\n[[station]]\nname = \"a\"\nexecutor = \"process\"\n"
      "command = [\"sh\", \"-c\", \"while [ ! -e '" +
      at("go") + "' ]; do sleep 0.05; done; grep SigBlk /proc/self/status >'" + at("mask") +
      "'\"]\n";
  const std::string first = start_run_of(pipeline, "first");
  await_status(first, "running");
  const std::string second = start_run_of(pipeline, "second");
  const Output why = server_.cli({"run", "why", second});
  EXPECT_NE(why.out.find("jobs_max"), std::string::npos) << why.out;
  write_settings("jobs_max = 2\n");
  reload();
  await_status(second, "running");
  write_text(at("go"), "");
  await_status(first, "succeeded");
  await_status(second, "succeeded");
  EXPECT_EQ(content_of(at("mask")), "SigBlk:\t0000000000000000\n") << "jobs get the signal";
  EXPECT_GT(lines_with("attempt 1 started"), 0U) << server_.messages();
  EXPECT_EQ(HttpClient(port()).get("/v1/runs").status, 401U) << "the role was taken back";
}

TEST_F(ReloadTest, ServerLimitsHasThePresentSettings) {  // G5, G13
  write_settings("connections_max = 5000\n");
  server_.start();
  EXPECT_EQ(rpc("server.limits", {}).at("connections_max"), 5000);
  EXPECT_EQ(rpc("server.limits", {}).at("caller_connections_max"), 1024);
  write_settings("connections_max = 6000\ncaller_connections_max = 70\n");
  reload();
  EXPECT_EQ(rpc("server.limits", {}).at("connections_max"), 6000);
  EXPECT_EQ(rpc("server.limits", {}).at("caller_connections_max"), 70);
}

TEST_F(ReloadTest, AKeyThatOthersCanReadIsRefusedAtTheStart) {  // G13
  make_certificate({"box"});
  write_settings(tls_settings());
  ASSERT_EQ(::chmod(at("key.pem").c_str(), 0644), 0);
  const Output refused = server_.cli({"serve", "--listen", "127.0.0.1:0"});
  EXPECT_EQ(refused.exit_code, 78) << refused.err;
  const std::size_t advice = refused.err.find("chmod 600");
  ASSERT_NE(advice, std::string::npos) << refused.err;
  const std::string command = refused.err.substr(advice, refused.err.find('\n', advice) - advice);
  EXPECT_EQ(run_process({"sh", "-c", command}).exit_code, 0) << command;
  server_.start();
  Stream stream = connect();
  EXPECT_EQ(name_in(stream), "box");
}

TEST_F(ReloadTest, TheEndOfACertificateIsInLogStatusAndMetrics) {  // G13
  start_with_tls({"old", -7200, -3600});
  EXPECT_EQ(lines_with(") expired at "), 1U) << server_.messages();
  EXPECT_EQ(text(status().at("certificate").as_object(), "state"), "expired");
  EXPECT_NE(server_.cli({"status"}).out.find("expired"), std::string::npos);
  const auto now_s = static_cast<double>(std::time(nullptr));
  const char* const end = "signalbox_tls_certificate_not_after_timestamp_seconds";
  EXPECT_LT(metric(end), now_s - 3500);
  EXPECT_GT(metric(end), now_s - 7200);
  make_certificate({"brief", -3600, 5L * 24 * 3600});
  reload();
  EXPECT_EQ(lines_with(") ends in 4 days"), 1U) << server_.messages();
  EXPECT_EQ(text(status().at("certificate").as_object(), "state"), "ends_soon");
  EXPECT_GT(metric(end), now_s + 4.9 * 24 * 3600);
  make_certificate({"fresh"});
  reload();
  EXPECT_EQ(lines_with(") is valid until "), 1U) << server_.messages();
  EXPECT_EQ(text(status().at("certificate").as_object(), "state"), "valid");
}

TEST_F(ReloadTest, ASignalDuringTheStartOrTheStopDoesNoHarm) {  // G13
  for (int round = 0; round < 3; ++round) {
    const std::size_t before = lines_with("settings reloaded");
    server_.launch();
    await([&] { return blocks_hang_up(server_.pid()); });
    for (int each = 0; each < 20; ++each) ::kill(server_.pid(), SIGHUP);
    await([&] { return lines_with("settings reloaded") > before; });
    EXPECT_EQ(server_.cli({"status"}).exit_code, 0);
    ::kill(server_.pid(), SIGHUP);
    ::kill(server_.pid(), SIGTERM);
    for (int each = 0; each < 20; ++each) ::kill(server_.pid(), SIGHUP);
    // A second SIGTERM would end it without a clean stop, so stop() only collects its exit code.
    await([&] { return !server_.running(); });
    EXPECT_EQ(server_.stop(), 0) << server_.messages();
  }
}

TEST_F(ReloadTest, TheServiceManagerSeesAReload) {  // G13
  test::NotifySocket manager(scratch_.path() / "notify");
  server_.start();
  manager.until("READY=1");
  ASSERT_EQ(::kill(server_.pid(), SIGHUP), 0);
  const std::string reloading = manager.until("RELOADING=1");
  EXPECT_NE((reloading + manager.until("READY=1")).find("MONOTONIC_USEC="), std::string::npos);
  EXPECT_EQ(server_.cli({"status"}).exit_code, 0);
}

}  // namespace
}  // namespace signalbox
