#include "server/git/fence_hook.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "domain/refusals.h"
#include "domain/try.h"
#include "server/git/fence_marker.h"
#include "server/git/git_command.h"
#include "server/git/path_facts.h"
#include "server/platform/atomic_file.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t hook_bytes_max = 1024 * 1024;
constexpr std::string_view signature = "# Installed by `signalbox fence install`";
constexpr const char* chained_name = "pre-push.before-signalbox";

tl::unexpected<FenceHookError> refuse(std::string message, std::vector<std::string> next = {}) {
  return tl::unexpected(FenceHookError{true, std::move(message), std::move(next)});
}

tl::unexpected<FenceHookError> failed(std::string message) {
  return tl::unexpected(FenceHookError{false, std::move(message)});
}

std::string hook_text(const fs::path& binary) {
  return "#!/bin/sh\n" + std::string(signature) +
         "; `signalbox fence uninstall` takes it away.\n"
         "# A push from the worktree of a run needs the server's word that the run goes on.\n"
         "if [ -e \"$(git rev-parse --git-dir)/" +
         fence_marker_name + "\" ]; then\n  " + shell_word(binary.string()) +
         " fence check </dev/null >&2 || exit 1\n"
         "fi\n"
         "# The hook that was here before, if there was one, decides about the rest.\n"
         "before=\"$(dirname \"$0\")/" +
         chained_name +
         "\"\n"
         "[ ! -x \"$before\" ] || exec \"$before\" \"$@\"\n";
}

// The hook's paths and content before the call.
struct HookFiles {
  fs::path hook;
  fs::path chained;
  bool present = false;
  bool ours = false;
  std::string text;
};

tl::expected<HookFiles, FenceHookError> find_hook(const fs::path& repository) {
  std::error_code error;
  if (!fs::is_directory(repository, error)) {
    return refuse(repository.string() + " is not a directory");
  }
  GitOptions as_configured;
  as_configured.show_configured_hooks = true;
  const std::string set =
      git(repository, {"config", "--get", "core.hooksPath"}, as_configured).line();
  if (!set.empty() && !set.starts_with('/') && !set.starts_with('~')) {
    return refuse("core.hooksPath is " + set +
                      ", which is another directory in each worktree; have the repository's own " +
                      set + "/pre-push run `signalbox fence check </dev/null || exit 1`",
                  {"git -C " + shell_word(repository.string()) + " config --get core.hooksPath"});
  }
  const GitOutcome directory = git(
      repository, {"rev-parse", "--path-format=absolute", "--git-path", "hooks"}, as_configured);
  if (!directory.ok) {
    return refuse(repository.string() + " is not a git repository: " + directory.message);
  }
  HookFiles found;
  found.hook = fs::path(directory.line()) / "pre-push";
  found.chained = fs::path(directory.line()) / chained_name;
  found.present = is_there(found.hook);
  if (!found.present) return found;
  // Reads through a symbolic link: hooks are often kept elsewhere and linked.
  const fs::path real = fs::weakly_canonical(found.hook, error);
  const auto text = read_regular_file(error ? found.hook : real, hook_bytes_max);
  if (!text) return failed(text.error().message);
  found.text = *text;
  found.ours = found.text.find(signature) != std::string::npos;
  return found;
}

// Writes the hook under another name first: git would skip a hook that isn't executable yet.
tl::expected<void, FenceHookError> write_hook(const fs::path& hook, const std::string& text) {
  if (auto made = make_directories(hook.parent_path()); !made) return failed(made.error().message);
  const fs::path fresh = hook.string() + ".signalbox-new";
  if (auto written = write_file_atomically(fresh, text); !written) {
    return failed(written.error().message);
  }
  std::error_code error;
  fs::permissions(fresh,
                  fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                      fs::perms::others_read | fs::perms::others_exec,
                  error);
  if (!error) fs::rename(fresh, hook, error);
  if (error) return failed("can't install " + hook.string() + ": " + error.message());
  return {};
}

// Links another program's hook to its second name. The first name stays until our hook replaces it,
// so that the hook is never missing.
tl::expected<void, FenceHookError> keep_foreign(const HookFiles& found) {
  if (::link(found.hook.c_str(), found.chained.c_str()) == 0) return {};
  const int reason = errno;
  std::error_code error;
  if (reason == EEXIST && fs::equivalent(found.hook, found.chained, error)) return {};
  if (reason == EEXIST) {
    return refuse("there are both " + found.hook.string() + " and " + found.chained.string() +
                      ", and neither is Signalbox's: remove one of them",
                  {"ls -l " + shell_word(found.hook.parent_path().string())});
  }
  return failed("can't keep " + found.hook.string() + ": " +
                std::generic_category().message(reason));
}

}  // namespace

FenceHookOutcome install_fence_hook(const fs::path& repository, const fs::path& binary,
                                    bool chain) {
  const auto found = TRY(find_hook(repository));
  if (found.present && !found.ours) {
    if (!chain) {
      return refuse("there is a pre-push hook already, " + found.hook.string() +
                        "; with --force it is kept and runs after the check",
                    {"signalbox fence install " + shell_word(repository.string()) + " --force"});
    }
    TRY(keep_foreign(found));
  }
  FenceHookState state{found.hook, false, {}};
  const std::string text = hook_text(binary);
  if (found.text != text) {
    TRY(write_hook(found.hook, text));
    state.changed = true;
  }
  if (is_there(found.chained)) state.chained = found.chained;
  return state;
}

FenceHookOutcome uninstall_fence_hook(const fs::path& repository) {
  const auto found = TRY(find_hook(repository));
  FenceHookState state{found.hook, false, {}};
  if (!found.ours) return state;
  std::error_code error;
  if (is_there(found.chained)) {
    fs::rename(found.chained, found.hook, error);
  } else {
    fs::remove(found.hook, error);
  }
  if (error) return failed("can't remove " + found.hook.string() + ": " + error.message());
  state.changed = true;
  return state;
}

}  // namespace signalbox
