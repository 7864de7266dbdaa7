// Signed notes (c2sp.org/signed-note) and their Ed25519 keys: text for people with lines beneath it
// that say who vouches for it.
//
// Keys are texts, too: `NAME+ID+KEY` for a verifier, `PRIVATE+KEY+NAME+ID+KEY` for a signer, with
// the id in hexadecimal and the key, behind a byte that says Ed25519, in base64.
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
// A note with more signatures isn't looked at.
inline constexpr std::size_t note_signatures_max = 64;

using Ed25519Key = std::array<unsigned char, ed25519_key_bytes>;

struct NoteVerifier {
  std::string name;
  std::uint32_t id = 0;
  Ed25519Key public_key{};

  // `NAME+ID+KEY`.
  [[nodiscard]] std::string text() const;
  // `NAME+ID`: which it is, for people.
  [[nodiscard]] std::string label() const;
  friend bool operator==(const NoteVerifier&, const NoteVerifier&) = default;
};

// Nothing unless it is a key of ours: Ed25519, with the id that belongs to its name and bytes.
std::optional<NoteVerifier> parse_verifier(std::string_view text);

// Whether a log may be called so: letters, digits and `-._~/:@%`, so that it can stand in a note,
// in a key and as a URI reference.
bool valid_note_name(std::string_view name);

// A private key. Its bytes are wiped when it goes.
class NoteSigner {
 public:
  // From the system's cryptographic generator. `name` is valid_note_name().
  static NoteSigner generate(std::string name);
  // `PRIVATE+KEY+…`; nothing unless it is a key of ours.
  static std::optional<NoteSigner> parse(std::string_view text);

  NoteSigner(const NoteSigner&) = default;
  NoteSigner& operator=(const NoteSigner&) = default;
  NoteSigner(NoteSigner&&) = default;
  NoteSigner& operator=(NoteSigner&&) = default;
  ~NoteSigner();

  [[nodiscard]] const NoteVerifier& verifier() const { return verifier_; }
  [[nodiscard]] std::string private_text() const;
  // One line of a note over `text`, which ends with a newline.
  [[nodiscard]] std::string signature_line(std::string_view text) const;

 private:
  NoteSigner() = default;

  NoteVerifier verifier_;
  Ed25519Key seed_{};
};

// The whole note: `text`, an empty line, a signature of each.
std::string sign_note(std::string_view text, std::span<const NoteSigner> signers);

// What a note says and which of the trusted keys signed it.
struct OpenedNote {
  std::string text;                     // with its last newline
  std::vector<NoteVerifier> signed_by;  // at least one, each of them trusted
};

// `damaged` unless at least one of `trusted` signed it and no signature of theirs is wrong; whose
// signatures there are is said then.
Stored<OpenedNote> open_note(std::string_view note, std::span<const NoteVerifier> trusted);

}  // namespace signalbox
