#include "server/git/git_identity.h"

namespace signalbox {

std::vector<std::string> git_identity(const std::filesystem::path& directory,
                                      const GitOptions& options) {
  std::vector<std::string> arguments;
  const auto add_default = [&](const std::string& key, const std::string& value) {
    if (git(directory, {"config", "--get", key}, options).line().empty()) {
      arguments.insert(arguments.end(), {"-c", key + "=" + value});
    }
  };
  add_default("user.name", "Signalbox");
  add_default("user.email", "signalbox@localhost");
  return arguments;
}

}  // namespace signalbox
