#include "server/git/hidden_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <set>
#include <string_view>
#include <system_error>

#include "domain/try.h"
#include "server/git/git_listing.h"
#include "server/git/git_names.h"
#include "server/git/path_facts.h"
#include "server/git/tree_removal.h"
#include "server/platform/atomic_file.h"
#include "server/text/separated_text.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

constexpr std::size_t copied_at_once_max = 256UL * 1024;  // bytes of an index

// In the directory where the repository is pinned; its names end with '\0'.
constexpr const char* left_out_name = "sparse-files";

// A worktree that never had a sparse checkout has no such file. For git, a link that leads nowhere
// and a directory have no patterns either.
bool may_be_sparse(const GitOptions& options) {
  std::error_code error;
  return !options.place || std::filesystem::is_regular_file(
                               options.place->git_directory / "info/sparse-checkout", error);
}

// Returns the files that the sparse checkout left out when the worktree was made.
std::set<std::string, std::less<>> remembered_left_out(const std::filesystem::path& pins) {
  const auto text = read_regular_file(pins / left_out_name, git_listing_bytes_max);
  std::set<std::string, std::less<>> known;
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  while (!rest.empty()) known.emplace(take_until(rest, '\0'));
  return known;
}

// Returns the same of the repository that the options name: nothing for one that isn't pinned.
std::set<std::string, std::less<>> remembered_left_out(const GitOptions& options) {
  if (!options.place) return {};
  return remembered_left_out(options.place->common_directory.parent_path());
}

// Gives these files of the index the mark, or takes it from them, as the option says.
tl::expected<void, std::string> mark_files(const std::filesystem::path& worktree,
                                           GitOptions options, const char* option,
                                           const std::vector<std::string>& files) {
  if (files.empty()) return {};
  options.input.emplace();
  for (const std::string& each : files) *options.input += each + '\0';
  const GitOutcome marked = git(worktree, {"update-index", "-z", option, "--stdin"}, options);
  if (!marked.ok) return tl::unexpected("git update-index: " + marked.message);
  return {};
}

// Marks the files in the index called `name` that the sparse checkout leaves out. A work tree
// without files is used: in the worktree, git would also remove such files and their directories.
tl::expected<void, std::string> mark_by_patterns(GitOptions options, const std::string& name) {
  const std::filesystem::path empty =
      options.place->common_directory.parent_path() / (name + ".work-tree");
  std::error_code error;
  std::filesystem::create_directory(empty, error);
  if (error) return tl::unexpected("can't make " + empty.string() + ": " + error.message());
  options.place->work_tree = empty;
  options.place->hooks = "/dev/null";
  // As in may_be_sparse(), the configuration isn't asked. The patterns of a cone mean the same
  // where git takes them for any others.
  options.settings.insert(options.settings.end(),
                          {"core.sparseCheckout=true", "core.sparseCheckoutCone=false"});
  const GitOutcome marked = git(empty, {"sparse-checkout", "reapply"}, options);
  std::filesystem::remove(empty, error);
  if (marked.ok) return {};
  return tl::unexpected("the patterns in " +
                        (options.place->git_directory / "info/sparse-checkout").string() +
                        " can't be applied (" + marked.message +
                        "): correct them, or remove that file, after which "
                        "files that aren't there count as deleted");
}

// Marks the files in the index that the sparse checkout left out when the worktree was made and
// that still aren't there: whoever worked in the worktree can have removed the patterns.
tl::expected<void, std::string> mark_remembered(const std::filesystem::path& worktree,
                                                const GitOptions& options) {
  const auto known = remembered_left_out(options);
  if (known.empty()) return {};
  const auto listed = TRY(git_listing(worktree, {"ls-files", "-z"}, options,
                                      options.place->common_directory.parent_path()));
  std::vector<std::string> absent;  // git refuses to mark what isn't in the index
  std::string_view rest = listed;
  while (!rest.empty()) {
    const std::string_view path = take_until(rest, '\0');
    if (known.contains(path) && !is_there(worktree / path)) absent.emplace_back(path);
  }
  return mark_files(worktree, options, "--skip-worktree", absent);
}

// Makes an index called `made` of the commit. Without its marks it would say that the files were
// deleted that a sparse checkout leaves out, so that it gets its name once they are in it.
tl::expected<void, std::string> make_index(const std::filesystem::path& worktree,
                                           GitOptions options, const std::filesystem::path& made,
                                           const std::string& commit) {
  options.environment.insert(options.environment.begin(), "GIT_INDEX_FILE=" + made.string());
  const GitOutcome read = git(worktree, {"read-tree", commit}, options);
  if (!read.ok) return tl::unexpected(read.message);
  if (options.place && may_be_sparse(options)) {
    TRY(mark_by_patterns(options, made.filename().string()));
  }
  return mark_remembered(worktree, options);
}

