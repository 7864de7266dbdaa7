// Which names this service answers to. A page of a stranger can make a name of its own point here
// (DNS rebinding), and then its browser asks in that name: so other names than ours are refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace signalbox {

class HostRule {
 public:
  // `names` are allowed beside the built-in ones; host names or addresses, without a port.
  explicit HostRule(std::vector<std::string> names = {});

  // `host` is a Host header's value: localhost, 127.0.0.1, [::1], `signalbox` on the Unix socket,
  // the address that the connection was made to, or a configured name; each with any port.
  [[nodiscard]] bool allows(std::string_view host, bool is_tcp,
                            std::string_view local_address) const;

 private:
  std::vector<std::string> names_;
};

// The name of "name:port", "[::1]:port" in lower case, an IPv6 address without its brackets; empty
// if it isn't of that form.
std::string host_name(std::string_view host);

// Requests that a browser makes for a page of somebody else are refused: such a page could start
// runs with the rights of whoever looks at it. Browsers say whose page it is in Sec-Fetch-Site;
// those that don't, in Origin. Programs send neither.
//
// Empty header values stand for headers that aren't there. `origin` is ours if it is the scheme
// and exactly the `host` that was asked.
bool is_cross_site(std::string_view sec_fetch_site, std::string_view origin, std::string_view host,
                   bool is_encrypted);

}  // namespace signalbox
