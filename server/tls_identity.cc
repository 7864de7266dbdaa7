#include "server/tls_identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <openssl/ssl.h>
#include <boost/asio/buffer.hpp>

#include "domain/try.h"
#include "server/limits.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;

constexpr uid_t root_user = 0;

// A passphrase can't be asked for: nobody sits in front of a service.
int no_passphrase(char*, int, int, void*) { return -1; }

struct TlsFile {
  std::string text;
  mode_t mode = 0;
  uid_t owner = 0;
};

// Returns the file's content. O_NONBLOCK keeps a FIFO from holding up the caller.
tl::expected<TlsFile, std::string> read_tls_file(const char* setting,
                                                 const std::filesystem::path& path) {
  const auto fault = [&](const std::string& why) {
    return tl::unexpected(std::string(setting) + " " + path.string() + ": " + why);
  };
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat found {};
  if (!file || ::fstat(file.get(), &found) != 0) return fault(std::strerror(errno));
  if (!S_ISREG(found.st_mode)) return fault("it is no regular file");
  TlsFile read{{}, found.st_mode & 07777U, found.st_uid};
  std::array<char, 16 * 1024> buffer;
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fault(std::strerror(errno));
    if (got == 0) return read;
    read.text.append(buffer.data(), static_cast<std::size_t>(got));
    if (read.text.size() > tls_file_bytes_max) {
      return fault("it is larger than " + std::to_string(tls_file_bytes_max) + " bytes");
    }
  }
}

TlsContext new_tls_context() {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_default_passwd_cb(context->native_handle(), no_passphrase);
  return context;
}

bool is_encrypted_key(const std::string& pem) {
  return pem.find("BEGIN ENCRYPTED PRIVATE KEY") != std::string::npos ||
         pem.find("Proc-Type: 4,ENCRYPTED") != std::string::npos;
}

}  // namespace

std::optional<std::string> private_key_fault(const std::filesystem::path& file, mode_t mode,
                                             uid_t owner, uid_t own_uid) {
  const std::string path = file.string();
  if (owner != own_uid && owner != root_user) {
    return "tls_key " + path + " belongs to another user (uid " + std::to_string(owner) +
           "), who can read and replace it: chown " + std::to_string(own_uid) + " " + path;
  }
  const mode_t allowed = owner == root_user ? 0740 : 0700;
  if ((mode & 0777U & ~allowed) == 0) return std::nullopt;
  std::array<char, 8> digits{};
  std::snprintf(digits.data(), digits.size(), "%04o", static_cast<unsigned>(mode & 07777U));
  return "tls_key " + path + " is open to other users (mode " + digits.data() + "): chmod 600 " +
         path;
}

tl::expected<TlsIdentity, std::string> read_tls_identity(const std::filesystem::path& certificate,
                                                         const std::filesystem::path& key) {
  const TlsFile chain = TRY(read_tls_file("tls_certificate", certificate));
  const TlsFile secret = TRY(read_tls_file("tls_key", key));
  if (auto fault = private_key_fault(key, secret.mode, secret.owner, ::geteuid())) {
    return tl::unexpected(std::move(*fault));
  }
  TlsIdentity identity;
  auto read = read_certificate(chain.text, certificate);
  if (!read) return tl::unexpected("tls_certificate " + certificate.string() + ": " + read.error());
  identity.certificate = std::move(*read);
  identity.context = new_tls_context();
  boost::system::error_code error;
  identity.context->use_certificate_chain(asio::buffer(chain.text), error);
  if (error) {
    return tl::unexpected("tls_certificate " + certificate.string() + ": " + error.message());
  }
  if (is_encrypted_key(secret.text)) {
    return tl::unexpected("tls_key " + key.string() +
                          " needs a passphrase, which a service can't ask for; a key without one: "
                          "openssl pkey -in " +
                          key.string() + " -out plain.pem");
  }
  identity.context->use_private_key(asio::buffer(secret.text), asio::ssl::context::pem, error);
  if (error) return tl::unexpected("tls_key " + key.string() + ": " + error.message());
  if (SSL_CTX_check_private_key(identity.context->native_handle()) != 1) {
    return tl::unexpected("tls_key " + key.string() + " is not the key of the certificate " +
                          certificate.string());
  }
  return identity;
}

}  // namespace signalbox
