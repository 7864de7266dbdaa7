// A directory of a test's own, gone after it.
#pragma once

#include <filesystem>

namespace signalbox::test {

class TemporaryDirectory {
 public:
  TemporaryDirectory();
  // In `base` instead of where temporary files usually go.
  explicit TemporaryDirectory(const std::filesystem::path& base);
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace signalbox::test
