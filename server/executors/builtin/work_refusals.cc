#include "server/executors/builtin/work_refusals.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>

#include "domain/attempt_end.h"
#include "domain/refusals.h"
#include "server/executors/builtin/left_out_commits.h"
#include "server/git/unsaved_work.h"
#include "server/text/printable_text.h"
#include "server/text/separated_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

constexpr std::size_t nested_names_bytes_max = 400;
constexpr std::size_t shown_name_bytes_max = 200;

std::string shown_names(const std::vector<std::string>& paths) {
  std::string names;
  for (const std::string& each : paths) names += (names.empty() ? "" : ", ") + shown_name(each);
  return shortened(names, nested_names_bytes_max);
}

}  // namespace

std::string shown_name(const std::string& name) {
  const std::string text = printable(with_replacements(name));
  const std::string_view end = utf8_suffix(text, shown_name_bytes_max);
  return (end.size() < text.size() ? "…" : "") + std::string(end);
}

bool refuses_a_file(std::string_view message) {
  static constexpr std::array<std::string_view, 7> refusals{
      "error: invalid path '",
      "fatal: BOM is required in '",
      "fatal: BOM is prohibited in '",
      "fatal: failed to encode '",
      "fatal: encoding '",
      "fatal: LF would be replaced by CRLF in ",
      "fatal: CRLF would be replaced by LF in "};
  while (!message.empty()) {
    const std::string_view line = take_until(message, '\n');
    const auto begins_line = [line](std::string_view each) { return line.starts_with(each); };
    if (std::any_of(refusals.begin(), refusals.end(), begins_line)) return true;
  }
  return false;
}

tl::unexpected<Failure> WorkRefusals::files_in_submodule(const std::string& link) const {
  return builtin_failure(
      ErrorClass::terminal, std::string(nested_repository_code),
      "there are files at " + shown_name(link) +
          ", the place of a submodule that isn't checked out, which a commit wouldn't hold: "
          "nothing was committed or pushed, and the worktree is kept. Move what is needed out "
          "of " +
          shell_word((request_.workspace / link).string()) + next());
}

tl::unexpected<Failure> WorkRefusals::nested_repository(
    const std::vector<std::string>& paths) const {
  const std::filesystem::path first = request_.workspace / paths.front() / ".git";
  return builtin_failure(
      ErrorClass::terminal, std::string(nested_repository_code),
      "in the workspace are git repositories of their own, whose files a commit wouldn't hold: " +
          shown_names(paths) +
          ". Nothing was committed or pushed, and the worktree is kept. To commit the files, "
          "remove the .git of each, as in `rm -rf " +
          shell_word(first.lexically_normal().string()) + "`; to leave them out, move them away" +
          next());
}

tl::unexpected<Failure> WorkRefusals::refused_file(const std::string& message) const {
  const std::string failed =
      "git refuses a file: nothing was committed or pushed, and the worktree is kept. Rename or "
      "mend the file in " +
      shell_word(request_.workspace.string()) + next() + ". git add: ";
  return builtin_failure(ErrorClass::terminal, std::string(file_refused_code),
                         with_git_message(request_, pinned_, failed, message));
}

tl::unexpected<Failure> WorkRefusals::in_conflict(const std::vector<std::string>& paths) const {
  return builtin_failure(
      ErrorClass::terminal, std::string(file_refused_code),
      "a merge was left with its conflicts in: " + shown_names(paths) +
          ". Nothing was committed or pushed, and the worktree is kept. Resolve them in " +
          shell_word(request_.workspace.string()) + next());
}

tl::unexpected<Failure> WorkRefusals::unfiltered(const std::vector<UnfilteredFile>& files) const {
  std::vector<std::string> paths;
  for (const UnfilteredFile& each : files) paths.push_back(each.path);
  const std::string& filter = files.front().filter;
  const std::string key = shell_word("filter." + filter + ".clean") + " PROGRAM`";
  return builtin_failure(
      ErrorClass::terminal, std::string(file_refused_code),
      "by .gitattributes the program of the filter " + shown_name(filter) +
          " changes what is committed of " + shown_names(paths) +
          ", and none is set up: nothing was committed or pushed, and the worktree is kept. Set it "
          "up with " +
          (filter == "lfs" ? "`git lfs install`"
                           : "`git -C " + shell_word(request_.repository.string()) + " config " +
                                 key + ", and for this run `git config --file " +
                                 shell_word((request_.pins / "git/config").string()) + " " + key) +
          ". If commits have such files, run `git -C " + shell_word(request_.workspace.string()) +
          " reset --soft " + base_.substr(0, 12) + "`" + next());
}

tl::unexpected<Failure> WorkRefusals::too_large(const std::vector<LargeFile>& files,
                                                std::uint64_t bytes_max) const {
  std::uint64_t largest = 0;
  for (const LargeFile& file : files) largest = std::max(largest, file.bytes);
  const std::string setting = std::string(file_bytes_max_key) + " " + std::to_string(largest) + "`";
  return builtin_failure(
      ErrorClass::terminal, std::string(file_too_large_code),
      "files are larger than the " + size_text(bytes_max) +
          " that are committed: " + large_files_text(files) +
          ". Nothing was pushed. To leave them out, move them out of the workspace and run `git "
          "-C " +
          shell_word(request_.workspace.string()) + " reset --soft " + base_.substr(0, 12) +
          "`; to commit them, run `git -C " + shell_word(request_.repository.string()) +
          " config " + setting + ", and for this run `git config --file " +
          shell_word((request_.pins / "git/config").string()) + " " + setting + next());
}

std::string WorkRefusals::next() const {
  return "; then have it tried again: " + retry_hint(request_);
}

tl::unexpected<Failure> WorkRefusals::unpublished_submodule(const std::string& link,
                                                            const std::string& what) const {
  const std::filesystem::path path = request_.workspace / link;
  return builtin_failure(
      ErrorClass::terminal, std::string(nested_repository_code),
      "submodule " + shown_name(link) + " " + what +
          ", which a commit here wouldn't hold: nothing was committed or pushed, and the "
          "worktree is kept. Push its work from " +
          shell_word(path.string()) + next());
}

tl::unexpected<Failure> WorkRefusals::left_out_refs_full() const {
  return builtin_failure(
      ErrorClass::config, std::string(left_out_refs_full_code),
      "the worktree isn't on the run's branch, whose commits would be left out, and the run "
      "has " +
          std::to_string(limits::left_out_refs_max) +
          " refs of such commits already: nothing was moved, committed or pushed, and the "
          "worktree is kept. " +
          left_out_refs_command(request_) +
          " shows them. Remove those that nobody needs, such as `git -C " +
          shell_word(request_.repository.string()) + " update-ref -d " +
          rescue_ref_of(request_.run_id) + "-branch`" + next());
}

}  // namespace signalbox
