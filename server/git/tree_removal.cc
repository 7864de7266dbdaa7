#include "server/git/tree_removal.h"

#include <system_error>

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Removing an entry requires write permission for its directory.
void make_directories_writable(const fs::path& path) {
  std::error_code ignored;
  fs::permissions(path, fs::perms::owner_all, fs::perm_options::add, ignored);
  std::error_code error;
  for (fs::directory_iterator each(path, error), end; !error && each != end;
       each.increment(error)) {
    if (fs::is_directory(each->symlink_status(ignored))) make_directories_writable(each->path());
  }
}

}  // namespace

tl::expected<void, std::string> remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return {};
  if (fs::is_directory(fs::symlink_status(path, error))) make_directories_writable(path);
  fs::remove_all(path, error);
  if (!error) return {};
  return tl::unexpected("can't remove " + path.string() + ": " + error.message());
}

tl::expected<void, std::string> remove_tree_atomically(const fs::path& path) {
  const fs::path pending_delete = pending_delete_path(path);
  if (auto gone = remove_tree(pending_delete); !gone) return gone;
  std::error_code error;
  fs::rename(path, pending_delete, error);
  if (error) {
    return tl::unexpected("can't rename " + path.string() + ": " + error.message());
  }
  return remove_tree(pending_delete);
}

fs::path pending_delete_path(const fs::path& path) { return path.string() + ".removing"; }

}  // namespace signalbox
