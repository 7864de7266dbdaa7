#include "tests/store/temporary_directory.h"

#include <cstdlib>
#include <string>
#include <system_error>

#include "domain/check.h"

namespace signalbox::test {

TemporaryDirectory::TemporaryDirectory()
    : TemporaryDirectory(std::filesystem::temp_directory_path()) {}

TemporaryDirectory::TemporaryDirectory(const std::filesystem::path& base) {
  std::string name = (base / "signalbox-store-XXXXXX").string();
  SIGNALBOX_CHECK(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace signalbox::test
