// A disk that can really be full: a small tmpfs in a mount namespace that only this process and its
// children see, and that disappears with them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace signalbox::test {

// Gives this process mounts of its own, which only its children see as well. Returns "", or the
// reason why it isn't possible here.
std::string enter_own_mounts();

class SmallDisk {
 public:
  SmallDisk() = default;
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  // Unmounts the disk.
  ~SmallDisk();

  // Mounts the disk over `directory`, which must exist. Returns "", or the reason why it isn't
  // possible here. From then on this process has its own mount namespace.
  std::string mount(const std::filesystem::path& directory, std::uint64_t bytes);

  // Fills all remaining space, to the last page; returns false if that fails.
  [[nodiscard]] bool fill() const;
  // Frees the space that fill() took.
  void make_space() const;

 private:
  [[nodiscard]] std::filesystem::path ballast() const { return directory_ / "ballast"; }

  std::filesystem::path directory_;
};

}  // namespace signalbox::test
