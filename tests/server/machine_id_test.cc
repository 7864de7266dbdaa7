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

// Returns the file's content with another inode or birth time in it.
std::string with_field(const fs::path& file, const std::string& name, const std::string& value) {
  std::string text = content_of(file);
  const std::size_t begin = text.find(':', text.find('"' + name + '"')) + 1;
  return text.replace(begin, text.find(',', begin) - begin, value);
}

// The file system gives a restored file the inode number of the one that was removed.
TEST_F(MachineIds, ACopyWithTheInodeOfTheOriginalIsACopy) {  // G11
  const MachineId first = machine_id(data).value();
  const std::string text = with_field(data / "machine_id", "born_at", R"("2023-11-14T22:13:20Z")");
  write_text(data / "machine_id", text);  // the same inode
  EXPECT_EQ(machine_id(data).value().copied_from, first.id);
}

// An earlier version, or the file system, doesn't say when it was born.
TEST_F(MachineIds, AFileWithoutABirthTimeKeepsItsId) {  // G11
  const MachineId first = machine_id(data).value();
  write_text(data / "machine_id", with_field(data / "machine_id", "born_at", "null"));
  EXPECT_EQ(machine_id(data).value().id, first.id);
}

// A newer version may have written it.
TEST_F(MachineIds, AFileWithAnUnknownFieldKeepsItsId) {  // G11
  const MachineId first = machine_id(data).value();
  std::string text = content_of(data / "machine_id");
  write_text(data / "machine_id", text.insert(text.find('{') + 1, R"("new":"value",)"));
  const MachineId again = machine_id(data).value();
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(again.replaced, "");
}

// A sync leaves files alone that are as in the backup.
TEST_F(MachineIds, TheFileOfABackupIsNeverLikeTheOneThatItReplaces) {  // G11
  const MachineId first = machine_id(data).value();
  const std::string backup = content_of(data / "machine_id");
  EXPECT_EQ(machine_id(data).value().id, first.id);  // a start after the backup
  EXPECT_NE(content_of(data / "machine_id"), backup);
  write_text(data / "machine_id", backup);  // into the same file, as cp does
  EXPECT_EQ(machine_id(data).value().copied_from, first.id);
}

TEST_F(MachineIds, AFileThatIsNoneIsReplacedAndItsModeIsPrivate) {  // G11
  write_text(data / "machine_id", "{\"schema\":\"machine.v1\"");
  const MachineId made = machine_id(data).value();
  EXPECT_FALSE(made.id.empty());
  EXPECT_NE(made.replaced.find("machine_id: "), std::string::npos) << made.replaced;
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
