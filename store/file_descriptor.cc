#include "store/file_descriptor.h"

#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace signalbox {

FileDescriptor::~FileDescriptor() {
  if (descriptor_ >= 0) ::close(descriptor_);
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
