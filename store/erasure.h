// What an erasure of replaced payloads works on (rocks_erasure.cc).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace signalbox {

struct Erasure {
  std::string keys;  // of the replaced entries, concatenated; empty: there is nothing to erase
  std::vector<std::filesystem::path> files;  // those that may hold the replaced bytes
};

}  // namespace signalbox
