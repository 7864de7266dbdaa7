#include "store/postgres_advice.h"

#include <array>
#include <utility>

namespace signalbox {
namespace {

using Advice = std::pair<std::string_view, std::string_view>;

constexpr std::string_view changed_tables =
    ": somebody changed the tables of Signalbox, so put back what was there, or restore the "
    "database from a backup";

constexpr std::array statement_advices = {
    Advice{"42501", ": grant it to the role of cell.engine, or have that own the tables"},
    Advice{"42P01", changed_tables},
    Advice{"42703", changed_tables},
    Advice{"42804", changed_tables},  // a value of another type than its column
    Advice{"42883", changed_tables},  // no comparison of a column with a value of its type
    Advice{"53100", ": free space on the database's disk"},
};

constexpr std::string_view wrong_credentials =
    ": correct the role or the database in cell.engine, or make them, and give the role's password "
    "in ~/.pgpass or PGPASSWORD of this service's user; pg_hba.conf has to let it in";

constexpr std::string_view untrusted =
    ": this server doesn't trust the authority that issued the certificate of that database, which "
    "`openssl s_client -starttls postgres -connect HOST:PORT </dev/null | openssl x509 -noout "
    "-issuer` shows: give that authority's certificate as sslrootcert in cell.engine (without: "
    "~/.postgresql/root.crt of this service's user); those between the two belong into the "
    "database's ssl_cert_file";

// By a part of a message, which of TLS are those of libpq and OpenSSL, of several versions. The
// first that is found counts.
constexpr std::array connection_advices = {
    Advice{"certificate has expired",
           ": the certificate of that database, or of its authority, has expired: renew it and "
           "reload the database. `openssl s_client -starttls postgres -connect HOST:PORT "
           "</dev/null | openssl x509 -noout -dates` shows which one it has"},
    Advice{"certificate is not yet valid",
           ": the certificate of that database isn't valid yet by the clock of this machine: have "
           "NTP set the clock, or give the database one that is valid now, and reload it"},
    Advice{"self-signed certificate", untrusted},
    Advice{"self signed certificate", untrusted},
    Advice{"issuer certificate", untrusted},
    Advice{"unable to verify the first certificate", untrusted},
    Advice{"certificate revoked",
           ": the authority has revoked the certificate of that database: give that a new one, and "
           "reload it"},
    Advice{
        "certificate verify failed",
        ": this server doesn't take the certificate of that database. `openssl s_client -starttls "
        "postgres -connect HOST:PORT </dev/null` shows it, and why: renew it there and "
        "reload the database, or give its authority's certificate as sslrootcert in cell.engine "
        "(without: ~/.postgresql/root.crt of this service's user)"},
    Advice{"root certificate file",
           ": put the certificate of the database's authority there, readable for this service's "
           "user, or name its file as sslrootcert in cell.engine"},
    Advice{"does not match host name",
           ": name that host in cell.engine as its certificate does, or give the database a "
           "certificate with the name that is there"},
    Advice{"does not support SSL",
           ": turn TLS on at that database (ssl = on, ssl_cert_file and ssl_key_file); without it "
           "only a network that is yours alone is safe, with another sslmode in cell.engine"},
    Advice{"alert certificate expired",
           ": this service's own certificate has expired, so the database refuses it: renew the "
           "file that sslcert in cell.engine names (without: ~/.postgresql/postgresql.crt)"},
    Advice{
        "alert unknown ca",
        ": the database doesn't trust the authority of this service's own certificate: have that "
        "in the database's ssl_ca_file, or correct sslcert in cell.engine"},
    Advice{"valid client certificate",
           ": the database wants a certificate of this service: name its files as sslcert and "
           "sslkey in cell.engine, or have pg_hba.conf ask for something else"},
    Advice{"private key file",
           ": correct sslkey in cell.engine, or the owner and mode of that file: this service's "
           "user alone has to be able to read it (chmod 600)"},
    Advice{":  28", wrong_credentials},
    Advice{":  3D000", wrong_credentials},
    Advice{"no password supplied", wrong_credentials},
    Advice{":  53300",
           ": raise max_connections of the database, or end what uses up its connections"},
    Advice{"session is read-only",
           ": the database has no primary among its hosts at present, or "
           "default_transaction_read_only is set for it or the role, which has to be off"},
    Advice{"due to statement timeout",
           ": statement_timeout of the database or the role is too short to connect, so raise it"},
};

}  // namespace

std::string statement_advice(std::string_view sqlstate) {
  for (const auto& [state, advice] : statement_advices) {
    if (sqlstate == state) return std::string(advice);
  }
  return {};
}

std::string connection_advice(std::string_view problems) {
  for (const auto& [part, advice] : connection_advices) {
    if (problems.find(part) != std::string_view::npos) return std::string(advice);
  }
  return {};
}

}  // namespace signalbox
