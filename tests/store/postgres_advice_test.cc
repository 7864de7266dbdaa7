#include "store/postgres_advice.h"

#include <array>
#include <utility>

#include <gtest/gtest.h>

namespace signalbox {
namespace {

// What PostgreSQL and libpq 15 say, over OpenSSL 3, with its reason (postgres_certificates.h).
TEST(PostgresAdvice, SaysWhatToDoAboutACertificate) {  // K12
  constexpr std::array messages = {
      std::pair{"connection to server at \"db1\" (10.0.0.1), port 5432 failed: SSL error: "
                "certificate verify failed",
                "and why"},
      std::pair{"SSL error: certificate verify failed: certificate has expired", "renew it"},
      std::pair{"SSL error: certificate verify failed: certificate is not yet valid", "NTP"},
      std::pair{
          "SSL error: certificate verify failed: self-signed certificate in certificate chain",
          "doesn't trust the authority"},
      std::pair{"SSL error: certificate verify failed: unable to get local issuer certificate",
                "doesn't trust the authority"},
      std::pair{"SSL error: certificate verify failed: unable to verify the first certificate",
                "ssl_cert_file"},
      std::pair{"SSL error: certificate verify failed: certificate revoked", "has revoked"},
      std::pair{"root certificate file \"/home/s/.postgresql/root.crt\" does not exist Either "
                "provide the file or change sslmode to disable server certificate verification.",
                "sslrootcert"},
      std::pair{"server certificate for \"localhost\" does not match host name \"127.0.0.1\"",
                "as its certificate does"},
      std::pair{"server does not support SSL, but SSL was required", "ssl = on"},
      std::pair{"SSL error: sslv3 alert certificate expired", "renew the file that sslcert"},
      std::pair{"SSL error: tlsv1 alert unknown ca", "ssl_ca_file"},
      std::pair{"FATAL:  28000: connection requires a valid client certificate", "sslkey"},
      std::pair{"private key file \"/home/s/.postgresql/postgresql.key\" has group or world access",
                "chmod 600"}};
  for (const auto& [message, advice] : messages) {
    const std::string given = connection_advice(message);
    EXPECT_EQ(given.rfind(": ", 0), 0U) << message;
    EXPECT_NE(given.find(advice), std::string::npos) << message << given;
  }
  EXPECT_EQ(connection_advice("db1 doesn't answer"), "");
}

}  // namespace
}  // namespace signalbox
