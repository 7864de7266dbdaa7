// Base64 (RFC 4648) and signed notes: known answers of the specification and of RFC 8032, and the
// inputs that are refused.
#include "store/signed_note.h"

#include <gtest/gtest.h>

#include "store/base64.h"

namespace signalbox {
namespace {

TEST(Base64, IsThatOfTheRfc) {
  const std::string text = "foobar";
  const char* const expected[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  for (std::size_t size = 0; size <= text.size(); ++size) {
    EXPECT_EQ(to_base64(text.substr(0, size)), expected[size]);
    EXPECT_EQ(from_base64(expected[size]), text.substr(0, size));
  }
}

TEST(Base64, EveryByteComesBack) {
  std::string bytes;
  for (int number = 0; number < 256; ++number) bytes.push_back(static_cast<char>(number));
  for (std::size_t from = 0; from < 4; ++from) {
    EXPECT_EQ(from_base64(to_base64(bytes.substr(from))), bytes.substr(from));
  }
}

TEST(Base64, OnlyTheOneTextOfSomeBytesIsTaken) {
  for (const char* wrong : {"Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Zm 9", "Zm9v\n", "=Zg=",
                            "Zg==Zg==", "Zm-v", "====", "    Zm9v", "Zm9v\n\n\n\n", "Zm9v----"}) {
    EXPECT_EQ(from_base64(wrong), std::nullopt) << wrong;
  }
}

// The seed and public key of RFC 8032, section 7.1, test 1.
constexpr const char* rfc_seed = "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
constexpr const char* rfc_public = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

NoteSigner rfc_signer() {
  // The key id is derived from the name and the public key.
  std::string key(1, '\1');
  key += *from_base64(rfc_seed);
  const auto signer = NoteSigner::parse("PRIVATE+KEY+example.com/box+56274ee3+" + to_base64(key));
  EXPECT_TRUE(signer);
  return *signer;
}

TEST(SignedNote, AKeyIsThatOfTheRfc) {  // R4
  const NoteSigner signer = rfc_signer();
  const auto& key = signer.verifier().public_key;
  EXPECT_EQ(to_base64({reinterpret_cast<const char*>(key.data()), key.size()}), rfc_public);
  EXPECT_EQ(parse_verifier(signer.verifier().text()), signer.verifier());
}

TEST(SignedNote, OpensWhatItSigned) {
  const NoteSigner signer = rfc_signer();
  const NoteSigner other = NoteSigner::generate("example.com/witness");
  const std::string text = "example.com/box\n\n42\n";
  const std::string note = sign_note(text, std::vector{other, signer});
  const auto opened = open_note(note, std::vector{signer.verifier()});
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->text, text);
  EXPECT_EQ(opened->signed_by, std::vector{signer.verifier()});
  EXPECT_EQ(open_note(note, std::vector{signer.verifier(), other.verifier()})->signed_by.size(),
            2U);
}

TEST(SignedNote, HasABoundedNumberOfSignatures) {  // P8
  const NoteSigner signer = rfc_signer();
  std::vector<NoteSigner> signers{signer};
  while (signers.size() < note_signatures_max) {
    signers.push_back(NoteSigner::generate("example.com/witness"));
  }
  const std::string text = "example.com/box\n42\n";
  EXPECT_TRUE(open_note(sign_note(text, signers), std::vector{signer.verifier()}));
  signers.push_back(NoteSigner::generate("example.com/another"));
  EXPECT_FALSE(open_note(sign_note(text, signers), std::vector{signer.verifier()}));
}

TEST(SignedNote, EveryOtherByteIsRefused) {  // R5
  const NoteSigner signer = rfc_signer();
  const std::string note = sign_note("example.com/box\n42\n", std::vector{signer});
  for (std::size_t at = 0; at < note.size(); ++at) {
    for (const int flip : {1, 0x20, 0x80}) {
      std::string changed = note;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      EXPECT_FALSE(open_note(changed, std::vector{signer.verifier()})) << at;
    }
    EXPECT_FALSE(open_note(note.substr(0, at), std::vector{signer.verifier()})) << at;
  }
}

TEST(SignedNote, AForeignKeyOfTheSameNameIsNone) {
  const std::string note = sign_note("a\n", std::vector{NoteSigner::generate("example.com/box")});
  const auto opened = open_note(note, std::vector{rfc_signer().verifier()});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("no key that is trusted"), std::string::npos);
}

TEST(SignedNote, KeysThatArentOursAreRefused) {
  const std::string good = rfc_signer().verifier().text();
  ASSERT_TRUE(parse_verifier(good));
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string changed = good;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(parse_verifier(changed)) << changed;
  }
  EXPECT_FALSE(NoteSigner::parse(good));
  EXPECT_FALSE(valid_note_name("two words"));
  EXPECT_FALSE(valid_note_name("a+b"));
  EXPECT_FALSE(valid_note_name(""));
}

}  // namespace
}  // namespace signalbox
