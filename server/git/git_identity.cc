#include "server/git/git_identity.h"

namespace signalbox {

tl::expected<std::vector<std::string>, std::string> missing_identity(
    const std::filesystem::path& directory, const GitOptions& options) {
  constexpr int not_set = 1;  // exit code of `git config --get`
  std::vector<std::string> missing;
  for (const char* key : {"user.name", "user.email"}) {
    const GitOutcome value = git(directory, {"config", "--get", key}, options);
    const bool is_answer = value.ok || (!value.timed_out && value.exit_code == not_set);
    if (!is_answer) return tl::unexpected(value.message);
    if (value.line().empty()) missing.emplace_back(key);
  }
  return missing;
}

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
