#include "server/git/tree_removal.h"

#include <system_error>
#include <utility>

#include "server/platform/owned_tree.h"

namespace signalbox {

namespace fs = std::filesystem;

tl::expected<void, std::string> remove_tree(const fs::path& path) {
  auto removed = remove_with_content(path);
  if (!removed) return tl::unexpected(std::move(removed.error().message));
  return {};
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
