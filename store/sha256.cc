#include "store/sha256.h"

#include <openssl/evp.h>

#include "domain/check.h"

namespace signalbox {

// OpenSSL fails here only when memory or its provider is missing: nothing can be hashed then, and
// nothing may be written unhashed.
struct Sha256::Context {
  Context() {
    SIGNALBOX_CHECK(algorithm != nullptr && context != nullptr);
    begin();
  }
  ~Context() {
    EVP_MD_CTX_free(context);
    EVP_MD_free(algorithm);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  void begin() { SIGNALBOX_CHECK(EVP_DigestInit_ex2(context, algorithm, nullptr) == 1); }

  EVP_MD* algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  EVP_MD_CTX* context = EVP_MD_CTX_new();
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

Sha256& Sha256::update(std::string_view bytes) {
  SIGNALBOX_CHECK(EVP_DigestUpdate(context_->context, bytes.data(), bytes.size()) == 1);
  return *this;
}

Sha256& Sha256::update(const Digest& digest) {
  SIGNALBOX_CHECK(EVP_DigestUpdate(context_->context, digest.bytes.data(), digest.bytes.size()) ==
                  1);
  return *this;
}

Digest Sha256::finish() {
  Digest digest;
  SIGNALBOX_CHECK(EVP_DigestFinal_ex(context_->context, digest.bytes.data(), nullptr) == 1);
  context_->begin();
  return digest;
}

Digest sha256(std::string_view bytes) { return Sha256().update(bytes).finish(); }

}  // namespace signalbox
