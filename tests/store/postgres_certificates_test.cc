// Connections to a database over TLS whose certificate isn't taken: each reason is told, with what
// to do about that one.
#include "store/postgres_certificates.h"

#include <pwd.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "store/postgres_connection.h"
#include "tests/eventually.h"
#include "tests/fixtures/certificate.h"
#include "tests/fixtures/postgres_nodes.h"
#include "tests/fixtures/postgres_programs.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox::test {
namespace {

class PostgresCertificatesTest : public testing::Test {
 protected:
  PostgresCertificatesTest() { give(scratch_.path()); }

  // Has the database show another certificate from now on.
  void show_certificate(const CertificateSpec& spec) {
    write_certificate(at("shown.crt"), at("shown.key"), spec);
    give(at("shown.crt"));
    give(at("shown.key"));
    (void)nodes_.query("ALTER SYSTEM SET ssl_cert_file = '" + at("shown.crt").string() + "'");
    (void)nodes_.query("ALTER SYSTEM SET ssl_key_file = '" + at("shown.key").string() + "'");
    (void)nodes_.query("ALTER SYSTEM SET ssl = on");
    (void)nodes_.query("SELECT pg_reload_conf()");
  }
  // Connects, trusts this certificate alone, and returns why that fails; empty if it doesn't.
  [[nodiscard]] std::string refusal(const std::string& trusted) const {
    PostgresConnection connection(nodes_.url() +
                                  "?sslmode=verify-full&sslrootcert=" + at(trusted).string());
    const auto connected =
        connection.connect(std::chrono::steady_clock::now() + std::chrono::seconds(60));
    return connected ? std::string() : connected.error().message;
  }
  // The database loads its new certificate a moment after it was told to.
  void expect_refusal(const std::string& trusted, const std::string& reason,
                      const std::string& advice) const {
    std::string text;
    EXPECT_TRUE(eventually([&] {
      text = refusal(trusted);
      return text.find(reason) != std::string::npos;
    })) << reason;
    EXPECT_NE(text.find(advice), std::string::npos) << text;
  }
  [[nodiscard]] std::filesystem::path at(const std::string& name) const {
    return scratch_.path() / name;
  }

 private:
  // Gives a file to the user that PostgreSQL runs as.
  static void give(const std::filesystem::path& path) {
    const ::passwd* const user = database_user();
    if (user == nullptr) return;
    EXPECT_EQ(::chown(path.c_str(), user->pw_uid, user->pw_gid), 0);
  }

  TemporaryDirectory scratch_;
  PostgresNodes nodes_{0};
};

TEST_F(PostgresCertificatesTest, AreRefusedForAReasonThatIsTold) {  // K12
  constexpr const char* own_name = "IP:127.0.0.1";
  constexpr long hour_s = 3600;
  write_certificate(at("other.crt"), at("other.key"), {});
  show_certificate({.from_s = -2 * hour_s, .until_s = -hour_s, .names = own_name});
  expect_refusal("shown.crt", "certificate has expired", "has expired: renew it");
  show_certificate({.from_s = hour_s, .names = own_name});
  expect_refusal("shown.crt", "certificate is not yet valid", "isn't valid yet");
  show_certificate({.names = "DNS:another"});
  expect_refusal("shown.crt", "does not match host name", "as its certificate does");
  show_certificate({.names = own_name});
  expect_refusal("other.crt", "self-signed certificate", "doesn't trust");
  EXPECT_EQ(refusal("shown.crt"), "");
}

}  // namespace
}  // namespace signalbox::test
