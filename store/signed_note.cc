#include "store/signed_note.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>

#include "domain/check.h"
#include "domain/limits.h"
#include "store/base64.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

constexpr char note_ed25519 = 1;  // the signed-note specification's signature type for Ed25519
constexpr std::string_view private_prefix = "PRIVATE+KEY+";
constexpr std::string_view signature_prefix = "\xe2\x80\x94 ";  // an em dash
constexpr std::size_t key_id_digits = 8;
constexpr std::size_t key_id_bytes = 4;

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using OpenSslKey = std::unique_ptr<EVP_PKEY, FreeKey>;
struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using OpenSslDigest = std::unique_ptr<EVP_MD_CTX, FreeDigest>;

std::string_view key_view(const Ed25519Key& key) {
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

std::uint32_t id_of_key(std::string_view name, const Ed25519Key& public_key) {
  std::string bytes(name);
  bytes += '\n';
  bytes += note_ed25519;
  bytes += key_view(public_key);
  const Digest digest = sha256(bytes);
  std::uint32_t id = 0;
  for (std::size_t index = 0; index < key_id_bytes; ++index) id = id << 8 | digest.bytes[index];
  return id;
}

Ed25519Key public_key_of(const Ed25519Key& seed) {
  const OpenSslKey key(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()));
  SIGNALBOX_CHECK(key != nullptr);
  Ed25519Key public_key{};
  std::size_t size = public_key.size();
  SIGNALBOX_CHECK(EVP_PKEY_get_raw_public_key(key.get(), public_key.data(), &size) == 1);
  return public_key;
}

// Returns `NAME+ID`.
std::string key_label(std::string_view name, std::uint32_t id) {
  std::array<char, key_id_digits + 1> digits{};
  std::snprintf(digits.data(), digits.size(), "%08x", id);
  return std::string(name) + "+" + digits.data();
}

std::string key_text(std::string_view prefix, const NoteVerifier& verifier, const Ed25519Key& key) {
  std::string text(prefix);
  text += verifier.label() + "+";
  std::string bytes(1, note_ed25519);
  bytes += key_view(key);
  append_base64(text, bytes);
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return text;
}

struct KeyText {
  std::string name;
  std::uint32_t id = 0;
  Ed25519Key key{};
};

// Parses NAME+ID+KEY; only the last part may contain a plus sign.
std::optional<KeyText> parse_key_text(std::string_view text) {
  const std::size_t name_end = text.find('+');
  if (name_end == std::string_view::npos) return std::nullopt;
  KeyText parsed;
  parsed.name = text.substr(0, name_end);
  text.remove_prefix(name_end + 1);
  if (!valid_note_name(parsed.name) || text.size() < key_id_digits + 1 ||
      text[key_id_digits] != '+') {
    return std::nullopt;
  }
  const char* const id_end = text.data() + key_id_digits;
  const auto [end, failure] = std::from_chars(text.data(), id_end, parsed.id, 16);
  if (failure != std::errc{} || end != id_end) return std::nullopt;
  auto bytes = from_base64(text.substr(key_id_digits + 1));
  if (!bytes || bytes->size() != 1 + ed25519_key_bytes || bytes->front() != note_ed25519) {
    return std::nullopt;
  }
  std::copy(bytes->begin() + 1, bytes->end(), parsed.key.begin());
  OPENSSL_cleanse(bytes->data(), bytes->size());
  return parsed;
}

bool signature_holds(const Ed25519Key& public_key, std::string_view text,
                     std::string_view signature) {
  const OpenSslKey key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, public_key.data(), public_key.size()));
  const OpenSslDigest context(EVP_MD_CTX_new());
  if (key == nullptr || context == nullptr || signature.size() != ed25519_signature_bytes) {
    return false;
  }
  return EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                          signature.size(), reinterpret_cast<const unsigned char*>(text.data()),
                          text.size()) == 1;
}

tl::unexpected<StoreError> bad_note(std::string message) {
  return store_failure(StoreError::Kind::damaged, std::move(message));
}

struct NoteSignature {
  std::string_view name;
  std::uint32_t id = 0;
  std::string signature;
};

std::optional<NoteSignature> parse_signature_line(std::string_view line) {
  if (!line.starts_with(signature_prefix)) return std::nullopt;
  line.remove_prefix(signature_prefix.size());
  const std::size_t name_end = line.find(' ');
  if (name_end == 0 || name_end == std::string_view::npos) return std::nullopt;
  auto bytes = from_base64(line.substr(name_end + 1));
  if (!bytes || bytes->size() <= key_id_bytes) return std::nullopt;
  NoteSignature parsed;
  parsed.name = line.substr(0, name_end);
  for (std::size_t index = 0; index < key_id_bytes; ++index) {
    parsed.id = parsed.id << 8 | static_cast<unsigned char>((*bytes)[index]);
  }
  parsed.signature = bytes->substr(key_id_bytes);
  return parsed;
}

}  // namespace

