// Sets the wall clock of one server alone, while it runs, through libfaketime.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace signalbox::test {

class FakeWallClock {
 public:
  // Keeps its file in `directory`; the clock is right until set() says otherwise.
  explicit FakeWallClock(const std::filesystem::path& directory) : offset_(directory / "offset") {
    for (const char* libraries : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"}) {
      const auto file = std::filesystem::path(libraries) / "faketime/libfaketimeMT.so.1";
      if (std::filesystem::exists(file)) library_ = file;
    }
    set("+0s");
  }

  // False where libfaketime isn't installed: `tools/packages faketime`.
  [[nodiscard]] bool available() const { return !library_.empty(); }

  // What the clock is off by, as "+1h"; seen at once by whoever was started under it.
  void set(const std::string& offset) const {
    const std::filesystem::path next = offset_.string() + ".next";
    std::ofstream(next) << offset << '\n';
    std::filesystem::rename(next, offset_);
  }

  // What `start` starts lives under this clock.
  template <class Start>
  void over(const Start& start) const {
    const std::map<std::string, std::string> environment = {
        {"LD_PRELOAD", library_},     {"FAKETIME_TIMESTAMP_FILE", offset_},
        {"FAKETIME_NO_CACHE", "1"},   {"FAKETIME_DONT_FAKE_MONOTONIC", "1"},
        {"DONT_FAKE_MONOTONIC", "1"}, {"ASAN_OPTIONS", "verify_asan_link_order=0"}};
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    start();
    for (const auto& [name, value] : environment) ::unsetenv(name.c_str());
  }

 private:
  const std::filesystem::path offset_;
  std::string library_;
};

}  // namespace signalbox::test
