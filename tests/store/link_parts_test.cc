// The bytes of a link of a shared log: the entries of commits, and what replaces an erased payload.
#include <gtest/gtest.h>

#include "store/shared_log.h"

namespace signalbox {
namespace {

TEST(LinkParts, AreTakenApartAgain) {
  const std::vector<std::string> entries = {"one", "", std::string(300, '\0')};
  std::string bytes;
  for (const std::string& entry : entries) append_link_entry(entry, bytes);
  const auto apart = link_parts(bytes);
  ASSERT_TRUE(apart);
  EXPECT_EQ(std::vector<std::string>(apart->entries.begin(), apart->entries.end()), entries);
  EXPECT_TRUE(apart->replacement.empty());
  EXPECT_TRUE(link_parts("")->entries.empty());
  for (std::size_t cut : {std::size_t{2}, std::size_t{4}, std::size_t{6}, bytes.size() - 1}) {
    EXPECT_EQ(link_parts(std::string_view(bytes).substr(0, cut)).error().kind,
              StoreError::Kind::damaged);
  }
}

TEST(LinkParts, HaveOneReplacementAtTheEnd) {  // K7
  std::string bytes;
  append_link_entry("an entry", bytes);
  append_link_replacement("instead of it", bytes);
  const auto apart = link_parts(bytes);
  ASSERT_TRUE(apart);
  EXPECT_EQ(apart->entries.size(), 1U);
  EXPECT_EQ(apart->replacement, "instead of it");
  EXPECT_EQ(link_parts(std::string_view(bytes).substr(0, bytes.size() - 1)).error().kind,
            StoreError::Kind::damaged);
  append_link_entry("another one", bytes);
  EXPECT_EQ(link_parts(bytes).error().kind, StoreError::Kind::damaged);
}

}  // namespace
}  // namespace signalbox
