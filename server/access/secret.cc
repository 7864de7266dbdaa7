#include "server/access/secret.h"

#include <span>

#include "store/sha256.h"

namespace signalbox {

std::string make_secret(const RandomSource& random) {
  Digest bits;
  random(std::as_writable_bytes(std::span(bits.bytes)));
  return "sbx_" + to_hex(bits);
}

Digest digest_of_secret(std::string_view secret) { return sha256(secret); }

}  // namespace signalbox
