#include "store/file_descriptor.h"

#include <unistd.h>

#include <cerrno>
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

std::string read_bytes_at(const FileDescriptor& file, std::uint64_t offset, std::size_t bytes) {
  std::string content(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        ::pread(file.get(), content.data() + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  content.resize(done);
  return content;
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
