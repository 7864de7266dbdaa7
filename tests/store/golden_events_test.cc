// The bytes of every (type, version) that was ever written, kept in golden_events.txt.
//
// A row has number, version, name, and payload in hexadecimal. After an event or a version was
// added, run with SIGNALBOX_REWRITE_GOLDEN=1: it adds the missing rows. An existing row is never
// changed, neither by this test nor by hand, because logs on people's disks contain such bytes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "domain/feature_level.h"
#include "store/codec.h"
#include "tests/store/hexadecimal.h"
#include "tests/store/sample_events.h"

namespace signalbox::test {
namespace {

constexpr const char* golden_file = SIGNALBOX_SOURCE_DIR "/tests/store/golden_events.txt";

struct Golden {
  std::string name;
  std::string payload;
};
using Rows = std::map<std::pair<int, int>, Golden>;

Rows read_rows() {
  Rows rows;
  std::ifstream file(golden_file);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    int number = 0;
    int version = 0;
    Golden golden;
    std::string hex;
    fields >> number >> version >> golden.name >> hex;
    golden.payload = from_hexadecimal(hex);
    rows[{number, version}] = golden;
  }
  return rows;
}

void write_rows(const Rows& rows) {
  std::ofstream file(golden_file);
  for (const auto& [key, golden] : rows) {
    file << key.first << ' ' << key.second << ' ' << golden.name << ' '
         << to_hexadecimal(golden.payload) << '\n';
  }
}

class GoldenEvents : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (std::getenv("SIGNALBOX_REWRITE_GOLDEN") == nullptr) return;
    Rows rows = read_rows();
    for (const Event& event : sample_events()) {
      const EventTag tag = tag_of(event);
      std::string payload;
      encode_payload(event, payload);
      rows.try_emplace({tag.number, tag.version}, Golden{std::string(tag.name), payload});
    }
    write_rows(rows);
  }

  Rows rows_ = read_rows();
};

TEST_F(GoldenEvents, AreWhatTodaysEventsEncodeTo) {
  for (const Event& event : sample_events()) {
    const EventTag tag = tag_of(event);
    const auto row = rows_.find({tag.number, tag.version});
    ASSERT_NE(row, rows_.end()) << tag.name << " has no golden row: see the top of this file";
    std::string payload;
    encode_payload(event, payload);
    EXPECT_EQ(to_hexadecimal(payload), to_hexadecimal(row->second.payload))
        << tag.name << " is no longer what is stored: see FORMAT.md, Changing a stored event";
    EXPECT_EQ(row->second.name, tag.name);
  }
}

TEST_F(GoldenEvents, AllDecodeToThisDay) {
  for (const auto& [key, golden] : rows_) {
    const auto decoded = decode_payload(static_cast<std::uint16_t>(key.first),
                                        static_cast<std::uint16_t>(key.second), golden.payload);
    EXPECT_TRUE(decoded) << golden.name << " version " << key.second;
  }
}

TEST_F(GoldenEvents, LeaveOutNoVersion) {
  for (const EventTag& tag : event_tags()) {
    for (int version = 1; version <= tag.version; ++version) {
      EXPECT_TRUE(rows_.contains({tag.number, version})) << tag.name << " version " << version;
    }
  }
}

// Level 1 is what servers understand that know of no levels, so nothing joins it any more.
TEST_F(GoldenEvents, HaveTheLevelThatTheyCameWith) {  // K9
  int of_first_level = 0;
  for (const auto& [key, golden] : rows_) {
    const EventTag tag{static_cast<std::uint16_t>(key.first),
                       static_cast<std::uint16_t>(key.second), golden.name};
    const FeatureLevel level = feature_level_of(tag);
    EXPECT_GE(level, feature_level_min) << golden.name << " version " << key.second;
    EXPECT_LE(level, feature_level_newest) << golden.name << " version " << key.second;
    if (level == feature_level_min) ++of_first_level;
  }
  EXPECT_EQ(of_first_level, 101)
      << "a new event, or a new version of one, needs a level above that of the latest release: "
         "see later_events in domain/feature_level.cc";
}

}  // namespace
}  // namespace signalbox::test
