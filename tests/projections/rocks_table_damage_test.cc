// Damaged files of a table on disk are noticed when it is opened, read or checked. A read never
// returns anything but what was written.
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <string>
#include <vector>

#include "projections/buffering_table.h"
#include "projections/rocks_table.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t table_format = 1;
constexpr int row_count = 3000;

std::string key_of(int number) { return "k" + std::to_string(number); }
std::string value_of(int number) {
  return std::string(40, static_cast<char>('a' + number % 26)) + std::to_string(number);
}

class RocksTableDamage : public ::testing::Test {
 protected:
  // Makes a table of several files: each opening writes what was logged to one.
  void SetUp() override {
    for (int life = 0; life < 4; ++life) {
      const auto table = std::move(RocksTable::open_or_recreate(good_.path(), table_format)->table);
      TableBatch batch;
      for (int number = life * row_count / 3;
           number < std::min(row_count, (life + 1) * row_count / 3); ++number) {
        batch.put(key_of(number), value_of(number));
      }
      ASSERT_TRUE(table->write(batch, static_cast<Position>(life) + 1).has_value());
    }
  }

  void copy() const { copy_to(copy_); }
  void copy_to(const TemporaryDirectory& place) const {
    fs::remove_all(place.path());
    fs::copy(good_.path(), place.path());
  }
  [[nodiscard]] std::vector<fs::path> files(const std::string& part) const {
    std::vector<fs::path> found;
    for (const auto& file : fs::directory_iterator(good_.path())) {
      if (file.path().filename().string().find(part) != std::string::npos) {
        found.push_back(file.path().filename());
      }
    }
    std::ranges::sort(found);
    return found;
  }

  // Opens the copy and reads every row. Returns whether all are there; otherwise damage was noted.
  bool whole_or_noted(const std::string& about) const { return whole_or_noted(copy_, about); }
  static bool whole_or_noted(const TemporaryDirectory& place, const std::string& about) {
    auto opened = RocksTable::open_or_recreate(place.path(), table_format);
    EXPECT_TRUE(opened.has_value()) << about;
    if (!opened) return false;
    const RocksTable& table = *opened->table;
    if (table.damage()) {
      EXPECT_FALSE(opened->recreated_because.empty()) << about;
      return false;
    }
    int present = 0;
    for (int number = 0; number < row_count; ++number) {
      const auto value = table.get(key_of(number));
      if (!value) {
        EXPECT_EQ(value.error().kind, StoreError::Kind::rebuilding) << about;
      } else if (*value) {
        EXPECT_EQ(**value, value_of(number)) << about;
        ++present;
      }
    }
    if (!table.damage()) {
      EXPECT_EQ(present, row_count) << about << ": rows are silently missing";
    }
    return !table.damage();
  }

  TemporaryDirectory good_{fast_directory()};
  TemporaryDirectory copy_{fast_directory()};
};

TEST_F(RocksTableDamage, AManifestThatWasCutIsNoticedAtAnyLength) {  // G2 G3
  const fs::path manifest = files("MANIFEST-").back();
  const std::string bytes = content_of(good_ / manifest);
  std::size_t noted = 0;
  for (std::size_t size = 0; size < bytes.size() && !HasFailure(); size += 7) {
    copy();
    write_text(copy_ / manifest, bytes.substr(0, size));
    if (!whole_or_noted("cut to " + std::to_string(size))) ++noted;
  }
  EXPECT_EQ(noted, (bytes.size() + 6) / 7);
}

TEST_F(RocksTableDamage, AMissingFileIsNoticed) {  // G3
  for (const char* part : {".sst", "MANIFEST-", "CURRENT"}) {
    for (const fs::path& name : files(part)) {
      copy();
      fs::remove(copy_ / name);
      EXPECT_FALSE(whole_or_noted("without " + name.string()));
    }
  }
  for (const fs::path& name : files("")) {
    if (name.extension() == ".log") continue;  // loses the last rows; the position tells
    copy();
    fs::remove(copy_ / name);
    whole_or_noted("without " + name.string());
  }
}

// RocksDB waits for a second before it closes a table whose compaction has failed, so flips are
// tried beside each other, each in a copy of its own.
TEST_F(RocksTableDamage, AFlippedBitIsNoticedByReadersOrByTheCheck) {  // G3
  ASSERT_GE(files(".sst").size(), 3U);
  for (const fs::path& name : files(".sst")) {
    const std::string bytes = content_of(good_ / name);
    const auto is_noted = [&](std::size_t offset, std::size_t flip) {
      const TemporaryDirectory place(fast_directory());
      copy_to(place);
      std::string flipped = bytes;
      flipped[offset] = static_cast<char>(flipped[offset] ^ (1 << (flip % 8)));
      write_text(place / name, flipped);
      if (!whole_or_noted(place, name.string() + " byte " + std::to_string(offset))) return true;
      // Readers met nothing: the bit lies where they don't look. The check reads every block.
      const auto table = std::move(RocksTable::open_or_recreate(place.path(), table_format)->table);
      table->check_files([] { return true; });
      return table->damage().has_value();
    };
    std::vector<std::future<bool>> flips;
    for (std::size_t offset = 0; offset < bytes.size(); offset += bytes.size() / 12 + 1) {
      flips.push_back(std::async(std::launch::async, is_noted, offset, flips.size()));
    }
    std::size_t noted = 0;
    for (std::future<bool>& flip : flips) noted += flip.get() ? 1 : 0;
    EXPECT_GE(noted * 10, flips.size() * 9) << name;
  }
}

TEST_F(RocksTableDamage, IsMendedByFillingTheTableAnew) {  // G3
  auto table = std::move(RocksTable::open_or_recreate(good_.path(), table_format)->table);
  BufferingTable buffering(*table);
  buffering.note_damage("a test says so");
  EXPECT_EQ(buffering.damage(), "a test says so");
  auto fresh = buffering.begin_rebuild();
  ASSERT_TRUE(fresh.has_value());
  TableBatch batch;
  batch.put("new", "row");
  ASSERT_TRUE((*fresh)->write(batch, 5).has_value());
  // Nobody reads a part of the rows.
  const auto read = buffering.get("new");
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().kind, StoreError::Kind::rebuilding);
  const auto scanned =
      buffering.scan("k", "k", ScanOrder::ascending, [](auto, auto) { return true; });
  ASSERT_FALSE(scanned.has_value());
  EXPECT_EQ(scanned.error().kind, StoreError::Kind::rebuilding);
  EXPECT_EQ(buffering.applied(), 0U);

  buffering.finish_rebuild(std::move(*fresh));
  EXPECT_EQ(buffering.damage(), std::nullopt);
  EXPECT_EQ(buffering.applied(), 5U);
  EXPECT_EQ(buffering.get("new").value(), "row");
  EXPECT_EQ(buffering.get(key_of(1)).value(), std::nullopt);
  batch.clear();
  batch.put("newer", "row");
  ASSERT_TRUE(buffering.write(batch, 6).has_value());
  EXPECT_EQ(buffering.get("newer").value(), "row");
}

}  // namespace
}  // namespace signalbox
