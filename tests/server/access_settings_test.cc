// Tests the configuration of access: its settings, and which addresses are refused without TLS.
#include "server/access/access_settings.h"

#include <gtest/gtest.h>

namespace signalbox {
namespace {

TEST(AccessSettings, WhatIsListenedAtIsAnAddressWithAPort) {
  for (const char* listen : {"", "127.0.0.1:7070", "0.0.0.0:0", "[::1]:7070", "[::]:65535"}) {
    EXPECT_TRUE(require_address(listen).has_value()) << listen;
  }
  for (const char* listen : {"7070", ":7070", "localhost:7070", "127.0.0.1", "127.0.0.1:",
                             "127.0.0.1:65536", "127.0.0.1:7070x", "127.0.0.1:-1", "[::1]"}) {
    const auto refused = require_address(listen);
    ASSERT_FALSE(refused.has_value()) << listen;
    EXPECT_EQ(
        refused.error(),
        std::string("listen is an address and a port, such as 127.0.0.1:7070; not ") + listen);
  }
}

TEST(AccessSettings, AnAddressOthersCanReachNeedsTls) {
  for (const char* listen : {"", "127.0.0.1:7070", "127.9.9.9:1", "[::1]:7070", "nonsense"}) {
    EXPECT_TRUE(require_protected(listen, {}, {}).has_value()) << listen;
  }
  for (const char* listen : {"0.0.0.0:7070", "192.0.2.7:7070", "[::]:7070", "[2001:db8::1]:7070",
                             "[::ffff:192.0.2.7]:7070"}) {
    const auto refused = require_protected(listen, {}, {});
    ASSERT_FALSE(refused.has_value()) << listen;
    EXPECT_NE(refused.error().find("tls_certificate"), std::string::npos) << refused.error();
    EXPECT_TRUE(require_protected(listen, "server.pem", "server.key").has_value()) << listen;
  }
}

TEST(AccessSettings, ACertificateGoesWithItsKey) {
  EXPECT_FALSE(require_protected("", "server.pem", {}).has_value());
  EXPECT_FALSE(require_protected("127.0.0.1:7070", {}, "server.key").has_value());
}

TEST(AccessSettings, RolesAreReadByName) {
  Authentication::Settings settings;
  EXPECT_TRUE(set_access("loopback_role", "operator", settings).has_value());
  EXPECT_EQ(settings.loopback_role, std::optional(Role::operator_));
  EXPECT_TRUE(set_access("loopback_role", "none", settings).has_value());
  EXPECT_FALSE(settings.loopback_role.has_value());
  EXPECT_TRUE(set_access("socket_role", "worker", settings).has_value());
  EXPECT_EQ(settings.other_user_role, Role::worker);
  EXPECT_FALSE(set_access("socket_role", "none", settings).has_value());
  EXPECT_FALSE(set_access("loopback_role", "operator_", settings).has_value());
  EXPECT_FALSE(set_access("loopback_role", "root", settings).has_value());
}

}  // namespace
}  // namespace signalbox
