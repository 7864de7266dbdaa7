// A start on the log of a newer version, which has an event that this one doesn't know.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>

#include "projections/world_digest.h"
#include "projections/world_snapshot.h"
#include "server/engine/recovery.h"
#include "store/frame.h"
#include "store/rocks_event_log.h"
#include "tests/fixtures/newer_snapshot.h"
#include "tests/fixtures/temporary_directory.h"
#include "tools/cli/call_error.h"

namespace signalbox {
namespace {

constexpr std::uint16_t newer_number = 999;

// Returns the frame of the record with another number (store/FORMAT.md).
std::string newer_frame(const Record& record) {
  constexpr std::size_t number_offset = 11;
  std::string bytes;
  encode_record(record, Salt{}, bytes);
  std::string number;
  append_integer(number, newer_number);
  bytes.replace(number_offset, number.size(), number);
  std::string checksum;
  append_integer(checksum, crc32c(std::string_view(bytes).substr(sizeof(std::uint32_t))));
  return bytes.replace(0, checksum.size(), checksum);
}

class NewerLog : public ::testing::Test {
 protected:
  void SetUp() override {
    auto log = RocksEventLog::open(data_.path(), {});
    ASSERT_TRUE(log) << log.error().message;
    Record record;
    record.position = 1;
    record.stream = Stream::server();
    record.event = ServerEvent(ServerStarted{});
    const std::string entry = newer_frame(record);
    const std::array<std::string_view, 1> entries{entry};
    MerkleFrontier frontier = (*log)->frontier();
    Sha256 sha256;
    append_leaf(frontier, leaf_hash(parse_frame(entry).value(), sha256), sha256);
    ASSERT_EQ((*log)->append_entries(0, entries, frontier, {}).status, AppendStatus::ok);
    World world;
    world.position = 1;
    ASSERT_TRUE(
        write_snapshot(snapshots_directory(data_.path()), world, frontier, world_digest(world)));
    ASSERT_TRUE((*log)->close());
  }
  void expect_refused() const {
    const auto recovered = recover(data_.path());
    ASSERT_FALSE(recovered);
    const StoreError& error = recovered.error();
    EXPECT_EQ(error.kind, StoreError::Kind::unsupported);
    EXPECT_NE(error.message.find("event number 999"), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("install that version or a newer one"), std::string::npos)
        << error.message;
    const CallError shown = from_store_error(error);
    EXPECT_EQ(code_of(shown), "UNSUPPORTED");
    EXPECT_EQ(shown.exit_code, ExitCode::damaged);
    EXPECT_TRUE(next_commands_of(shown).empty());
  }

  TemporaryDirectory data_;
};

// P6: nothing is served or written from a state that this version can't fold.
TEST_F(NewerLog, IsRefusedAlsoBehindASnapshot) {
  const auto directory = snapshots_directory(data_.path());
  add_known_event(std::filesystem::directory_iterator(directory)->path(), newer_number, 1);
  expect_refused();
}

TEST_F(NewerLog, IsRefusedWithoutASnapshot) {
  std::filesystem::remove_all(snapshots_directory(data_.path()));
  expect_refused();
}

}  // namespace
}  // namespace signalbox
