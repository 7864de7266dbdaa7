// What the configuration says about access, and what the server says about it when it starts.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "server/access/authentication.h"

namespace signalbox {

// Sets `loopback_role` (a role or none) or `socket_role` (a role). An error is a sentence.
tl::expected<void, std::string> set_access(std::string_view key, const std::string& value,
                                           Authentication::Settings& settings);

// An address that others than this machine can reach needs TLS, so that no secret is ever sent in
// the clear. `listen` may be empty, or no address at all: that is for the listener to judge.
tl::expected<void, std::string> require_protected(const std::string& listen,
                                                  const std::filesystem::path& tls_certificate,
                                                  const std::filesystem::path& tls_key);

// One sentence each, for the server's log.
std::string who_may_over_tcp(const Authentication& authentication, const AccessState& access);
std::string denial_text(const AccessDenied& denied);

}  // namespace signalbox
