#include "store/random_source.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "domain/check.h"

namespace signalbox {
namespace {

// Draws blocks, because 16 bytes cost OpenSSL about as much as 4096.
class SecureBlocks {
 public:
  void fill(std::span<std::byte> out) {
    while (!out.empty()) {
      if (used_ == block_.size()) refill();
      const std::size_t count = std::min(out.size(), block_.size() - used_);
      std::copy_n(block_.begin() + static_cast<std::ptrdiff_t>(used_), count, out.begin());
      // Bytes already handed out must not be readable from this process's memory later.
      OPENSSL_cleanse(block_.data() + used_, count);
      used_ += count;
      out = out.subspan(count);
    }
  }

 private:
  void refill() {
    SIGNALBOX_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(block_.data()),
                               static_cast<int>(block_.size())) == 1);
    used_ = 0;
  }

  std::array<std::byte, 4096> block_{};
  std::size_t used_ = block_.size();
};

}  // namespace

RandomSource secure_random() {
  return [blocks = SecureBlocks()](std::span<std::byte> out) mutable { blocks.fill(out); };
}

}  // namespace signalbox
