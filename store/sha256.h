// SHA-256 (FIPS 180-4) of many short messages.
//
// A record costs two or three digests of about a hundred bytes, and they are most of what an append
// computes; so what surrounds the hashing itself counts.
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
