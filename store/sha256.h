// SHA-256 (FIPS 180-4), many times over with one context.
//
// OpenSSL 3 looks its provider up at every one-shot call, which costs more than a short hash
// itself; so whoever hashes a lot keeps one of these.
#pragma once

#include <memory>
#include <string_view>

#include "domain/ids.h"

namespace signalbox {

// One thread at a time.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  Sha256& update(std::string_view bytes);
  Sha256& update(const Digest& digest);

  // The digest of all updates since the last finish(); what follows is a new message.
  Digest finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// For rare use.
Digest sha256(std::string_view bytes);

}  // namespace signalbox