std::string NoteVerifier::text() const { return key_text({}, *this, public_key); }
std::string NoteVerifier::label() const { return key_label(name, id); }

bool valid_note_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._~/:@%").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= limits::name_bytes_max &&
         std::all_of(name.begin(), name.end(), allowed);
}

std::optional<NoteVerifier> parse_verifier(std::string_view text) {
  auto parsed = parse_key_text(text);
  if (!parsed || id_of_key(parsed->name, parsed->key) != parsed->id) return std::nullopt;
  return NoteVerifier{std::move(parsed->name), parsed->id, parsed->key};
}

NoteSigner NoteSigner::generate(std::string name) {
  SIGNALBOX_CHECK(valid_note_name(name));
  NoteSigner signer;
  SIGNALBOX_CHECK(RAND_priv_bytes(signer.seed_.data(), static_cast<int>(signer.seed_.size())) == 1);
  signer.verifier_.public_key = public_key_of(signer.seed_);
  signer.verifier_.id = id_of_key(name, signer.verifier_.public_key);
  signer.verifier_.name = std::move(name);
  return signer;
}

std::optional<NoteSigner> NoteSigner::parse(std::string_view text) {
  if (!text.starts_with(private_prefix)) return std::nullopt;
  auto parsed = parse_key_text(text.substr(private_prefix.size()));
  if (!parsed) return std::nullopt;
  NoteSigner signer;
  signer.seed_ = parsed->key;
  OPENSSL_cleanse(parsed->key.data(), parsed->key.size());
  signer.verifier_ = {std::move(parsed->name), parsed->id, public_key_of(signer.seed_)};
  const NoteVerifier& verifier = signer.verifier_;
  if (id_of_key(verifier.name, verifier.public_key) != verifier.id) return std::nullopt;
  return signer;
}

NoteSigner::~NoteSigner() { OPENSSL_cleanse(seed_.data(), seed_.size()); }

std::string NoteSigner::private_text() const { return key_text(private_prefix, verifier_, seed_); }

std::string NoteSigner::signature_line(std::string_view text) const {
  const OpenSslKey key(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed_.data(), seed_.size()));
  const OpenSslDigest context(EVP_MD_CTX_new());
  SIGNALBOX_CHECK(key != nullptr && context != nullptr);
  SIGNALBOX_CHECK(EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1);
  std::array<unsigned char, ed25519_signature_bytes> signature{};
  std::size_t size = signature.size();
  SIGNALBOX_CHECK(EVP_DigestSign(context.get(), signature.data(), &size,
                                 reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size()) == 1);
  std::string bytes;
  for (std::size_t shift = 8 * key_id_bytes; shift > 0; shift -= 8) {
    bytes.push_back(static_cast<char>(verifier_.id >> (shift - 8)));
  }
  bytes.append(reinterpret_cast<const char*>(signature.data()), size);
  return std::string(signature_prefix) + verifier_.name + " " + to_base64(bytes) + "\n";
}

std::string sign_note(std::string_view text, std::span<const NoteSigner> signers) {
  SIGNALBOX_CHECK(text.ends_with('\n'));
  std::string note = std::string(text) + "\n";
  for (const NoteSigner& signer : signers) note += signer.signature_line(text);
  return note;
}

Stored<OpenedNote> open_note(std::string_view note, std::span<const NoteVerifier> trusted) {
  const std::size_t text_end = note.rfind("\n\n");
  if (text_end == std::string_view::npos || !note.ends_with('\n')) {
    return bad_note("it isn't a signed note");
  }
  OpenedNote opened;
  opened.text = note.substr(0, text_end + 1);
  std::string_view lines = note.substr(text_end + 2);
  std::string unknown_keys;
  for (std::size_t count = 0; !lines.empty(); ++count) {
    const std::size_t end = lines.find('\n');
    const auto signature = parse_signature_line(lines.substr(0, end));
    if (!signature || count >= note_signatures_max) {
      return bad_note("a line under its text isn't a signature");
    }
    lines.remove_prefix(end + 1);
    const auto key = std::find_if(trusted.begin(), trusted.end(), [&](const NoteVerifier& each) {
      return each.name == signature->name && each.id == signature->id;
    });
    if (key == trusted.end()) {
      unknown_keys +=
          (unknown_keys.empty() ? "" : ", ") + key_label(signature->name, signature->id);
      continue;
    }
    if (!signature_holds(key->public_key, opened.text, signature->signature)) {
      return bad_note("the signature of " + key->name + " isn't one of this text");
    }
    opened.signed_by.push_back(*key);
  }
  if (opened.signed_by.empty()) {
    return bad_note(unknown_keys.empty()
                        ? "it has no signature"
                        : "no key that is trusted signed it; others did: " + unknown_keys);
  }
  return opened;
}

}  // namespace signalbox
