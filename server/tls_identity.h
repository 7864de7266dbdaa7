// The server's certificate and key, read from their files.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include <tl/expected.hpp>

#include "server/platform/certificate.h"
#include "server/transport/tls_relay.h"

namespace signalbox {

struct TlsIdentity {
  TlsContext context;
  Certificate certificate;
};

// Reads certificate and key from PEM files; the certificate's file may hold its chain. The key must
// pass private_key_fault(). The error is a sentence that names the file. Blocks on the files.
tl::expected<TlsIdentity, std::string> read_tls_identity(const std::filesystem::path& certificate,
                                                         const std::filesystem::path& key);

// Returns why a private key's file of this mode and owner is refused, and what to do; nullopt if it
// is accepted. It must belong to `own_uid`, with no rights for others, or to root, who may let a
// group read it.
std::optional<std::string> private_key_fault(const std::filesystem::path& file, mode_t mode,
                                             uid_t owner, uid_t own_uid);

}  // namespace signalbox
