// git's lock files of refs. A git that is killed while it moves a ref leaves its lock, and every
// later change of that ref fails: git itself removes none.
#pragma once

#include <filesystem>
#include <string>

namespace signalbox {

// Removes the lock of a ref that one run alone uses, such as its branch. For whoever moves the ref
// next, when every process that did so before has ended: one job of the run at a time, or while the
// repository's lock is held. A living git whose lock is removed could break the ref.
// `common_directory` is the git directory that all worktrees share, or a pinned stand-in of it.
// Blocks on the disk.
void remove_stale_lock(const std::filesystem::path& common_directory, const std::string& ref);

// Removes the lock of any ref, if whoever made it was about to move the ref to `commit`. For a
// commit that only this run moves it to, when every process of the run that did so has ended. Any
// other lock may be that of a person's git, and stays.
void remove_stale_lock_to(const std::filesystem::path& common_directory, const std::string& ref,
                          const std::string& commit);

}  // namespace signalbox