// Returns whether git says that the index itself is damaged. Where it couldn't open or map the
// file, or had no memory, the next attempt may read it.
bool says_damaged(std::string_view message) {
  static constexpr std::array<std::string_view, 8> statements{
      "fatal: index file corrupt",
      "fatal: corrupt link extension, ",
      "fatal: position for ",  // "… replacement 7 exceeds base index size 5"
      "fatal: malformed name field in the index",
      "fatal: unknown index entry format ",
      "fatal: unordered stage entries ",
      "fatal: multiple stage entries for merged file ",
      "fatal: broken index, expect "};
  while (!message.empty()) {
    const std::string_view line = take_until(message, '\n');
    const auto begins_line = [line](std::string_view each) { return line.starts_with(each); };
    if (std::any_of(statements.begin(), statements.end(), begins_line)) return true;
    if (line.starts_with("fatal: ") && line.ends_with(": index file smaller than expected")) {
      return true;
    }
  }
  return false;
}

// Returns whether the index that the options name is one; false if git says that it's damaged.
// Error: git's message, if it couldn't read the index this time.
tl::expected<bool, std::string> is_whole_index(const std::filesystem::path& worktree,
                                               const GitOptions& options) {
  const GitOutcome read = git(worktree, {"ls-files", "--unmerged", "-z"}, options);
  if (read.ok) return true;
  if (read.exit_code == 128 && !read.timed_out && says_damaged(read.message)) return false;
  return tl::unexpected("git ls-files: " + read.message);
}

// Returns whether the path leads to a regular file that an index can be copied from. Error: a
// sentence; nothing is known about it then.
tl::expected<bool, std::string> leads_to_index(const std::filesystem::path& path) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) == 0) return S_ISREG(facts.st_mode);
  static constexpr std::array<int, 5> lasting{ENOENT, ENOTDIR, ELOOP, EACCES, ENAMETOOLONG};
  if (std::find(lasting.begin(), lasting.end(), errno) != lasting.end()) return false;
  return tl::unexpected("can't look at the index " + path.string() + ": " +
                        std::generic_category().message(errno));
}

// Copies the index that a link leads to. Returns false if it leads to none that may be read.
tl::expected<bool, std::string> copy_linked_index(const std::filesystem::path& link,
                                                  const std::filesystem::path& to) {
  if (!TRY(leads_to_index(link))) return false;
  const std::filesystem::path target = resolved_path(link);
  std::error_code error;
  const auto bytes = std::filesystem::file_size(target, error);
  if (!error && bytes > limits::worktree_index_bytes_max) return false;
  if (::access(target.c_str(), R_OK) != 0 && errno == EACCES) return false;
  TRY(copy_index(target, to));
  return true;
}

// Returns whether the disk of the directory keeps which files are executable, as git finds out
// where it makes a repository. The file has no name.
bool keeps_executable_bit(const std::filesystem::path& directory) {
  const FileDescriptor file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  struct stat facts = {};
  const auto is_executable = [&file, &facts] {
    return ::fstat(file.get(), &facts) == 0 && (facts.st_mode & S_IXUSR) != 0;
  };
  return file && !is_executable() && ::fchmod(file.get(), 0700) == 0 && is_executable();
}

}  // namespace

tl::expected<MarkedFiles, std::string> marked_files(const std::filesystem::path& worktree,
                                                    const GitOptions& options,
                                                    const std::filesystem::path& scratch) {
  const auto listed = TRY(git_listing(worktree, {"ls-files", "-v", "-z"}, options, scratch));
  // The configuration isn't asked: for a worktree it may be in a file that a pinned repository
  // doesn't read.
  const bool is_sparse = may_be_sparse(options);
  const auto known = remembered_left_out(options);
  MarkedFiles marked;
  std::string_view rest = listed;
  while (!rest.empty()) {  // "<tag> <path>\0": S is skipped, a small letter is assumed unchanged
    std::string_view path = take_until(rest, '\0');
    const std::string_view tag = take_until(path, ' ');
    const bool is_assumed = tag.size() == 1 && tag.front() >= 'a' && tag.front() <= 'z';
    const bool is_skipped = tag == "S" || tag == "s";
    if (!is_skipped && !is_assumed) continue;
    // A sparse checkout skips files that aren't there; else such a file was deleted.
    const bool may_be_left_out = is_skipped && (is_sparse || known.contains(path));
    const bool is_left_out = may_be_left_out && !is_there(worktree / path);
    (is_left_out ? marked.left_out : marked.hidden).emplace_back(path);
  }
  return marked;
}

tl::expected<std::vector<std::string>, std::string> hidden_files(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& scratch) {
  return TRY(marked_files(worktree, options, scratch)).hidden;
}

tl::expected<void, std::string> remember_left_out(const std::filesystem::path& worktree,
                                                  const GitOptions& options,
                                                  const std::filesystem::path& pins) {
  if (!may_be_sparse(options)) return {};
  const auto marked = TRY(marked_files(worktree, options, pins));
  std::string text;
  for (const std::string& each : marked.left_out) text += each + '\0';
  if (auto written = write_file_atomically(pins / left_out_name, text); !written) {
    return tl::unexpected(written.error().message);
  }
  return {};
}

