// Owns a file descriptor, reads and writes it, and converts failed system calls to StoreErrors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "store/store_error.h"

namespace signalbox {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  FileDescriptor(FileDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FileDescriptor();

  [[nodiscard]] int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }
  // Returns the descriptor, which the caller owns from now on.
  [[nodiscard]] int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_ = -1;
};

// Returns a path of this process to an open directory, whatever names lead to it, to which names
// may be added; for a descriptor that isn't open, a path that doesn't exist. The descriptor stays
// open while the path is used.
std::filesystem::path held_directory(const FileDescriptor& directory);

// Writes all of `bytes`, retrying after signals. Returns false with errno set on failure.
bool write_all(const FileDescriptor& file, std::string_view bytes);

// Returns the `bytes` bytes of a file from `offset` on, retrying after signals; fewer if the file
// ends before, or can't be read.
std::string read_bytes_at(const FileDescriptor& file, std::uint64_t offset, std::size_t bytes);

// Makes a StoreError from errno: "can't VERB FILE: …". ENOENT is `not_found`, ENOSPC and EDQUOT are
// `full`, others `io`.
StoreError system_error(std::string_view verb, const std::filesystem::path& file);

}  // namespace signalbox
