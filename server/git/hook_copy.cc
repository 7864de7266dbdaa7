#include "server/git/hook_copy.h"

#include <algorithm>
#include <system_error>

#include "server/git/path_facts.h"
#include "server/limits.h"
#include "store/durable_file.h"

namespace signalbox {

namespace fs = std::filesystem;

namespace {

// Takes the rights of others away: the copy lies in the data directory.
void keep_for_owner(const fs::path& path, std::error_code& error) {
  fs::permissions(path, fs::perms::group_all | fs::perms::others_all, fs::perm_options::remove,
                  error);
}

// Levels of directories below hooks, since the walk has each of them open.
constexpr int hook_levels_max = 16;

// The files that a walk over hooks has met. Those that aren't copied count as well, because the
// walk reads them.
struct HookCount {
  std::size_t entries = 0;
  std::uintmax_t bytes = 0;
  int levels = 0;

  void add(const fs::directory_entry& entry, int depth) {
    std::error_code unreadable;
    ++entries;
    levels = std::max(levels, depth);
    if (!entry.is_regular_file(unreadable)) return;
    const std::uintmax_t size = entry.file_size(unreadable);
    bytes += unreadable ? 0 : size;
  }
  [[nodiscard]] bool is_too_much() const {
    return entries > limits::hook_files_max || bytes > limits::hooks_bytes_max ||
           levels > hook_levels_max;
  }
};

bool is_hook_file(const fs::directory_entry& entry) {
  std::error_code unreadable;
  return entry.is_regular_file(unreadable) && entry.path().extension() != ".sample";
}

}  // namespace

tl::expected<void, std::string> copy_hooks(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (!fs::is_directory(from, error)) return {};
  HookCount count;
  for (fs::recursive_directory_iterator each(from, error), end; !error && each != end;
       each.increment(error)) {
    const fs::path target = to / each->path().lexically_relative(from);
    std::error_code unreadable;
    count.add(*each, each.depth());
    if (count.is_too_much()) {
      return tl::unexpected(from.string() + " has more than " +
                            std::to_string(limits::hook_files_max) + " files, more than " +
                            std::to_string(limits::hooks_bytes_max) +
                            " bytes of them, or more than " + std::to_string(hook_levels_max) +
                            " levels of directories");
    }
    if (is_hook_file(*each)) {
      fs::copy_file(each->path(), target, fs::copy_options::overwrite_existing, error);
      if (!error) keep_for_owner(target, error);
    } else if (fs::is_directory(each->symlink_status(unreadable))) {
      fs::create_directory(target, error);
      if (!error) keep_for_owner(target, error);
    }
    if (error) break;
  }
  if (!error) return {};
  return tl::unexpected("can't copy the hooks of " + from.string() + ": " + error.message());
}

tl::expected<void, std::string> link_beside_hooks(const fs::path& from, const fs::path& hooks,
                                                  const fs::path& to) {
  if (hooks == ".") return {};
  const fs::path& first = *hooks.begin();
  if (first != hooks) (void)copy_hooks(from / first, to / first);
  fs::path directory;
  for (const fs::path& part : hooks) {
    std::error_code error;
    for (fs::directory_iterator each(from / directory, error), end; !error && each != end;
         each.increment(error)) {
      const fs::path name = each->path().filename();
      const fs::path link = to / directory / name;
      if (name == ".git" || is_there(link)) continue;
      fs::create_symlink(each->path(), link, error);
      if (error) return tl::unexpected("can't link " + link.string() + ": " + error.message());
    }
    directory /= part;
  }
  return {};
}

bool has_other_hooks(const fs::path& from, const fs::path& to) {
  std::error_code error;
  HookCount count;
  for (fs::recursive_directory_iterator each(from, error), end; !error && each != end;
       each.increment(error)) {
    count.add(*each, each.depth());
    if (count.is_too_much()) return true;
    if (!is_hook_file(*each)) continue;
    const auto now = read_file(each->path(), limits::hooks_bytes_max);
    const auto then =
        read_file(to / each->path().lexically_relative(from), limits::hooks_bytes_max);
    if (!now || !then || *now != *then) return true;
  }
  return false;
}

}  // namespace signalbox
