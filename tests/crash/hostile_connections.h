// A server with hostile clients, and what has to hold meanwhile: its own user, /healthz and clients
// with a token are served, and its memory stays bounded.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "server/limits.h"
#include "tests/crash/raw_connection.h"
#include "tests/crash/server_test.h"
#include "tests/eventually.h"

namespace signalbox::test {

inline constexpr std::uint64_t hostile_growth_mib_max = 128;

class HostileConnections : public ServerTest {
 protected:
  explicit HostileConnections(std::vector<std::string> options = {"--listen", "127.0.0.1:0"})
      : ServerTest(std::move(options)) {}

  void SetUp() override {
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    std::filesystem::create_directories(server_.data());
    std::ofstream(server_.data() / "signalbox.toml") << configuration();
    start();
    const std::string messages = server_.log();
    const auto at = messages.find("127.0.0.1:");
    ASSERT_NE(at, std::string::npos) << messages;
    port_ = static_cast<std::uint16_t>(std::stoi(messages.substr(at + sizeof "127.0.0.1")));
    secret_ = issue("honest", "operator");
    ASSERT_TRUE(everybody_is_served());
    idle_bytes_ = server_.resident_bytes();
  }
  void TearDown() override {
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
    EXPECT_LT(std::chrono::steady_clock::now() - began, slowness * std::chrono::seconds(10));
  }
  [[nodiscard]] virtual std::string configuration() const { return "loopback_role = \"none\"\n"; }

  std::string issue(const std::string& name, const char* role) const {
    return std::string(
        call("access.issue", {{"name", name}, {"role", role}}).at("secret").as_string());
  }
  [[nodiscard]] std::string authentication(const std::string& secret) const {
    return request_line(1, "server.authenticate", {{"secret", secret}});
  }
  // Expects that the server's own user, an honest client and who asks for its health get answers.
  [[nodiscard]] bool everybody_is_served() const {
    if (!answer_to("server.status")) {
      ADD_FAILURE() << "the server's own user got no answer";
      return false;
    }
    return is_healthy() && token_is_served();
  }
  [[nodiscard]] virtual bool is_healthy() const {
    RawConnection health(port_);
    health.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    const std::string status = health.line();
    EXPECT_EQ(status, "HTTP/1.1 200 OK\r");
    return status == "HTTP/1.1 200 OK\r";
  }
  [[nodiscard]] virtual bool token_is_served() const {
    RawConnection honest(port_);
    honest.send(authentication(secret_));
    std::string answer = honest.line();
    EXPECT_NE(answer.find("\"result\""), std::string::npos) << answer;
    honest.send(request_line(2, "lock.acquire", {{"key", "k"}, {"owner", "o"}}));
    answer = honest.line();
    EXPECT_NE(answer.find("\"result\""), std::string::npos) << answer;
    return answer.find("\"result\"") != std::string::npos;
  }
  [[nodiscard]] double metric(const std::string& name) const {
    const std::string text(call("server.metrics").at("text").as_string());
    const auto at = text.find("\n" + name + " ");
    if (at == std::string::npos) return -1;
    return std::stod(text.substr(at + name.size() + 2));
  }
  // Blocks until the server has closed each hostile connection. Returns false if it doesn't in
  // time.
  [[nodiscard]] bool are_all_closed() {
    return eventually([this] {
      return std::all_of(hostile_.begin(), hostile_.end(),
                         [](RawConnection& each) { return each.is_closed(); });
    });
  }
  // Expects the bound of the server's memory. A sanitizer keeps freed memory, so with one only the
  // bytes that the server counts are looked at.
  void expect_bounded_memory() const {
    EXPECT_LE(metric("signalbox_connection_buffered_bytes"),
              static_cast<double>(buffered_bytes_max));
#ifndef SIGNALBOX_SANITIZED
    EXPECT_LT(server_.resident_bytes(), idle_bytes_ + hostile_growth_mib_max * memory_mib);
#endif
  }

  std::uint16_t port_ = 0;
  std::string secret_;
  std::uint64_t idle_bytes_ = 0;
  std::vector<RawConnection> hostile_;
};

}  // namespace signalbox::test
