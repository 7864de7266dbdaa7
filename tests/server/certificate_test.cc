// Tests what is said about a certificate's end and when, which keys are refused, and which settings
// a running service changes.
#include "server/platform/certificate.h"

#include <gtest/gtest.h>

#include "server/config.h"
#include "server/platform/certificate_watch.h"
#include "server/tls_identity.h"
#include "tests/fixtures/certificate.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

constexpr std::int64_t certificate_second_ns = 1'000'000'000;
constexpr std::int64_t certificate_day_ns = 24 * 3600 * certificate_second_ns;

Certificate of_100_days() {
  return {"/etc/box.pem", "CN=box", 100 * certificate_day_ns, 200 * certificate_day_ns};
}

TEST(CertificateTest, ItsStateFollowsFromTheTime) {  // G13
  const Certificate certificate = of_100_days();
  EXPECT_EQ(state_of(certificate, 100 * certificate_day_ns - 1), CertificateState::not_yet_valid);
  EXPECT_EQ(state_of(certificate, 100 * certificate_day_ns), CertificateState::valid);
  const std::int64_t notice_ns = certificate.not_after_ns - certificate_notice_ms * 1'000'000;
  EXPECT_EQ(state_of(certificate, notice_ns), CertificateState::valid);
  EXPECT_EQ(state_of(certificate, notice_ns + 1), CertificateState::ends_soon);
  EXPECT_EQ(state_of(certificate, 200 * certificate_day_ns - 1), CertificateState::ends_soon);
  EXPECT_EQ(state_of(certificate, 200 * certificate_day_ns), CertificateState::expired);
  EXPECT_NE(certificate_text(certificate, 190 * certificate_day_ns).find("ends in 10 days"),
            std::string::npos);
  EXPECT_NE(certificate_text(certificate, 200 * certificate_day_ns - 3600 * certificate_second_ns)
                .find("ends in 1 hours"),
            std::string::npos);
  EXPECT_NE(certificate_text(certificate, 201 * certificate_day_ns).find("kill -HUP"),
            std::string::npos);
}

TEST(CertificateTest, OneForCenturiesIsValid) {  // G13
  const TemporaryDirectory scratch;
  const std::filesystem::path file = scratch.path() / "box.pem";
  constexpr long year_s = 365L * 24 * 3600;
  for (const long until_s : {200 * year_s, 300 * year_s, 7900 * year_s}) {
    test::write_certificate(file, scratch.path() / "key.pem",
                            {.from_s = -3600, .until_s = until_s});
    const auto certificate = read_certificate(content_of(file), file);
    ASSERT_TRUE(certificate) << certificate.error();
    const std::int64_t wall_ns = std::int64_t{::time(nullptr)} * certificate_second_ns;
    EXPECT_EQ(state_of(*certificate, wall_ns), CertificateState::valid) << until_s / year_s;
    EXPECT_GT(certificate->not_after_ns, wall_ns + 190 * year_s * certificate_second_ns);
  }
}

TEST(CertificateTest, ItIsSaidOnceAndThenDailyWhileSomethingIsWrong) {  // G13
  const Certificate certificate = of_100_days();
  CertificateNotices notices;
  std::vector<std::int64_t> said_at_hours;
  for (std::int64_t hour = 150 * 24; hour < 203 * 24; ++hour) {
    const std::int64_t wall_ns = hour * 3600 * certificate_second_ns + 1;
    if (notices.is_due(state_of(certificate, wall_ns), wall_ns)) said_at_hours.push_back(hour);
  }
  std::vector<std::int64_t> expected{150 * 24};
  for (std::int64_t day = 186; day < 203; ++day) expected.push_back(day * 24);
  EXPECT_EQ(said_at_hours, expected);
}

TEST(CertificateTest, AKeyThatOthersCanReadIsRefusedWithWhatToDo) {  // G13
  for (const mode_t mode : {0600U, 0400U, 0700U}) {
    EXPECT_FALSE(private_key_fault("k", mode, 1000, 1000).has_value()) << mode;
  }
  for (const mode_t mode : {0644U, 0640U, 0604U, 0620U, 0601U}) {
    const auto fault = private_key_fault("/etc/k.pem", mode, 1000, 1000);
    ASSERT_TRUE(fault.has_value()) << mode;
    EXPECT_NE(fault->find("chmod 600 /etc/k.pem"), std::string::npos) << *fault;
  }
  EXPECT_FALSE(private_key_fault("k", 0640, 0, 1000).has_value()) << "root lets a group read it";
  EXPECT_TRUE(private_key_fault("k", 0644, 0, 1000).has_value());
  EXPECT_TRUE(private_key_fault("k", 0660, 0, 1000).has_value());
  const auto foreign = private_key_fault("/etc/k.pem", 0600, 1001, 1000);
  ASSERT_TRUE(foreign.has_value());
  EXPECT_NE(foreign->find("chown 1000 /etc/k.pem"), std::string::npos) << *foreign;
}

