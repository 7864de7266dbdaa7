// Fixture for tests of the files in one run root that follow a log in memory.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>

#include "store/memory_event_log.h"
#include "tests/server/run_root_site.h"

namespace signalbox {

class RunRootWriterTest : public testing::Test {
 protected:
  void SetUp() override { site.start(); }

  [[nodiscard]] std::string text_of(const std::string& path) const {
    return content_of(std::filesystem::path(root) / path);
  }
  [[nodiscard]] boost::json::object json_of(const std::string& path) const {
    boost::json::error_code error;
    const boost::json::value value = boost::json::parse(text_of(path), error);
    EXPECT_TRUE(value.is_object()) << path << ": " << text_of(path);
    return value.is_object() ? value.get_object() : boost::json::object{};
  }
  [[nodiscard]] bool there(const std::string& path) const {
    return std::filesystem::exists(
        std::filesystem::symlink_status(std::filesystem::path(root) / path));
  }
  [[nodiscard]] std::vector<boost::json::object> ledger() const {
    std::vector<boost::json::object> rows;
    std::istringstream text(text_of("logs/ticks.jsonl"));
    for (std::string row; std::getline(text, row);) {
      rows.push_back(boost::json::parse(row).as_object());
    }
    return rows;
  }
  Token token_of_lock(const std::string& key) { return site.world.find_lock(key)->token; }

  TemporaryDirectory directory;
  const std::filesystem::path data = directory.path() / "data";
  const std::string root = (directory.path() / "root").string();
  MemoryEventLog log;
  RunRootSite site{log, data};
};

}  // namespace signalbox
