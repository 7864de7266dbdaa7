#include "tools/cli/absolute_path.h"

#include <filesystem>
#include <system_error>

namespace signalbox {

Called<std::string> absolute_path(const std::string& option, const std::string& path) {
  if (path.empty()) {
    return tl::unexpected(usage_error(option + " is empty: give a path"));
  }
  std::error_code gone;
  const auto whole = std::filesystem::absolute(path, gone);
  if (gone) {
    return tl::unexpected(usage_error(option + " " + path +
                                      ": the working directory is gone; give an absolute path"));
  }
  return whole.lexically_normal().string();
}

}  // namespace signalbox
