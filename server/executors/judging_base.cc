#include "server/executors/judging_base.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "domain/limits.h"
#include "domain/refusals.h"
#include "domain/try.h"
#include "server/git/git_names.h"
#include "server/git/tree_entry.h"
#include "server/git/verified_object.h"
#include "server/platform/atomic_file.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

fs::path merge_base_file(const fs::path& pins) { return pins / "merge_base"; }

// Returns the base that intake, or the latest merge, recorded; empty if there is none.
std::string pinned_base(const PinnedRepository& pinned, const fs::path& pins) {
  if (!pinned.facts().base_commit.empty()) return pinned.facts().base_commit;
  return recorded_merge_base(pins);
}

tl::unexpected<Failure> not_readable(const std::string& why) {
  return tl::unexpected(Failure{Outcome::failed, ErrorClass::config, "CHECKS_MISSING", why});
}
tl::unexpected<Failure> git_trouble(const std::string& message) {
  return tl::unexpected(Failure{Outcome::failed, ErrorClass::transient, "GIT_FAILED", message});
}
tl::unexpected<Failure> object_trouble(const fs::path& repository, const ObjectError& error) {
  if (error.is_forged) return repository_damaged(repository, error.message);
  return git_trouble(error.message);
}

}  // namespace

Stored<void> record_merge_base(const fs::path& pins, const std::string& commit) {
  return write_file_atomically(merge_base_file(pins), commit + "\n");
}

std::string recorded_merge_base(const fs::path& pins) {
  const auto text = read_regular_file(merge_base_file(pins), limits::name_bytes_max);
  return text ? text->substr(0, text->find('\n')) : std::string();
}

tl::unexpected<Failure> repository_damaged(const fs::path& repository, const std::string& why) {
  return tl::unexpected(
      Failure{Outcome::failed, ErrorClass::config, "REPOSITORY_DAMAGED",
              "an object in " + repository.string() +
                  " isn't what its name says, so that nothing is judged by it: " + why +
                  ". `git -C " + shell_word(repository.string()) +
                  " fsck` lists such objects; put them back from a backup or another clone"});
}

tl::unexpected<Failure> base_unknown(const fs::path& pins) {
  const std::string run_id = pins.filename().string();
  return tl::unexpected(
      Failure{Outcome::failed, ErrorClass::config, "BASE_UNKNOWN",
              "neither the log nor " + pins.string() +
                  " has the commit that this work began at, so that nothing can judge it. Put that "
                  "directory back from a backup and have it tried again (`signalbox run why " +
                  run_id + "` names the command), or start another run"});
}

tl::expected<std::optional<JudgingBase>, Failure> JudgingBase::open(
    const fs::path& pins, const fs::path& repository, const std::optional<std::string>& recorded) {
  auto pinned = PinnedRepository::open_recorded(pins);
  if (!pinned && !recorded) return std::nullopt;
  std::string commit = recorded.value_or("");
  if (pinned && commit.empty()) commit = pinned_base(*pinned, pins);
  if (!is_object_id(commit)) return base_unknown(pins);
  if (!pinned) {
    auto anew = PinnedRepository::open(pins, repository);
    if (!anew) {
      return tl::unexpected(
          Failure{Outcome::failed, ErrorClass::transient, "GIT_FAILED", anew.error()});
    }
    pinned = std::move(*anew);
  }
  return JudgingBase(std::move(*pinned), std::move(commit));
}

tl::expected<std::optional<std::string>, Failure> JudgingBase::read(const std::string& file,
                                                                    std::size_t bytes_max) const {
  const GitOutcome listed = pinned_.in_repository(
      {"ls-tree", "-l", "-t", "-z", "--full-tree", "--end-of-options", commit_, "--", file});
  if (!listed.ok) return git_trouble(listed.message);
  // The directories on the way, and then the file. Git verifies the commit and its topmost tree.
  const std::vector<TreeEntry> entries = parse_tree_entries(listed.output);
  std::vector<std::string> objects;
  for (const TreeEntry& each : entries) {
    if (each.is_tree) objects.push_back(each.object + "^{tree}");
    if (each.is_regular) objects.push_back(each.object + "^{blob}");
  }
  TRY(verify(objects));
  if (entries.empty() || entries.back().path != file) return std::optional<std::string>();
  const TreeEntry& entry = entries.back();
  if (!entry.is_regular) return not_readable("it is not a regular file");
  if (entry.bytes > bytes_max) {
    return not_readable("it is longer than " + std::to_string(bytes_max) + " bytes");
  }
  GitOutcome content = pinned_.in_repository({"cat-file", "blob", entry.object});
  if (!content.ok) return git_trouble(content.message);
  return std::optional<std::string>(std::move(content.output));
}

tl::expected<void, Failure> JudgingBase::verify(const std::vector<std::string>& objects) const {
  const auto verified = verify_objects(pinned_, objects);
  if (!verified) return object_trouble(pinned_.facts().repository, verified.error());
  return {};
}

// "120000 blob 1c2…\tcheck.sh\0"
tl::expected<BaseTree, Failure> JudgingBase::tree(const fs::path& scratch) const {
  constexpr std::string_view link_mode = "120000 blob ";
  constexpr std::string_view tree_mode = "040000 tree ";
  constexpr std::string_view submodule_mode = "160000 ";
  const auto listing = pinned_.listing(
      {"ls-tree", "-r", "-t", "-z", "--full-tree", "--end-of-options", commit_}, {}, scratch);
  if (!listing) return git_trouble(listing.error());
  BaseTree found;
  std::vector<std::string> trees;
  for (std::string_view rest = *listing; !rest.empty();) {
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    const std::size_t tab = entry.find('\t');
    if (tab == std::string_view::npos) continue;
    const std::string object(entry.substr(link_mode.size(), tab - link_mode.size()));
    if (entry.starts_with(tree_mode)) trees.push_back(object + "^{tree}");
    const std::string path(entry.substr(tab + 1));
    if (entry.starts_with(link_mode)) found.links.push_back({path, object});
    if (entry.starts_with("100")) found.files.push_back(path);
    if (entry.starts_with(submodule_mode)) found.submodules.push_back(path);
  }
  TRY(verify(trees));
  return found;
}

tl::expected<std::string, Failure> JudgingBase::target_of(const TreeLink& link) const {
  TRY(verify({link.object + "^{blob}"}));
  GitOutcome content = pinned_.in_repository({"cat-file", "blob", link.object});
  if (!content.ok) return git_trouble(content.message);
  const bool is_path = content.output.size() <= limits::path_bytes_max;
  return is_path ? std::move(content.output) : std::string();
}

}  // namespace signalbox
