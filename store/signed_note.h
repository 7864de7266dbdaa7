// Signed notes (c2sp.org/signed-note) with Ed25519 keys: a text for people, followed by the
// signatures of those who vouch for it.
//
// Keys are texts, too: `NAME+ID+KEY` for a verifier, `PRIVATE+KEY+NAME+ID+KEY` for a signer. The id
// is hexadecimal; the key is base64, preceded by a byte for Ed25519.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/store_error.h"

namespace signalbox {

inline constexpr std::size_t ed25519_key_bytes = 32;
inline constexpr std::size_t ed25519_signature_bytes = 64;
// A note with more signatures is rejected.
inline constexpr std::size_t note_signatures_max = 64;

using Ed25519Key = std::array<unsigned char, ed25519_key_bytes>;

// A public key.
struct NoteVerifier {
  std::string name;
  std::uint32_t id = 0;
  Ed25519Key public_key{};

  // Returns `NAME+ID+KEY`.
  [[nodiscard]] std::string text() const;
  // Returns `NAME+ID`, which identifies the key for people.
  [[nodiscard]] std::string label() const;
  friend bool operator==(const NoteVerifier&, const NoteVerifier&) = default;
};

// Parses `NAME+ID+KEY`. Returns nullopt unless it is an Ed25519 key whose id belongs to its name
// and bytes.
std::optional<NoteVerifier> parse_verifier(std::string_view text);

// Returns whether `name` may name a log: letters, digits and `-._~/:@%`, so that it can appear in a
// note, in a key and as a URI reference.
bool valid_note_name(std::string_view name);

// A private key. The destructor wipes its bytes from memory.
class NoteSigner {
 public:
  // Generates a key with the system's cryptographic generator. `name` must be valid_note_name().
  static NoteSigner generate(std::string name);
  // Parses `PRIVATE+KEY+NAME+ID+KEY`; returns nullopt unless it is an Ed25519 key with the right
  // id.
  static std::optional<NoteSigner> parse(std::string_view text);

  NoteSigner(const NoteSigner&) = default;
  NoteSigner& operator=(const NoteSigner&) = default;
  NoteSigner(NoteSigner&&) = default;
  NoteSigner& operator=(NoteSigner&&) = default;
  ~NoteSigner();

  [[nodiscard]] const NoteVerifier& verifier() const { return verifier_; }
  // Returns `PRIVATE+KEY+NAME+ID+KEY`.
  [[nodiscard]] std::string private_text() const;
  // Returns the signature line of a note over `text`, which must end with a newline.
  [[nodiscard]] std::string signature_line(std::string_view text) const;

 private:
  NoteSigner() = default;

  NoteVerifier verifier_;
  Ed25519Key seed_{};
};

// Returns the whole note: `text`, an empty line, and a signature line of each signer.
std::string sign_note(std::string_view text, std::span<const NoteSigner> signers);

// The text of a note and the trusted keys that signed it.
struct OpenedNote {
  std::string text;                     // including its last newline
  std::vector<NoteVerifier> signed_by;  // at least one; each of them is trusted
};

// Parses and verifies a note. Fails with `damaged` unless at least one of `trusted` signed it and
// none of their signatures is wrong. If no trusted key signed it, the message lists the keys that
// did.
Stored<OpenedNote> open_note(std::string_view note, std::span<const NoteVerifier> trusted);

}  // namespace signalbox