tl::expected<std::vector<std::string>, std::string> newly_left_out(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& pins) {
  if (!may_be_sparse(options)) return std::vector<std::string>();
  auto left_out = TRY(marked_files(worktree, options, pins)).left_out;
  const auto known = remembered_left_out(pins);
  std::erase_if(left_out, [&known](const std::string& each) { return known.contains(each); });
  return left_out;
}

// The agent can put anything in the place of its index, and change it meanwhile.
tl::expected<void, std::string> copy_index(const std::filesystem::path& from,
                                           const std::filesystem::path& to) {
  const auto failed = [&from](const std::string& why) {
    return tl::unexpected("can't copy the index " + from.string() + ": " + why);
  };
  const auto by_errno = [&failed] { return failed(std::generic_category().message(errno)); };
  const FileDescriptor source(::open(from.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts = {};
  if (!source || ::fstat(source.get(), &facts) != 0) return by_errno();
  if (!S_ISREG(facts.st_mode)) return failed("it isn't a regular file");
  const FileDescriptor copy(
      ::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!copy) return by_errno();
  std::size_t copied = static_cast<std::size_t>(facts.st_size);
  if (copied <= limits::worktree_index_bytes_max) copied = 0;
  std::vector<char> bytes(copied_at_once_max);
  while (copied <= limits::worktree_index_bytes_max) {
    const ssize_t read = ::read(source.get(), bytes.data(), bytes.size());
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return by_errno();
    if (read == 0) break;
    const auto size = static_cast<std::size_t>(read);
    copied += size;
    if (!write_all(copy, {bytes.data(), size})) return by_errno();
  }
  if (copied > limits::worktree_index_bytes_max) {
    return failed("it is larger than " + std::to_string(limits::worktree_index_bytes_max) +
                  " bytes");
  }
  const std::array<timespec, 2> times{facts.st_atim, facts.st_mtim};
  if (::futimens(copy.get(), times.data()) != 0) return by_errno();
  return {};
}

tl::expected<void, std::string> copy_index_if_there(const std::filesystem::path& from,
                                                    const std::filesystem::path& to) {
  if (!TRY(leads_to_index(from))) return {};
  return copy_index(resolved_path(from), to);
}

tl::expected<IndexOrigin, std::string> mend_index(const std::filesystem::path& worktree,
                                                  const GitOptions& options,
                                                  const std::filesystem::path& index) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::file_type type = fs::symlink_status(index, error).type();
  if (type == fs::file_type::none) {
    return tl::unexpected("can't look at the index " + index.string() + ": " + error.message());
  }
  if (type == fs::file_type::regular) {
    // The mode may have been taken from it. Who can't give it back gets git's message.
    const auto readable = fs::perms::owner_read | fs::perms::owner_write;
    fs::permissions(index, readable, fs::perm_options::add, error);
    if (TRY(is_whole_index(worktree, options))) return IndexOrigin::own;
  }
  const auto failed = [&index](const std::string& why) {
    return tl::unexpected("can't make the index " + index.string() +
                          ", which is missing or unreadable: " + why);
  };
  const fs::path made = index.string() + ".made";
  for (const char* end : {"", ".lock"}) TRY(remove_tree(made.string() + end));
  // Through a link git would read this index, and write wherever the link leads.
  if (type == fs::file_type::symlink && TRY(copy_linked_index(index, made))) {
    fs::rename(made, index, error);  // this replaces the link, not what it leads to
    if (error) return failed(error.message());
    if (TRY(is_whole_index(worktree, options))) return IndexOrigin::own;
    type = fs::file_type::regular;
  }
  fs::remove(made, error);  // a part of a copy
  const GitOutcome head = git(worktree, commit_query("HEAD"), options);
  const bool is_unborn = !head.ok && head.exit_code == 1 && !head.timed_out;
  if (!head.ok && !is_unborn) return failed(head.message);
  if (!is_unborn) {
    if (auto read = make_index(worktree, options, made, head.line()); !read)
      return failed(read.error());
  }
  // Nothing can be renamed over a directory, and a damaged index may be of use to a person.
  if (type == fs::file_type::directory || type == fs::file_type::regular) {
    const fs::path aside = index.string() + ".set-aside";
    TRY(remove_tree(aside));
    fs::rename(index, aside, error);
    if (error) return failed(error.message());
  }
  if (is_unborn) {
    fs::remove(index, error);  // a link that leads nowhere
  } else {
    fs::rename(made, index, error);
  }
  if (error) return failed(error.message());
  return is_unborn ? IndexOrigin::own : IndexOrigin::made;
}

std::vector<std::string> revealing_settings(const std::filesystem::path& worktree) {
  std::vector<std::string> settings{"core.trustctime=true", "core.checkStat=default"};
  if (keeps_executable_bit(worktree)) settings.emplace_back("core.fileMode=true");
  return settings;
}

tl::expected<std::vector<std::string>, std::string> reveal_hidden_files(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& scratch) {
  auto hidden = TRY(hidden_files(worktree, options, scratch));
  for (const char* option : {"--no-assume-unchanged", "--no-skip-worktree"}) {
    TRY(mark_files(worktree, options, option, hidden));
  }
  return hidden;
}

}  // namespace signalbox
