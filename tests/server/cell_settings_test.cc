// The table [cell]: what is refused says what to write instead, and never shows a password.
#include "server/cell/cell_settings.h"

#include <gtest/gtest.h>

#include "server/cell/cell_view.h"
#include "server/config.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

class CellSettingsTest : public testing::Test {
 protected:
  CellSettingsTest() {
    texts_.name = "main";
    texts_.engine = "postgresql://signalbox@db1,db2/signalbox";
    texts_.server = "a";
    texts_.address = "tls://a.example.org:7443";
  }
  // Returns the error, or "taken".
  [[nodiscard]] std::string error() const {
    const auto read = read_cell_settings(texts_);
    return read ? "taken" : read.error();
  }
  // Returns the error of a configuration file, or "taken".
  static std::string error_of(const std::string& file) {
    const TemporaryDirectory directory;
    write_text(directory.path() / "signalbox.toml", file);
    ServeOptions options;
    options.data = directory.path();
    const auto config = load_config(options);
    return config ? "taken" : config.error();
  }

  static constexpr const char* cell =
      "[cell]\nname = \"main\"\nengine = \"postgresql://db/s\"\nserver = \"a\"\naddress = "
      "\"tcp://127.0.0.1:7101\"\n";
  CellTexts texts_;
};

TEST_F(CellSettingsTest, AreReadAsTheyAreWritten) {
  const auto read = read_cell_settings(texts_);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->name, "main");
  EXPECT_EQ(read->server.name, "a");
  EXPECT_EQ(read->server.address, "tls://a.example.org:7443");
  EXPECT_EQ(read->durability, PostgresLog::Durability::quorum);
  texts_.durability = "degraded-ok";
  EXPECT_EQ(read_cell_settings(texts_)->durability, PostgresLog::Durability::degraded_ok);
  EXPECT_EQ(read->keep_ms, 3 * CellSettings::ms_per_day);
  EXPECT_EQ(read->keep_absent_ms, 7 * CellSettings::ms_per_day);
  texts_.keep = "10d";
  texts_.keep_absent = "30d";
  EXPECT_EQ(read_cell_settings(texts_)->keep_ms, 10 * CellSettings::ms_per_day);
  EXPECT_EQ(read_cell_settings(texts_)->keep_absent_ms, 30 * CellSettings::ms_per_day);
  texts_.server = "";  // this machine's name
  EXPECT_FALSE(read_cell_settings(texts_)->server.name.empty());
}

TEST_F(CellSettingsTest, AWrongOneIsNamed) {
  for (const char* name : {"", "a b", "x/y"}) {
    texts_.name = name;
    EXPECT_NE(error().find("cell.name"), std::string::npos) << name;
  }
  texts_.name = std::string(65, 'x');
  EXPECT_NE(error().find("cell.name"), std::string::npos);
  texts_.name = "main";
  for (const char* address : {"", "a:1", "tls://a:1,tls://b:1", "http://a:1", "tls://a"}) {
    texts_.address = address;
    EXPECT_NE(error().find("cell.address"), std::string::npos) << address;
  }
  texts_.address = "tcp://a:1";
  texts_.durability = "some";
  EXPECT_NE(error().find("quorum, degraded-ok or attested"), std::string::npos);
  texts_.durability = "attested";
  for (const char* keep : {"", "0s", "3", "8d"}) {  // the last one is longer than keep_absent
    texts_.keep = keep;
    EXPECT_NE(error().find("cell.keep"), std::string::npos) << keep;
  }
  texts_.keep = "3d";
  texts_.server = "a\nb";
  EXPECT_NE(error().find("cell.server"), std::string::npos);
  texts_.server = "a";
  texts_.engine = "host=db password=hunter2";
  EXPECT_NE(error().find("cell.engine"), std::string::npos);
  EXPECT_EQ(error().find("hunter2"), std::string::npos);
}

TEST_F(CellSettingsTest, AFileThatCannotBeServedIsRefused) {
  EXPECT_EQ(error_of(std::string("listen = \"127.0.0.1:7101\"\n") + cell), "taken");
  EXPECT_NE(error_of(cell).find("needs `listen`"), std::string::npos);
  // Records are dropped in a cell as without one (K7): only the key is missing.
  const std::string with_retention = error_of(
      "listen = \"127.0.0.1:7101\"\n[retention]\nolder_than = \"30d\"\narchive = "
      "\"/nowhere/archive\"\nkey = \"key.pem\"\n" +
      std::string(cell));
  EXPECT_NE(with_retention.find("retention.key"), std::string::npos) << with_retention;
  EXPECT_NE(error_of("[cell]\nhost = \"x\"\n").find("there is no setting cell.host"),
            std::string::npos);
}

TEST_F(CellSettingsTest, TheAddressOfAServerIsAUrl) {
  EXPECT_EQ(url_of("tls://a.example.org:7443"), "https://a.example.org:7443");
  EXPECT_EQ(url_of("tcp://[::1]:7101"), "http://[::1]:7101");
}

}  // namespace
}  // namespace signalbox
