// The codec of event payloads: round trips, the byte layout, and the rejection of other bytes.
#include "store/codec.h"

#include <gtest/gtest.h>

#include <sstream>

#include <cereal/archives/portable_binary.hpp>

#include "tests/store/sample_events.h"

namespace signalbox::test {
namespace {

std::string payload_of(const Event& event) {
  std::string bytes;
  encode_payload(event, bytes);
  return bytes;
}

TEST(Codec, GivesEveryEventBack) {
  for (const Event& event : sample_events()) {
    const EventTag tag = tag_of(event);
    const auto decoded = decode_payload(tag.number, tag.version, payload_of(event));
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(*decoded, event) << tag.name;
  }
}

TEST(Codec, KnowsEveryEventOfTheVariants) {
  const std::vector<Event> events = sample_events();
  ASSERT_EQ(event_tags().size(), events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(event_tags()[i].number, tag_of(events[i]).number);
    EXPECT_EQ(event_tags()[i].name, tag_of(events[i]).name);
  }
}

TEST(Codec, AppendsToWhatIsThere) {
  std::string bytes = "before";
  encode_payload(RunEvent(RunCanceled{"why"}), bytes);
  EXPECT_EQ(bytes.substr(6), payload_of(RunEvent(RunCanceled{"why"})));
}

TEST(Codec, LaysIntegersOutLittleEndianAndTextsBehindTheirLengths) {
  const std::string bytes = payload_of(StationEvent(StationHeartbeat{"ab", 0x0102, ""}));
  EXPECT_EQ(bytes, std::string("\x01"
                               "\x02\0\0\0ab"
                               "\x02\x01\0\0\0\0\0\0"
                               "\0\0\0\0",
                               19));
}

TEST(Codec, WritesWhatCerealsOwnPortableArchiveReads) {
  std::istringstream bytes(payload_of(StationEvent(StationHeartbeat{"ab", 0x0102, "c"})));
  cereal::PortableBinaryInputArchive archive(bytes);
  const auto read_text = [&archive] {
    std::uint32_t size = 0;
    archive(size);
    std::string text(size, '\0');
    archive(cereal::binary_data(text.data(), text.size()));
    return text;
  };
  EXPECT_EQ(read_text(), "ab");
  std::int64_t lease_ms = 0;
  archive(lease_ms);
  EXPECT_EQ(lease_ms, 0x0102);
  EXPECT_EQ(read_text(), "c");
  EXPECT_EQ(bytes.peek(), std::istringstream::traits_type::eof());
}

TEST(Codec, TakesAnotherByteOrderForDamage) {
  for (const char order : {'\0', '\2', '\xff'}) {
    std::string bytes = payload_of(RunEvent(RunSucceeded{}));
    bytes[0] = order;
    const auto decoded = decode_payload(RunSucceeded::tag.number, 1, bytes);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().kind, StoreError::Kind::damaged);
  }
}

TEST(Codec, TakesUnknownNumbersAndVersionsForNewer) {
  const std::string bytes = payload_of(RunEvent(RunSucceeded{}));
  for (const std::uint16_t number : std::initializer_list<std::uint16_t>{0, 1, 999, 65535}) {
    const auto decoded = decode_payload(number, 1, bytes);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().kind, StoreError::Kind::unsupported);
  }
  for (const EventTag& tag : event_tags()) {
    const auto newer = static_cast<std::uint16_t>(tag.version + 1);
    for (const std::uint16_t version : {std::uint16_t{0}, newer}) {
      const auto decoded = decode_payload(tag.number, version, bytes);
      ASSERT_FALSE(decoded);
      EXPECT_EQ(decoded.error().kind, StoreError::Kind::unsupported);
    }
  }
}

TEST(Codec, TakesMissingAndTrailingBytesForDamage) {
  for (const Event& event : sample_events()) {
    const EventTag tag = tag_of(event);
    const std::string bytes = payload_of(event);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto decoded = decode_payload(tag.number, tag.version, bytes.substr(0, size));
      ASSERT_FALSE(decoded) << tag.name << " of " << size << " bytes";
      EXPECT_EQ(decoded.error().kind, StoreError::Kind::damaged);
    }
    EXPECT_FALSE(decode_payload(tag.number, tag.version, bytes + '\0')) << tag.name;
  }
}

// A changed byte may give another event, since detecting it is the checksums' task. It must never
// cause a crash, or a value that doesn't encode to the same bytes again.
TEST(Codec, SurvivesAnyChangedByte) {
  for (const Event& event : sample_events()) {
    const EventTag tag = tag_of(event);
    const std::string bytes = payload_of(event);
    for (std::size_t i = 1; i < bytes.size(); ++i) {
      for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
        std::string changed = bytes;
        changed[i] = static_cast<char>(value);
        const auto decoded = decode_payload(tag.number, tag.version, changed);
        if (!decoded) continue;
        EXPECT_EQ(payload_of(*decoded), changed) << tag.name << " byte " << i;
      }
    }
  }
}

TEST(Codec, RefusesEnumeratorsThatDoNotExist) {
  StationClaimed claimed;
  std::string bytes = payload_of(StationEvent(claimed));
  const std::size_t strategy = 1 + 4 + 4;  // byte order, empty station, attempt
  ASSERT_EQ(bytes[strategy], static_cast<char>(Strategy::original));
  bytes[strategy] = 77;
  const auto decoded = decode_payload(StationClaimed::tag.number, 1, bytes);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().kind, StoreError::Kind::damaged);
}

TEST(Codec, TellsPipelinesApart) {
  const PipelineDefinition pipeline = default_pipeline();
  EXPECT_EQ(pipeline_digest(pipeline), pipeline_digest(default_pipeline()));
  PipelineDefinition changed = pipeline;
  changed.stations.back().retry.backoff_ms += 1;
  EXPECT_NE(pipeline_digest(pipeline), pipeline_digest(changed));
}

}  // namespace
}  // namespace signalbox::test
