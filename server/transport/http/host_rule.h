// Checks the origin of HTTP requests, against attacks through a user's browser.
//
// A foreign page can make its own host name resolve to this service (DNS rebinding), and then the
// browser sends that name as Host. So only known host names are accepted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace signalbox {

class HostRule {
 public:
  // Allows `names` beside the built-in ones: host names or addresses, without a port.
  explicit HostRule(std::vector<std::string> names = {});

  // Returns true if `host`, the value of a Host header, is localhost, 127.0.0.1, [::1], `signalbox`
  // on the Unix socket, the address that the client connected to, or a configured name. Any port is
  // allowed.
  [[nodiscard]] bool allows(std::string_view host, bool is_tcp,
                            std::string_view local_address) const;

 private:
  std::vector<std::string> names_;
};

// Returns the name in "name:port" or "[::1]:port", in lower case and without brackets; an empty
// string if `host` doesn't have that form.
std::string host_name(std::string_view host);

// Returns true if a browser sends the request for a page of another site (cross-site request
// forgery). Such a page could start runs with the rights of its viewer. Browsers name the site in
// Sec-Fetch-Site, older ones in Origin; other programs send neither.
//
// An empty value means that the header is missing. `origin` is this service's own if it is the
// scheme and exactly `host`, the request's Host header.
bool is_cross_site(std::string_view sec_fetch_site, std::string_view origin, std::string_view host,
                   bool is_encrypted);

// Returns true if a browser asks for a page because its user follows a link or opens an address.
// Empty values mean that the headers are missing.
bool is_page_visit(std::string_view sec_fetch_mode, std::string_view sec_fetch_dest);

}  // namespace signalbox
