// Sets the wall clock of a single server process, while it runs, through libfaketime. Its timers
// stay those of the kernel (unfaked_timers.cc).
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace signalbox::test {

// over() changes the environment of the test's own process for the duration of the call.
class FakeWallClock {
 public:
  // Stores the offset in a file in `directory`; the clock is right until set() is called.
  explicit FakeWallClock(const std::filesystem::path& directory) : offset_(directory / "offset") {
    for (const char* libraries : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"}) {
      const auto file = std::filesystem::path(libraries) / "faketime/libfaketimeMT.so.1";
      if (std::filesystem::exists(file)) library_ = file;
    }
    set("+0s");
  }

  // Returns false if libfaketime isn't installed: `tools/packages faketime`.
  [[nodiscard]] bool available() const { return !library_.empty(); }

  // Sets the offset of the clock, e.g. "+1h"; effective at once in processes started by over().
  void set(const std::string& offset) const {
    const std::filesystem::path next = offset_.string() + ".next";
    std::ofstream(next) << offset << '\n';
    std::filesystem::rename(next, offset_);
  }

  // Calls `start`; processes that it starts run under this clock.
  template <class Start>
  void over(const Start& start) const {
    const std::map<std::string, std::string> environment = {
        {"LD_PRELOAD", timers_ + ":" + library_},
        {"FAKETIME_TIMESTAMP_FILE", offset_},
        {"FAKETIME_NO_CACHE", "1"},
        {"FAKETIME_DONT_FAKE_MONOTONIC", "1"},
        {"DONT_FAKE_MONOTONIC", "1"},
        {"ASAN_OPTIONS", "verify_asan_link_order=0"}};
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    start();
    for (const auto& [name, value] : environment) ::unsetenv(name.c_str());
  }

 private:
  const std::filesystem::path offset_;
  const std::string timers_ =
      std::filesystem::path(SIGNALBOX_BINARY).parent_path() / "libunfaked_timers.so";
  std::string library_;
};

}  // namespace signalbox::test
