// Files with secrets of the service, such as a key or a token.
#pragma once

#include <cstddef>
#include <string>

#include <tl/expected.hpp>

namespace signalbox {

// Reads a regular file of at most `bytes_max` bytes that belongs to this user or to root, and that
// no other user may read. The error says why not, for a person, and quotes nothing of the file.
// Blocks on the disk.
tl::expected<std::string, std::string> read_secret_file(const std::string& path,
                                                        std::size_t bytes_max);

}  // namespace signalbox
