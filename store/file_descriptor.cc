#include "store/file_descriptor.h"

#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace signalbox {

FileDescriptor::~FileDescriptor() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool write_all(const FileDescriptor& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// With the last name, the descriptor's own is followed also where links aren't.
std::filesystem::path held_directory(const FileDescriptor& directory) {
  return "/proc/self/fd/" + std::to_string(directory.get()) + "/.";
}

StoreError system_error(std::string_view verb, const std::filesystem::path& file) {
  const int number = errno;
  StoreError error;
  error.kind = number == ENOENT                       ? StoreError::Kind::not_found
               : number == ENOSPC || number == EDQUOT ? StoreError::Kind::full
                                                      : StoreError::Kind::io;
  error.message = "can't " + std::string(verb) + " " + (file.empty() ? "a file" : file.string()) +
                  ": " + std::generic_category().message(number);
  error.file = file.string();
  return error;
}

}  // namespace signalbox
