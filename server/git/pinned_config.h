// A repository's own git configuration, taken over into a file that nothing in the repository can
// change. Keys that let the repository run a program that no unattended work needs are left out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace signalbox {

// The origin of the configuration decides which programs it may name.
enum class ConfigTrust : std::uint8_t {
  // Nothing of the run has worked in the repository yet: filters (LFS), merge drivers, credential
  // helpers, the ssh command, URL rewrites and gpg stay as the repository's owner set them.
  owners,
  // An agent may have written it: no key that names a program or redirects a URL is taken over, but
  // the filter of LFS as `git lfs install` writes it.
  nobodys,
};

// Returns whether `key` (as `git config --list` prints it) is taken over from a configuration of
// this trust.
bool is_pinned_key(std::string_view key, ConfigTrust trust);

// Returns the entries of the output of `git config --list -z` that name a program, redirect a URL,
// or say where a remote is, sorted: whoever can set one of them decides what a later git command
// does.
std::vector<std::string> programs_of_config(std::string_view listed);

// Returns where a remote is, by its URL or path. A path that is relative to the top of the
// repository, and leads to something, becomes absolute and without links: git would take it as
// relative to the worktree in which it runs.
std::string location_of_remote(const std::filesystem::path& repository, const std::string& url);

// Converts the output of `git config --list -z`, of the repository at this path, to the text of a
// configuration file with the keys that are taken over, in their order. Paths of remotes are as
// location_of_remote() says.
std::string pinned_config_text(std::string_view listed, ConfigTrust trust,
                               const std::filesystem::path& repository);

}  // namespace signalbox
