#include "server/transport/http/host_rule.h"

#include <algorithm>
#include <array>
#include <string>

#include "domain/text_parts.h"
#include "server/text/ascii_case.h"

namespace signalbox {
namespace {

constexpr std::array<std::string_view, 3> loopback_names = {"localhost", "127.0.0.1", "::1"};
constexpr std::string_view unix_socket_name = "signalbox";

bool is_port(std::string_view text) {
  return text.size() <= 5 && std::all_of(text.begin(), text.end(),
                                         [](char each) { return each >= '0' && each <= '9'; });
}

}  // namespace

std::string host_name(std::string_view host) {
  std::string_view name = host;
  std::string_view port;
  if (host.starts_with('[')) {
    const std::size_t bracket = host.find(']');
    if (bracket == std::string_view::npos) return {};
    name = host.substr(1, bracket - 1);
    port = host.substr(bracket + 1);
    if (!port.empty() && port.front() != ':') return {};
  } else {
    const std::size_t colon = host.find(':');
    name = host.substr(0, colon);
    port = colon == std::string_view::npos ? std::string_view() : host.substr(colon);
  }
  if (!port.empty()) port.remove_prefix(1);
  return is_port(port) ? lower_case(name) : std::string();
}

HostRule::HostRule(std::vector<std::string> names) {
  for (const std::string& name : names) names_.push_back(lower_case(name));
}

bool HostRule::allows(std::string_view host, bool is_tcp, std::string_view local_address) const {
  const std::string name = host_name(host);
  if (name.empty()) return false;
  if (std::find(loopback_names.begin(), loopback_names.end(), name) != loopback_names.end()) {
    return true;
  }
  if (!is_tcp && name == unix_socket_name) return true;
  if (is_tcp && name == local_address) return true;
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

bool is_cross_site(std::string_view sec_fetch_site, std::string_view origin, std::string_view host,
                   bool is_encrypted) {
  if (!sec_fetch_site.empty()) return sec_fetch_site != "same-origin" && sec_fetch_site != "none";
  if (origin.empty()) return false;
  const std::string own = (is_encrypted ? "https://" : "http://") + std::string(host);
  return !is_same_but_for_case(origin, own);
}

bool is_page_visit(std::string_view sec_fetch_mode, std::string_view sec_fetch_dest) {
  return sec_fetch_mode == "navigate" && sec_fetch_dest == "document";
}

}  // namespace signalbox
