// The text forms of ids and digests, and the names of streams.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "domain/event.h"
#include "domain/ids.h"

namespace signalbox {
namespace {

TEST(IdsTest, TheCanonicalFormIsTheOneOfTheRfc) {
  const std::string text = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
  const auto uuid = parse_uuid(text);
  ASSERT_TRUE(uuid.has_value());
  EXPECT_EQ(uuid->bytes[0], 0xf8);
  EXPECT_EQ(uuid->bytes[15], 0xf6);
  EXPECT_EQ(to_string(*uuid), text);
  EXPECT_EQ(parse_uuid("F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6"), uuid);
}

TEST(IdsTest, AnythingElseIsRefused) {
  for (const char* text :
       {"", "f81d4fae", "f81d4fae7dec11d0a76500a0c91e6bf6", "f81d4fae-7dec-11d0-a765-00a0c91e6bf",
        "f81d4fae-7dec-11d0-a765-00a0c91e6bf67", "{81d4fae-7dec-11d0-a765-00a0c91e6bf}",
        "g81d4fae-7dec-11d0-a765-00a0c91e6bf6", "f81d4fae-7dec-11d0-a765_00a0c91e6bf6",
        "f81d-4fae7dec-11d0-a765-00a0c91e6bf6", " f81d4fae-7dec-11d0-a765-00a0c91e6bf"}) {
    EXPECT_EQ(parse_uuid(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_digest(std::string(63, 'a')), std::nullopt);
  EXPECT_EQ(parse_digest(std::string(65, 'a')), std::nullopt);
  EXPECT_EQ(parse_digest(std::string(63, 'a') + "x"), std::nullopt);
  EXPECT_EQ(parse_digest("x" + std::string(63, 'a')), std::nullopt);
}

RC_GTEST_PROP(IdsTest, WhatIsPrintedIsParsed, ()) {
  Uuid uuid;
  for (auto& byte : uuid.bytes) byte = *rc::gen::arbitrary<std::uint8_t>();
  RC_ASSERT(parse_uuid(to_string(uuid)) == uuid);
  Digest digest;
  for (auto& byte : digest.bytes) byte = *rc::gen::arbitrary<std::uint8_t>();
  RC_ASSERT(parse_digest(to_hex(digest)) == digest);
}

TEST(IdsTest, StreamsHaveNames) {
  EXPECT_EQ(to_string(Stream::server()), "server");
  EXPECT_EQ(to_string(Stream::run(*parse_uuid("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"))),
            "run/f81d4fae-7dec-11d0-a765-00a0c91e6bf6");
}

TEST(IdsTest, NilAndZeroAreNone) {
  EXPECT_TRUE(Uuid{}.is_nil());
  EXPECT_TRUE(Digest{}.is_zero());
  EXPECT_FALSE(parse_uuid("00000000-0000-0000-0000-000000000001")->is_nil());
}

}  // namespace
}  // namespace signalbox
