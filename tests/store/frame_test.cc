// The record frame: round trips, its bytes, the detection of damage, and the Merkle leaf.
#include "store/frame.h"

#include <gtest/gtest.h>

#include "domain/limits.h"
#include "store/crc32c.h"
#include "tests/store/decoded_record.h"
#include "tests/store/hexadecimal.h"
#include "tests/store/sample_events.h"

namespace signalbox::test {
namespace {

Salt salt_of(int value) {
  Salt salt;
  salt.fill(static_cast<std::byte>(value));
  return salt;
}

std::string framed(const Record& record) {
  std::string bytes;
  encode_record(record, salt_of(9), bytes);
  return bytes;
}

Record smallest_record() {
  Record record;
  record.position = 1;
  record.event = RunEvent(RunSucceeded{});
  return record;
}

// Returns changed bytes with the right checksum, so that the checks behind the checksum are tested.
std::string resealed(std::string bytes) {
  const std::uint32_t crc = crc32c(std::string_view(bytes).substr(4));
  bytes.replace(0, 4, reinterpret_cast<const char*>(&crc), 4);
  return bytes;
}

StoreError::Kind failure_of(std::string_view bytes) {
  std::size_t consumed = 0;
  const auto record = decode_record(bytes, consumed);
  EXPECT_FALSE(record);
  return record ? StoreError::Kind::not_found : record.error().kind;
}

TEST(Crc32c, IsTheCastagnoliChecksum) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);  // the standard check value of CRC-32C
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(Frame, GivesEveryRecordBack) {
  Position position = 1;
  for (const Event& event : sample_events()) {
    const Record record = sample_record(position++, event);
    const std::string bytes = framed(record) + "what follows";
    std::size_t consumed = 0;
    const auto decoded = decode_record(bytes, consumed);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(*decoded, record);
    EXPECT_EQ(consumed, bytes.size() - std::string("what follows").size());
  }
}

TEST(Frame, LeavesOutWhatIsAbsent) {
  const Record record = smallest_record();
  // 31 bytes of header, the salt, and a payload that consists of its byte order only.
  EXPECT_EQ(framed(record).size(), 31U + 16U + 1U);
  std::size_t consumed = 0;
  EXPECT_EQ(*decode_record(framed(record), consumed), record);
}

TEST(Frame, KeepsItsBytesForEver) {
  EXPECT_EQ(to_hexadecimal(framed(smallest_record())),
            "8047c7b330000000010001ca000100010000000000000000000000000000"
            "000909090909090909090909090909090901");
  Record record = sample_record(258, RunEvent(RunCanceled{"why"}));
  record.stream.name = "name";
  EXPECT_EQ(
      to_hexadecimal(framed(record)),
      "41ee1aae9c000000017f02cd000100020100000000000002012a36fe9c97170f0f0f0f0f0f0f0f0f0f0f0f0f0f"
      "0f0f04006e616d6508007569643a313030300b00636f6d6d616e642032353805050505050505050505050505050"
      "5050505050505050505050505050505050582000000000000000707070707070707070707070707070709090909"
      "0909090909090909090909090103000000776879");
}

TEST(Frame, FindsEveryFlippedBit) {
  const std::string bytes = framed(sample_record(7, RunEvent(RunCanceled{"why"})));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      EXPECT_EQ(failure_of(changed), StoreError::Kind::damaged) << "byte " << i << " bit " << bit;
    }
  }
}

TEST(Frame, FindsEveryCut) {
  const std::string bytes = framed(sample_record(7, RunEvent(RunCanceled{"why"})));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(failure_of(bytes.substr(0, size)), StoreError::Kind::damaged) << size;
  }
}

TEST(Frame, TakesANewerFormatForNewer) {
  std::string bytes = framed(smallest_record());
  bytes[8] = 2;
  EXPECT_EQ(failure_of(resealed(bytes)), StoreError::Kind::unsupported);
  bytes[8] = 0;
  EXPECT_EQ(failure_of(resealed(bytes)), StoreError::Kind::damaged);
}

TEST(Frame, TakesANewerKindOfStreamForNewer) {
  std::string bytes = framed(smallest_record());
  bytes[10] = 99;
  EXPECT_EQ(failure_of(resealed(bytes)), StoreError::Kind::unsupported);
}

TEST(Frame, NeverReadsPastItsEnd) {
  const std::string bytes = framed(sample_record(7, RunEvent(RunCanceled{"why"})));
  for (std::size_t i = 9; i < bytes.size(); ++i) {
    for (const int value : {0x00, 0x7f, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(value);
      std::size_t consumed = 0;
      const auto record = decode_record(resealed(changed), consumed);  // any result, no overrun
      if (!record) continue;
      EXPECT_EQ(consumed, bytes.size());
    }
  }
}

TEST(Frame, RefusesALengthPastTheLimit) {
  std::string bytes = framed(smallest_record());
  bytes.resize(limits::record_bytes_max + 1);
  const auto length = static_cast<std::uint32_t>(bytes.size());
  bytes.replace(4, 4, reinterpret_cast<const char*>(&length), 4);
  EXPECT_EQ(failure_of(resealed(bytes)), StoreError::Kind::damaged);
}

TEST(Frame, TellsTheSameFromBytesAsFromTheRecord) {
  std::string bytes;
  const Frame encoded = encode_record(sample_record(7, RunEvent(RunFailed{})), salt_of(1), bytes);
  const auto parsed = parse_frame(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->bytes, encoded.bytes);
  EXPECT_EQ(parsed->header, encoded.header);
  EXPECT_EQ(parsed->salted_payload, encoded.salted_payload);
  EXPECT_EQ(parsed->position, 7U);
}

// The expected leaf is computed from the definition; of the code under test it uses only the
// digest.
TEST(Frame, BindsHeaderSaltAndPayloadInItsLeaf) {
  std::string bytes;
  const Record record = sample_record(7, RunEvent(RunCanceled{"why"}));
  const Frame frame = encode_record(record, salt_of(1), bytes);
  const Digest payload = sha256(frame.salted_payload);
  std::string leaf(1, '\0');
  leaf += frame.header;
  leaf.append(reinterpret_cast<const char*>(payload.bytes.data()), payload.bytes.size());
  Sha256 hasher;
  EXPECT_EQ(leaf_hash(frame, hasher), sha256(leaf));

  std::string salted_otherwise;
  EXPECT_NE(leaf_hash(encode_record(record, salt_of(2), salted_otherwise), hasher), sha256(leaf));
  Record other = record;
  other.actor = "uid:1001";
  std::string of_other;
  EXPECT_NE(leaf_hash(encode_record(other, salt_of(1), of_other), hasher), sha256(leaf));
}

TEST(FrameDeathTest, IsNeverLongerThanTheLimit) {
  RunStarted started;
  const std::size_t other_bytes = framed(sample_record(1, RunEvent(started))).size();
  started.input = std::string(limits::record_bytes_max - other_bytes, 'x');
  const Record record = sample_record(1, RunEvent(started));
  const std::string bytes = framed(record);
  EXPECT_EQ(bytes.size(), limits::record_bytes_max);
  std::size_t consumed = 0;
  const auto decoded = decode_record(bytes, consumed);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, record);
  started.input += "x";
  EXPECT_DEATH(framed(sample_record(1, RunEvent(started))), "record_bytes_max");
}

}  // namespace
}  // namespace signalbox::test
