// The check of the log's tables beside a service.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "server/followers/log_check.h"
#include "tests/eventually.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/store/log_directory.h"

namespace signalbox::test {
namespace {

class LogCheckTest : public testing::Test {
 protected:
  void SetUp() override {
    for (int life = 0; life < 3; ++life) append_commits(*open_log(data_.path()), 2);
    log_ = open_log(data_.path());
    table_ = database_files(data_.path(), ".sst").front();
  }

  // Returns what a check tells; "" if it finds nothing in the time that one takes that does.
  std::string told_trouble() {
    LogCheck check(*log_, [this](const std::string& text) { noted_.push_back(text); });
    check.start();
    eventually([&check] { return check.trouble().has_value(); });
    return check.trouble().value_or("");
  }

  TemporaryDirectory data_;
  std::unique_ptr<RocksEventLog> log_;
  std::filesystem::path table_;
  std::vector<std::string> noted_;
};

TEST_F(LogCheckTest, NamesADamagedTable) {  // G2
  std::string bytes = content_of(table_);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_text(table_, bytes);
  const std::string told = told_trouble();
  EXPECT_NE(told.find(table_.string() + " isn't as it was written"), std::string::npos) << told;
  EXPECT_EQ(noted_, std::vector<std::string>{told});
}

TEST_F(LogCheckTest, NamesATableThatIsGone) {  // G2
  std::filesystem::remove(table_);
  const std::string told = told_trouble();
  EXPECT_NE(told.find(table_.string() + " is missing"), std::string::npos) << told;
}

TEST_F(LogCheckTest, ATableThatCannotBeReadIsNoDamageAndTold) {  // G2
  std::filesystem::rename(table_, data_ / "away");
  std::filesystem::create_directory(table_);
  const std::string told = told_trouble();
  EXPECT_NE(told.find(table_.string()), std::string::npos) << told;
  EXPECT_NE(told.find("look at the disk"), std::string::npos) << told;
}

TEST_F(LogCheckTest, NamesADamagedTableBehindOneThatCannotBeRead) {  // G2
  const auto last = database_files(data_.path(), ".sst").back();
  ASSERT_NE(last, table_);
  std::filesystem::rename(table_, data_ / "away");
  std::filesystem::create_directory(table_);
  std::string bytes = content_of(last);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_text(last, bytes);
  const std::string told = told_trouble();
  EXPECT_NE(told.find(last.string() + " isn't as it was written"), std::string::npos) << told;
}

TEST_F(LogCheckTest, EndsBetweenTwoPartsOfAFile) {
  int parts = 0;
  EXPECT_TRUE(log_->check_files([&parts] { return ++parts < 2; }));
  EXPECT_EQ(parts, 2);
}

TEST_F(LogCheckTest, OfAWholeLogTellsNothing) {
  EXPECT_TRUE(log_->check_files([] { return true; }));
}

}  // namespace
}  // namespace signalbox::test
