// A disk of the test's own that can really be full: a small tmpfs, in a mount namespace that nobody
// but this process and its children sees, and that is gone with them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace signalbox::test {

class SmallDisk {
 public:
  SmallDisk() = default;
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  // Unmounts it.
  ~SmallDisk();

  // Mounts it over `directory`, which exists. Gives why that isn't possible here, or "". From then
  // on this process keeps its own view of what is mounted.
  std::string mount(const std::filesystem::path& directory, std::uint64_t bytes);

  // Takes all the space that is left, to the last page; false if that can't be.
  [[nodiscard]] bool fill() const;
  // Gives back what fill() took.
  void make_space() const;

 private:
  [[nodiscard]] std::filesystem::path ballast() const { return directory_ / "ballast"; }

  std::filesystem::path directory_;
};

}  // namespace signalbox::test
