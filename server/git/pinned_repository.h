// A repository as it was before a run's agent began to work in it.
//
// Linked worktrees share the repository's `.git/config` and `.git/hooks`, which an agent can write,
// and a worktree's `.git` is a file that it can replace. So intake pins the repository: a directory
// outside of it gets a copy of the configuration (pinned_config.h), of the hooks and of
// info/attributes and info/exclude, and links to the objects, refs and other data of the
// repository. Later git commands of the run use that
// directory as the repository's common directory (GIT_COMMON_DIR), and never search for a `.git`.
// They find the same commits and refs, but no program that was set up meanwhile.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include <tl/expected.hpp>

#include "server/git/git_command.h"
#include "server/git/pinned_config.h"

namespace signalbox {

// The directory of all pinned repositories in the data directory, beside `runs`.
inline constexpr const char* pins_directory_name = "workspaces";

// The file workspace.json of the pinned directory. It is written last, so that it shows that the
// directory is complete.
struct WorkspaceRecord {
  std::string schema = "workspace.v1";
  std::string repository;             // absolute
  std::string git_directory;          // the repository's own
  std::string common_directory;       // the same, or that of its main worktree
  std::string hooks;                  // the directory whose hooks are run
  std::string base_commit;            // that the run's branch began at; empty for a merge
  std::string base_branch;            // that a merge run merges into; empty for others
  std::vector<std::string> programs;  // programs_of_config() of the repository
};
BOOST_DESCRIBE_STRUCT(WorkspaceRecord, (),
                      (schema, repository, git_directory, common_directory, hooks, base_commit,
                       base_branch, programs))

class PinnedRepository {
 public:
  // Pins `repository` in `directory` (<data>/workspaces/<run id>), whatever an interrupted call
  // left there. Hooks below a relative core.hooksPath lie in the worktree: pin_worktree_hooks()
  // adds them. With ConfigTrust::nobodys there are no hooks. Blocks on git and the disk. Error: a
  // sentence.
  static tl::expected<PinnedRepository, std::string> pin(const std::filesystem::path& directory,
                                                         const std::filesystem::path& repository,
                                                         ConfigTrust trust);
  // The same with ConfigTrust::nobodys for a git directory whose work tree may be gone, such as
  // that of a submodule that was removed.
  static tl::expected<PinnedRepository, std::string> pin_git_directory(
      const std::filesystem::path& directory, const std::filesystem::path& git_directory);
  // Opens what pin() and record() made; nullopt if it isn't there, or can't be read.
  static std::optional<PinnedRepository> open_recorded(const std::filesystem::path& directory);
  // The same, but pins with ConfigTrust::nobodys if it isn't there, such as for a run that an
  // earlier version began.
  static tl::expected<PinnedRepository, std::string> open(const std::filesystem::path& directory,
                                                          const std::filesystem::path& repository);

  // Returns the repository as the service itself works in it, outside of a job: without hooks, and
  // with the pinned configuration as far as it is nobody's (ConfigTrust). What runs in the service
  // has its environment, and isn't taken for a job. An agent of an earlier run may have written
  // what was pinned. Blocks on the disk and on git, the first time. Error: a sentence.
  [[nodiscard]] tl::expected<PinnedRepository, std::string> for_service() const;

  // Copies the hooks that the new, untouched worktree has at a relative core.hooksPath, and links
  // what lies beside them (link_beside_hooks()).
  tl::expected<void, std::string> pin_worktree_hooks(const std::filesystem::path& worktree);
  // Writes workspace.json.
  tl::expected<void, std::string> record(std::string base_commit, std::string base_branch);

  [[nodiscard]] const WorkspaceRecord& facts() const { return facts_; }
  // Returns whether record() was called: then the run's worktree was made.
  [[nodiscard]] bool is_recorded() const { return recorded_; }

  // Returns what was set up in the repository since it was pinned: keys of its configuration that
  // name a program or a remote's place, and "hooks" for hooks in its git directory.
  [[nodiscard]] std::vector<std::string> changed_programs() const;

  // Runs git in the repository itself.
  GitOutcome in_repository(std::vector<std::string> arguments, GitOptions options = {}) const;
  // Does the same and returns the whole output, as git_listing() does.
  [[nodiscard]] tl::expected<std::string, std::string> listing(
      std::vector<std::string> arguments, GitOptions options,
      const std::filesystem::path& scratch) const;

  // Runs git in the repository and its own work tree, such as a submodule's.
  GitOutcome in_worktree_of_its_own(std::vector<std::string> arguments,
                                    GitOptions options = {}) const;

  // Returns where git finds the linked worktree at `path`. Error: how it differs from what `git
  // worktree add` made, in a sentence; git must not be run in it then.
  [[nodiscard]] tl::expected<GitPlace, std::string> place_of(
      const std::filesystem::path& path) const;
  // Returns where git finds the worktree that it has on record (find_worktree_record()) and whose
  // files are gone: a place without a work tree. Error: that another repository has the record.
  [[nodiscard]] tl::expected<GitPlace, std::string> place_of_record(
      const std::filesystem::path& record) const;
  // As place_of(), for a worktree that the user checked out, which may be the main one.
  [[nodiscard]] tl::expected<GitPlace, std::string> place_of_checkout(
      const std::filesystem::path& path) const;
  // Returns whether the linked worktree was never finished, so that nobody has worked in it. Its
  // lock alone doesn't say so (is_unfinished_worktree()), nor a missing index: whoever works there
  // can make one, and remove the other. Without a record, the fence marker has to be missing, too.
  // `place` is from place_of().
  [[nodiscard]] bool is_untouched(const GitPlace& place) const;

 private:
  PinnedRepository(std::filesystem::path directory, WorkspaceRecord facts)
      : directory_(std::move(directory)), facts_(std::move(facts)) {}

  // Links the data, copies the rest, and writes the configuration that was listed as far as it is
  // trusted.
  tl::expected<void, std::string> link_and_configure(const std::string& listed, ConfigTrust trust);

  // Fills `to` with a stand-in like this one, for for_service().
  [[nodiscard]] tl::expected<void, std::string> make_for_service(
      const std::filesystem::path& to) const;

  [[nodiscard]] std::filesystem::path common() const { return directory_ / common_name_; }
  [[nodiscard]] std::filesystem::path copied_hooks() const { return directory_ / "hooks"; }
  // Returns where the hooks of a relative core.hooksPath are copied to: by that path below
  // copied_hooks(), or right there if the path leads out of the repository.
  [[nodiscard]] std::filesystem::path place_of_hooks(const std::filesystem::path& configured) const;

  std::filesystem::path directory_;
  std::string common_name_ = "git";
  WorkspaceRecord facts_;
  bool recorded_ = false;
};

// Returns the directory that `<worktree>/.git` names, whether it is there or not; nullopt if that
// isn't the file that git worktree makes.
std::optional<std::filesystem::path> recorded_directory(const std::filesystem::path& worktree);

// Returns whether git's record of the worktree names a place where nothing is: it was moved, as
// with the data directory.
bool was_moved(const std::filesystem::path& worktree);

// Returns the worktree's own directory in `common_directory`. Error: how `<worktree>/.git`, or what
// it points to, differs from what `git worktree add` makes. Any thread.
tl::expected<std::filesystem::path, std::string> find_worktree_directory(
    const std::filesystem::path& worktree, const std::filesystem::path& common_directory);

}  // namespace signalbox
