#include "tools/cli/server_address.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "domain/try.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

constexpr std::string_view tcp_scheme = "tcp://";
constexpr std::string_view tls_scheme = "tls://";

std::optional<Endpoint> parse_endpoint(std::string_view text) {
  Endpoint endpoint;
  endpoint.is_tls = text.starts_with(tls_scheme);
  if (!endpoint.is_tls && !text.starts_with(tcp_scheme)) return std::nullopt;
  const std::string_view rest = text.substr(tcp_scheme.size());
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string_view host = rest.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return std::nullopt;  // the port of an IPv6 address needs brackets before it
  }
  if (!is_host(host)) return std::nullopt;
  endpoint.host = host;
  endpoint.port = rest.substr(colon + 1);
  if (!is_port_number(endpoint.port)) return std::nullopt;
  return endpoint;
}

}  // namespace

bool is_port_number(std::string_view text) {
  return whole_number<std::uint16_t>(text).value_or(0) != 0;
}

bool is_host(std::string_view text) {
  return !text.empty() && text.front() != '-' &&
         std::all_of(text.begin(), text.end(), [](char each) {
           return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'z') ||
                  (each >= 'A' && each <= 'Z') ||
                  std::string_view("._-:%").find(each) != std::string_view::npos;
         });
}

bool is_this_machine(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::string Endpoint::host_and_port() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return (is_v6 ? "[" + host + "]" : host) + ":" + port;
}

std::string Endpoint::text() const {
  if (is_unix()) return socket.string();
  return std::string(is_tls ? tls_scheme : tcp_scheme) + host_and_port();
}

std::string Endpoint::start_command() const {
  if (!is_unix() && !is_this_machine(host)) return "ssh " + host + " systemctl status signalbox";
  if (is_tls) return "systemctl status signalbox";  // its certificate isn't known here
  if (!is_unix())
    return "signalbox serve --listen " +
           (host == "localhost" ? "127.0.0.1:" + port : host_and_port());
  const std::string data = socket.parent_path().string();
  std::string command = "signalbox serve --data " + (data.empty() ? std::string(".") : data);
  if (socket.filename() != "signalbox.sock") command += " --socket " + socket.string();
  return command;
}

std::string Endpoint::status_command() const {
  if (is_unix()) return "signalbox status";
  // Whether it lives is answered without a token, whoever vouches for its certificate.
  return std::string("curl -") + (is_tls ? "ks https://" : "s http://") + host_and_port() +
         "/healthz";
}

Called<ServerAddress> ServerAddress::parse(std::string_view text) {
  ServerAddress address;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    auto endpoint = parse_endpoint(rest.substr(0, comma));
    if (!endpoint) {
      return tl::unexpected(
          usage_error("--server is tls://HOST:PORT, or tcp://HOST:PORT without encryption, such as "
                      "tcp://127.0.0.1:7070; several of them with commas between them; not " +
                      std::string(text)));
    }
    address.endpoints.push_back(std::move(*endpoint));
    if (comma == std::string_view::npos) return address;
    rest.remove_prefix(comma + 1);
  }
}

std::string ServerAddress::text() const {
  std::string text;
  for (const Endpoint& each : endpoints) text += (text.empty() ? "" : ",") + each.text();
  return text;
}

ServerAddress ServerAddress::after(const Endpoint& last) const {
  ServerAddress rotated = *this;
  const auto found = std::find(rotated.endpoints.begin(), rotated.endpoints.end(), last);
  if (found != rotated.endpoints.end()) {
    std::rotate(rotated.endpoints.begin(), found + 1, rotated.endpoints.end());
  }
  return rotated;
}

ServerAddress ServerAddress::from(const Endpoint& first) const {
  ServerAddress rotated = *this;
  const auto found = std::find(rotated.endpoints.begin(), rotated.endpoints.end(), first);
  if (found != rotated.endpoints.end()) {
    std::rotate(rotated.endpoints.begin(), found, rotated.endpoints.end());
  }
  return rotated;
}

}  // namespace signalbox
