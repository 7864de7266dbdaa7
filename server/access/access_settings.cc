#include "server/access/access_settings.h"

#include <arpa/inet.h>

#include <utility>

#include <boost/describe/enum_from_string.hpp>

#include "server/text/separated_text.h"

namespace signalbox {
namespace {

bool is_address(const std::string& host) {
  in6_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

bool is_loopback(const std::string& host) {
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24U) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace

tl::expected<void, std::string> set_access(std::string_view key, const std::string& value,
                                           Authentication::Settings& settings) {
  Role role{};
  // An approval is decided by somebody who has a name.
  const bool known = boost::describe::enum_from_string(value.c_str(), role) && role != Role::job &&
                     role != Role::approver && role != Role::runner;
  if (key == "loopback_role") {
    if (!known && value != "none") {
      return tl::unexpected("loopback_role is one of viewer, worker, operator, admin, none; not " +
                            value);
    }
    if (known) {
      settings.loopback_role = role;
    } else {
      settings.loopback_role.reset();
    }
    return {};
  }
  if (!known) {
    return tl::unexpected("socket_role is one of viewer, worker, operator, admin; not " + value);
  }
  settings.other_user_role = role;
  return {};
}

std::optional<TcpAddress> parse_tcp_address(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  std::string host = listen.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  const auto port = whole_number<std::uint16_t>(std::string_view(listen).substr(colon + 1));
  if (!port || !is_address(host)) return std::nullopt;
  return TcpAddress{std::move(host), *port};
}

tl::expected<void, std::string> require_address(const std::string& listen) {
  if (listen.empty() || parse_tcp_address(listen)) return {};
  return tl::unexpected("listen is an address and a port, such as 127.0.0.1:7070; not " + listen);
}

tl::expected<void, std::string> require_protected(const std::string& listen,
                                                  const std::filesystem::path& tls_certificate,
                                                  const std::filesystem::path& tls_key) {
  if (tls_certificate.empty() != tls_key.empty()) {
    return tl::unexpected(
        std::string("tls_certificate and tls_key go together: set both to PEM "
                    "files, or none"));
  }
  const auto address = parse_tcp_address(listen);
  if (!address || is_loopback(address->host) || !tls_key.empty()) return {};
  return tl::unexpected(address->host +
                        " is not a loopback address, and without TLS everybody on the way could "
                        "read the access tokens: set tls_certificate and tls_key in the "
                        "configuration file, or listen on 127.0.0.1 or [::1]");
}

std::string tcp_access_text(const Authentication& authentication) {
  if (const auto role = authentication.loopback_role()) {
    return std::string("over TCP, every user of this machine is ") + name_of(*role) +
           " without an access token, because of the setting loopback_role; others need one: " +
           authentication.issue_command(Role::operator_);
  }
  return "over TCP, a client without an access token gets health checks only; to issue one: " +
         authentication.issue_command(Role::operator_);
}

std::string denial_text(const AccessDenied& denied) {
  if (denied.role == Role::job) {
    return "denied: " + denied.actor + " asked for " + denied.method + ", which isn't for jobs";
  }
  return "denied: " + denied.actor +
         (denied.role ? std::string(", ") + name_of(*denied.role) : "") + ", asked for " +
         denied.method + ", which needs " + (denied.role ? "" : "an access token of at least ") +
         name_of(denied.needs);
}

}  // namespace signalbox
