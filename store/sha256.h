// SHA-256 (FIPS 180-4), optimized for many short messages.
//
// A record costs two or three digests of about a hundred bytes. They are most of an append's
// computation, so the overhead around the hashing matters.
#pragma once

#include <memory>
#include <string_view>

#include "domain/ids.h"

namespace signalbox {

// Used by one thread at a time.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  // Append to the current message.
  Sha256& update(std::string_view bytes);
  Sha256& update(const Digest& digest);

  // Returns the digest of all updates since the last finish(), and starts a new message.
  Digest finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// Returns the digest of one message. Allocates a context, so it is for rare use.
Digest sha256(std::string_view bytes);

}  // namespace signalbox