TEST(CertificateTest, FilesThatAreNoneAreNamedAndHoldNobodyUp) {  // G13
  const TemporaryDirectory directory;
  const auto certificate = directory.path() / "c.pem";
  const auto key = directory.path() / "k.pem";
  test::write_certificate(certificate, key, {"box.example.org", -7200, 7200});
  const auto read = read_tls_identity(certificate, key);
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ(read->certificate.subject, "CN=box.example.org");
  EXPECT_EQ(read->certificate.not_after_ns - read->certificate.not_before_ns,
            4 * 3600 * certificate_second_ns);
  const auto fault = [&](const std::filesystem::path& c, const std::filesystem::path& k) {
    const auto refused = read_tls_identity(c, k);
    return refused ? std::string("accepted") : refused.error();
  };
  EXPECT_NE(fault(directory.path() / "none", key).find("none"), std::string::npos);
  EXPECT_NE(fault(directory.path(), key).find("no regular file"), std::string::npos);
  const auto fifo = directory.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_NE(fault(certificate, fifo).find("no regular file"), std::string::npos);
  EXPECT_NE(fault(key, key).find("tls_certificate"), std::string::npos);
  const auto other_key = directory.path() / "o.pem";
  test::write_certificate(directory.path() / "other.pem", other_key);
  EXPECT_NE(fault(certificate, other_key).find("tls_key"), std::string::npos);
  write_text(other_key, "-----BEGIN ENCRYPTED PRIVATE KEY-----\n");
  EXPECT_NE(fault(certificate, other_key).find("passphrase"), std::string::npos);
  write_text(other_key, std::string(2 * 1024 * 1024, 'x'));
  EXPECT_NE(fault(certificate, other_key).find("larger"), std::string::npos);
}

TEST(ReloadedSettings, SomeChangeAtOnceAndOthersAtTheNextStart) {  // G13
  const TemporaryDirectory directory;
  const auto file = directory.path() / "signalbox.toml";
  ServeOptions options;
  options.data = directory.path();
  options.remote_jobs_max = 3;
  const auto load = [&](const std::string& text) {
    write_text(file, text);
    auto config = load_config(options);
    EXPECT_TRUE(config.has_value()) << (config ? "" : config.error());
    return std::move(*config);
  };
  using SettingNames = std::vector<std::string>;
  Config config = load("jobs_max = 8\nlog_level = \"info\"\n");
  const auto same = apply_changes(config, load("log_level = \"info\"\njobs_max = 8 # the same\n"));
  EXPECT_EQ(same.applied, SettingNames());
  EXPECT_EQ(same.at_next_start, SettingNames());
  const auto changed = apply_changes(
      config,
      load("jobs_max = 2\nremote_jobs_max = 7\nlisten = \"127.0.0.1:0\"\nhttp_hosts = [\"a\"]\n"
           "loopback_role = \"viewer\"\nsocket_role = \"worker\"\n[board]\nprune = \"1h\"\n"));
  EXPECT_EQ(changed.applied, (SettingNames{"http_hosts", "jobs_max", "log_level", "loopback_role",
                                           "remote_jobs_max", "socket_role"}));
  EXPECT_EQ(changed.at_next_start, (SettingNames{"board", "listen"}));
  EXPECT_EQ(config.jobs_max, 2U);
  EXPECT_EQ(config.remote_jobs_max, 3U) << "a flag has the last word";
  EXPECT_EQ(config.log_level, "info");
  EXPECT_EQ(config.http_hosts, SettingNames{"a"});
  EXPECT_EQ(config.access.loopback_role, std::optional(Role::viewer));
  EXPECT_EQ(config.access.other_user_role, Role::worker);
  EXPECT_EQ(config.listen, "");
  // TLS itself begins with the next start, so its files aren't taken now.
  const auto tls = apply_changes(
      config, load("listen = \"127.0.0.1:0\"\ntls_certificate = \"c\"\ntls_key = \"k\"\n"));
  EXPECT_EQ(tls.at_next_start, (SettingNames{"listen", "tls_certificate", "tls_key"}));
  EXPECT_TRUE(config.tls_key.empty());
}

}  // namespace
}  // namespace signalbox
