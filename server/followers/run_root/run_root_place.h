// Where a run root may lie. A client names it, and the service then makes directories there and
// writes files as its own user.
#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "domain/access.h"
#include "domain/error.h"
#include "store/store_error.h"

namespace signalbox {

// Where run roots may lie: outside the data directory, and for callers that aren't admin below the
// configured directories. Those may be on other disks, which may hang, so a check doesn't look at
// them: where they lead is found out at the start and at a reload. All of it may be called on any
// thread.
class RunRootRule {
 public:
  // `data` is the data directory. All paths are absolute. Blocks on the disk of `data`.
  RunRootRule(std::filesystem::path data, std::vector<std::filesystem::path> roots);

  [[nodiscard]] const std::filesystem::path& data() const { return data_; }
  [[nodiscard]] const std::vector<std::filesystem::path>& roots() const { return roots_; }

  // Finds out where the links in roots()[index] lead; before the first call it counts as written.
  // Blocks on the disk of that root.
  void resolve(std::size_t index);

  // Return the data directory and the roots without links.
  [[nodiscard]] const std::filesystem::path& data_place() const { return data_place_; }
  [[nodiscard]] std::vector<std::filesystem::path> root_places() const;

  // A path below a configured directory: that directory without links, and the names that lead on.
  struct Inside {
    std::filesystem::path directory;
    std::vector<std::string> names;

    [[nodiscard]] std::filesystem::path place() const;
  };
  // Returns where a path lies by the way it is written; nullopt if that is below none of the roots.
  // Other programs write below the roots and may replace a directory by a link at any time, so none
  // of `names` is ever followed if it is a link. Doesn't block.
  [[nodiscard]] std::optional<Inside> inside(const std::filesystem::path& path) const;
  // Returns the same for a path below one of the roots or `<data>/runs`, where the run roots are
  // that nobody named: the jobs that write there mustn't lead the service elsewhere, either.
  [[nodiscard]] std::optional<Inside> guarded(const std::filesystem::path& path) const;

 private:
  const std::filesystem::path data_;
  const std::vector<std::filesystem::path> roots_;
  const std::filesystem::path data_place_;
  mutable std::mutex mutex_;
  std::vector<std::filesystem::path> root_places_;
};

// Checks a run root that a caller of this role names: INVALID_PARAMS inside the data directory,
// except for <data>/runs/NAME, with symbolic links of the part that exists resolved first;
// FORBIDDEN for a caller who isn't admin, unless it is written as a path below one of
// `rule.roots()`. There it must not lead through a link: FORBIDDEN, or INVALID_PARAMS for admin.
// The path is absolute and has no NUL. Blocks on the disk of `run_root` alone. Any thread.
Decided<void> check_run_root(const RunRootRule& rule, const std::string& run_root, Role role);

// Fails with `io` for a root that nothing may be written to: it has a NUL, or lies inside the data
// directory, but isn't <data>/runs/NAME. Logs of earlier versions may have such roots. Blocks on
// the disk. Any thread.
Stored<void> require_writable_place(const std::filesystem::path& data, const std::string& run_root);

}  // namespace signalbox
