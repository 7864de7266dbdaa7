// A service that listens over TLS, for runners with a token that is for nothing else.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fixtures/certificate.h"
#include "tests/scenarios/runner_fixture.h"

namespace signalbox {

// Over TLS, with a token that is for nothing else.
class RunnerOverTls : public RunnerTest {
 protected:
  void SetUp() override { serve_over_tls(); }
  void serve_over_tls() {
    std::filesystem::create_directories(server_.data());
    std::filesystem::permissions(server_.data(), std::filesystem::perms::owner_all);
    test::write_certificate(at("certificate.pem"), at("key.pem"));
    std::ofstream(server_.data() / "signalbox.toml")
        << "listen = \"127.0.0.1:0\"\ntls_certificate = \"" << at("certificate.pem")
        << "\"\ntls_key = \"" << at("key.pem") << "\"\n";
    server_.start();
    constexpr std::string_view words = "listening on 127.0.0.1:";
    const std::string messages = server_.messages();
    const std::size_t port = messages.rfind(words) + words.size();
    address_ = "tls://localhost:" +
               messages.substr(port, messages.find_first_not_of("0123456789", port) - port);
    write_text(at("token"), server_.cli({"access", "issue", "one", "--role", "runner"}).out);
    where_ = {"--server", address_, "--ca", at("certificate.pem"), "--token-file", at("token")};
  }
  [[nodiscard]] Output with_token(std::vector<std::string> words) const {
    words.insert(words.begin(), where_.begin(), where_.end());
    words.insert(words.begin(), SIGNALBOX_BINARY);
    return run_process(std::move(words));
  }

  std::string address_;
  std::vector<std::string> where_;
};

}  // namespace signalbox
