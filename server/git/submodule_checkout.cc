#include "server/git/submodule_checkout.h"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include "server/git/git_names.h"
#include "server/git/nested_work.h"
#include "server/git/path_facts.h"
#include "server/git/submodule_links.h"
#include "server/git/tree_removal.h"
#include "server/limits.h"
#include "server/platform/call_bounds.h"
#include "server/text/printable_text.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// The clone of one submodule in a worktree.
class SubmoduleClone {
 public:
  SubmoduleClone(const fs::path& worktree, const GitPlace& place, DeclaredSubmodule submodule)
      : worktree_(worktree),
        place_(place),
        submodule_(std::move(submodule)),
        directory_(place.git_directory / "modules" / submodule_.name) {
    place_.hooks = "/dev/null";
  }

  // Returns why the submodule couldn't be checked out; empty if it was, or if it isn't wanted.
  [[nodiscard]] std::string check_out() const {
    const std::string key = "submodule." + submodule_.name + ".url";
    const std::string url = run({"config", "--get", key}).line();
    if (url.empty()) return {};
    GitOutcome updated;
    const fs::path owners = place_.common_directory / "modules" / submodule_.name;
    if (is_there(owners / "HEAD")) {
      updated = update({"protocol.file.allow=always", key + "=" + owners.string()});
      if (is_there(directory_ / "config")) {
        run({"config", "--file", (directory_ / "config").string(), "remote.origin.url", url});
      }
    }
    if (!updated.ok) updated = update({});
    if (!updated.ok) {
      remove_begun();
      return updated.message;
    }
    mark_as_known();
    return {};
  }

 private:
  GitOutcome run(std::vector<std::string> arguments) const {
    GitOptions options;
    options.place = place_;
    return git(worktree_, std::move(arguments), options);
  }
  [[nodiscard]] GitOutcome update(std::vector<std::string> settings) const {
    GitOptions options;
    options.place = place_;
    options.settings = std::move(settings);
    return git(worktree_,
               {"submodule", "--quiet", "update", "--", ":(top,literal)" + submodule_.path},
               options);
  }
  // A clone without its files would look like work that an agent left.
  void remove_begun() const {
    const fs::path path = worktree_ / submodule_.path;
    std::error_code ignored;
    if (!remove_tree(path) || !remove_tree(directory_)) return;  // git says so later
    fs::create_directory(path, ignored);
  }
  // Its commit, and those of its tags, may be on no branch of its remote, and yet they are no work
  // of this run (nested_work.h).
  void mark_as_known() const {
    GitOptions options;
    options.place = GitPlace{directory_, directory_, worktree_ / submodule_.path, "/dev/null"};
    const auto there = [&](std::vector<std::string> arguments) {
      return git(worktree_ / submodule_.path, std::move(arguments), options);
    };
    there({"update-ref", submodule_base_ref, "HEAD"});
    const GitOutcome tags = there({"log", "--no-walk", "--tags", "--format=%H",
                                   "--max-count=" + std::to_string(limits::submodule_tags_max)});
    if (!tags.ok) return;
    std::vector<std::string> arguments{"-c",          "user.name=Signalbox",
                                       "-c",          "user.email=signalbox@localhost",
                                       "commit-tree", "HEAD^{tree}",
                                       "-m",          "tags",
                                       "-p",          "HEAD"};
    std::string_view rest = tags.output;
    while (!rest.empty()) {
      const std::string_view commit = take_until(rest, '\n');
      if (is_object_id(commit)) arguments.insert(arguments.end(), {"-p", std::string(commit)});
    }
    const GitOutcome known = there(std::move(arguments));
    if (known.ok) there({"update-ref", submodule_tags_ref, known.line()});
  }

  fs::path worktree_;
  GitPlace place_;
  DeclaredSubmodule submodule_;
  fs::path directory_;  // its git directory
};

}  // namespace

std::string check_out_submodules(const fs::path& worktree, const GitPlace& place,
                                 const fs::path& scratch) {
  const CallBounds bounds(CallBounds::now_ms() + limits::submodules_ms_max);
  GitOptions there;
  there.place = place;
  std::string failures;
  const auto links = submodule_links(worktree, there, scratch);
  if (!links || links->empty()) return failures;
  const std::vector<DeclaredSubmodule> declared = declared_submodules(worktree, there);
  for (std::size_t index = 0; index < std::min(declared.size(), limits::submodules_max); ++index) {
    const DeclaredSubmodule& each = declared[index];
    // The index has no path that leads out of the worktree. "=" would end the key of a setting.
    const bool is_linked = std::binary_search(links->begin(), links->end(), each.path);
    const bool is_safe_name = is_branch_name(each.name) && each.name.find('=') == std::string::npos;
    if (!is_linked || !is_safe_name) continue;
    const std::string why = SubmoduleClone(worktree, place, each).check_out();
    if (!why.empty()) {
      failures += " Submodule " + printable(each.path) + " can't be checked out: " + why + ".";
    }
  }
  return failures;
}

}  // namespace signalbox
