// Tests when a data directory keeps its id and when it gets a new one.
#include "server/platform/machine_id.h"

#include <gtest/gtest.h>

#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class MachineIds : public testing::Test {
 protected:
  void SetUp() override { fs::create_directory(data); }

  TemporaryDirectory place;
  fs::path data = place.path() / "data";
};

TEST_F(MachineIds, TheIdStaysUntilTheFileIsACopy) {  // G11
  const MachineId first = machine_id(data).value();
  EXPECT_EQ(first.copied_from, "");
  EXPECT_EQ(machine_id(data).value().id, first.id);
  fs::rename(data, place.path() / "moved");
  EXPECT_EQ(machine_id(place.path() / "moved").value().id, first.id);

  fs::create_directory(data);
  fs::copy_file(place.path() / "moved/machine_id", data / "machine_id");
  const MachineId copy = machine_id(data).value();
  EXPECT_NE(copy.id, first.id);
  EXPECT_EQ(copy.copied_from, first.id);
  EXPECT_EQ(machine_id(data).value().id, copy.id);
  EXPECT_EQ(machine_id(data).value().copied_from, "");
  EXPECT_EQ(machine_id(place.path() / "moved").value().id, first.id) << "the original's stays";
}

// A backup that is put back in the place of the original is a copy, too.
TEST_F(MachineIds, ARestoredFileIsACopy) {  // G11
  const MachineId first = machine_id(data).value();
  fs::copy_file(data / "machine_id", place.path() / "backup");
  fs::rename(data / "machine_id", place.path() / "original");  // its inode isn't used again
  fs::copy_file(place.path() / "backup", data / "machine_id");
  EXPECT_EQ(machine_id(data).value().copied_from, first.id);
}

TEST_F(MachineIds, AFileThatIsNoneIsReplacedAndItsModeIsPrivate) {  // G11
  write_text(data / "machine_id", "{\"schema\":\"machine.v1\"");
  const MachineId made = machine_id(data).value();
  EXPECT_FALSE(made.id.empty());
  EXPECT_EQ(fs::status(data / "machine_id").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  fs::remove(data / "machine_id");
  EXPECT_NE(machine_id(data).value().id, made.id);
}

// Until then jobs may be under way for somebody else.
TEST_F(MachineIds, SaysWhereItsLogBegan) {  // G11
  EXPECT_EQ(machine_id(data, 7).value().since, 7U);
  EXPECT_EQ(machine_id(data, 9).value().since, 7U);
}

}  // namespace
}  // namespace signalbox
