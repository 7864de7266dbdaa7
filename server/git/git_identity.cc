#include "server/git/git_identity.h"

#include "server/git/git_command.h"

namespace signalbox {

std::vector<std::string> git_identity(const std::filesystem::path& directory) {
  std::vector<std::string> arguments;
  const auto fall_back = [&](const std::string& key, const std::string& value) {
    if (git(directory, {"config", "--get", key}).line().empty()) {
      arguments.insert(arguments.end(), {"-c", key + "=" + value});
    }
  };
  fall_back("user.name", "Signalbox");
  fall_back("user.email", "signalbox@localhost");
  return arguments;
}

}  // namespace signalbox
