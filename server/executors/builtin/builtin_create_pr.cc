#include "server/executors/builtin/builtin_create_pr.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "domain/try.h"
#include "server/executors/builtin/proposal_checks.h"
#include "server/executors/builtin/proposal_push.h"
#include "server/executors/builtin/run_worktree.h"
#include "server/executors/builtin/work_commit.h"
#include "server/executors/builtin/work_refusals.h"
#include "server/executors/check_files.h"
#include "server/executors/judging_base.h"
#include "server/executors/proposal_metadata.h"
#include "server/git/git_command.h"
#include "server/git/git_names.h"
#include "server/git/worktree_status.h"
#include "server/platform/atomic_file.h"
#include "server/text/printable_text.h"
#include "server/text/separated_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::size_t title_bytes_max = 72;
constexpr const char* no_intake_hint =
    " that intake made: start the run with a repository, and have intake in its pipeline";
constexpr std::size_t commits_shown_max = 50;
constexpr std::size_t changes_bytes_max = 16 * 1024;
constexpr std::size_t left_out_names_max = 20;  // names in the pull request
constexpr std::size_t left_out_sentence_bytes_max = 400;
constexpr const char* listed_in_artifact = "listed in the artifact left_out.txt";

// Returns the first line of the goal that isn't empty, shortened to a commit's title.
std::string title_of(const BuiltinRequest& request) {
  const std::size_t begin = request.goal.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "Run " + request.run_id;
  std::string line = request.goal.substr(begin, request.goal.find('\n', begin) - begin);
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  if (line.size() <= title_bytes_max) return line;
  return std::string(utf8_prefix(line, title_bytes_max - 3)) + "…";
}

// Returns the commit that the work began at: that of the log, or else of what intake pinned. The
// run root isn't asked: an agent can write there.
tl::expected<std::string, Failure> find_base(const BuiltinRequest& request,
                                             const PinnedRepository& pinned) {
  std::string base = request.recorded_base.value_or("");
  if (base.empty() && pinned.is_recorded()) base = pinned.facts().base_commit;
  if (is_object_id(base)) return base;
  if (!request.recorded_base && !pinned.is_recorded()) {
    return not_a_worktree(request, no_intake_hint);
  }
  return base_unknown(request.pins);
}

// Returns the part of the pull request about changed checks; empty if there are none.
std::string checks_changed_section(const std::vector<std::string>& changed) {
  if (changed.empty()) return {};
  std::string text =
      "## Changed checks\n\nThis work changes files that decide how work is checked. It was judged "
      "by the checks of its base; scripts that they name ran as this work has them.\n\n";
  for (const std::string& file : listed_check_files(changed))
    text += "- " + markdown_code(file) + "\n";
  if (changed.size() > changed_files_shown_max) {
    text += "- and " + std::to_string(changed.size() - changed_files_shown_max) + " more\n";
  }
  return text + "\n";
}

// Returns all that the work has and the commit doesn't, for left_out.txt: the most important first.
std::vector<std::string> left_out_of(const CommittedWork& work) {
  std::vector<std::string> names;
  for (const auto* each : {&work.large, &work.unreadable, &work.sparse, &work.ignored}) {
    names.insert(names.end(), each->begin(), each->end());
  }
  return names;
}

// Returns names under a sentence that says why they are left out; empty if there are none.
std::string left_out_list(const std::string& why, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::string text = why + ":\n\n";
  const std::size_t named = std::min(names.size(), left_out_names_max);
  for (std::size_t index = 0; index < named; ++index) {
    text += "- " + markdown_code(shown_name(names[index])) + "\n";
  }
  if (names.size() > named) {
    text += "- and " + std::to_string(names.size() - named) + " more\n";
  }
  return text + "\n";
}

// Returns the part of the pull request about what it leaves out; empty if there is nothing.
std::string left_out_section(const CommittedWork& work) {
  std::string text;
  if (!work.elsewhere.empty()) {
    text += markdown_code_block(std::string_view(work.elsewhere).substr(1)) + "\n";
  }
  text += left_out_list("Too large to be committed", work.large);
  text += left_out_list("Unreadable", work.unreadable);
  text += left_out_list("Unchanged, because a sparse checkout leaves them out of the worktree",
                        work.sparse);
  text += left_out_list("Ignored by git, and there when the checks ran", work.ignored);
  return text.empty() ? text : "## Not in this change\n\n" + text;
}

BuiltinStep write_artifacts(const Proposal& proposal, const CommittedWork& work,
                            const std::vector<std::string>& changed) {
  const BuiltinRequest& request = proposal.request;
  const std::string& from = proposal.shared.front();
  const std::string range = from + "..HEAD";
  GitOptions to_file;
  to_file.output_file = request.artifacts_dir / "change.patch";
  const GitOutcome patch =
      proposal.run({"format-patch", "--stdout", "--binary", "--no-signature", "--no-ext-diff",
                    "--no-textconv", "--submodule=short", "--ignore-submodules=none",
                    "--src-prefix=a/", "--dst-prefix=b/", "--end-of-options", range},
                   to_file);
  if (!patch.ok) return git_failed("cannot write the patch", patch.message);
  const GitOutcome commits =
      proposal.run({"log", "--no-decorate", "--format=- %h %s",
                    "--max-count=" + std::to_string(commits_shown_max), "--end-of-options", range});
  if (!commits.ok) return git_failed("cannot list the commits", commits.message);
  const GitOutcome changes = proposal.run(
      {"diff", "--stat=100", "--no-color", "--no-ext-diff", "--no-textconv", "--submodule=short",
       "--ignore-submodules=none", "--end-of-options", from, "HEAD"});
  if (!changes.ok) return git_failed("cannot list the changes", changes.message);

  const std::vector<std::string> left_out = left_out_of(work);
  const std::string text =
      "# " + title_of(request) + "\n\n" + request.goal + "\n\n" + checks_changed_section(changed) +
      left_out_section(work) + "## Commits\n\n" +
      shortened(with_replacements(commits.output), changes_bytes_max) + "\n## Changes\n\n" +
      markdown_code_block(shortened(with_replacements(changes.output), changes_bytes_max)) +
      "\nRun " + request.run_id + ", branch " + request.branch + ".\n";
  auto written =
      write_file_atomically(request.artifacts_dir / "pull_request.md", printable_lines(text));
  if (written && !left_out.empty()) {
    written =
        write_file_atomically(request.artifacts_dir / "left_out.txt", left_out_text(left_out));
  }
  if (written && !changed.empty()) {
    written = write_file_atomically(request.artifacts_dir / checks_changed_name,
                                    checks_changed_text(changed));
  }
  if (written) return {};
  return builtin_failure(ErrorClass::transient, "STORAGE_FAILED", written.error().message);
}

// Returns the outcome of a proposal without a change. A run whose work was a mock from the start
// goes on; any other one has failed, and its message says if only a mock has worked. `note` says
// what of the work was left out.
BuiltinOutcome nothing_to_propose(const BuiltinRequest& request, const std::string& why,
                                  const std::string& note) {
  if (request.mocked == Mocked::everything) {
    return BuiltinSuccess{"Mock create_pr: nothing was proposed, since " + why + "." + note,
                          R"({"mode":"mock"})"};
  }
  const std::string mock = request.mocked == Mocked::nothing
                               ? ""
                               : "; the coding agent was a mock, which changes no files unless the "
                                 "run's input has some (CODERUNNER_MODE=process runs a real one)";
  return builtin_failure(ErrorClass::terminal, "NOTHING_TO_PROPOSE", why + mock + note);
}

// Returns sentences about all that was left out, each after a line end; empty if there are none.
// `where` says where the names of ignored files are, in words that follow a comma.
std::string left_out_note(const CommittedWork& work, const std::string& where) {
  if (work.ignored.empty()) return work.note;
  return work.note +
         "\nLeft out, because git ignores them: " + std::to_string(work.ignored.size()) +
         (work.ignored.size() == 1 ? " file or directory" : " files and directories") +
         ", such as " + shown_name(work.ignored.front()) + ", " + where + ".";
}

// Returns sentences about who worked and what judges the work, each after a line end; empty if
// there is nothing to say.
std::string note_of(const Proposal& proposal, const std::vector<std::string>& changed) {
  const BuiltinRequest& request = proposal.request;
  std::string note;
  const std::string& shared = proposal.shared.front();
  if (shared != proposal.base) {
    note += "\nA merge changes what differs from " + shared.substr(0, 12) +
            ", the newest commit that it has in common with " +
            without_credentials(request.remote) + ": pull_request.md and change.patch begin there.";
  }
  if (request.mocked != Mocked::nothing) note += "\nThe coding agent was a mock.";
  if (!changed.empty()) {
    note +=
        "\nIt changes files that decide how work is checked: " + shown_check_files(changed) + ".";
  }
  return note;
}

// Adds the sentences as far as they fit into metadata, and says if they don't. The files that
// change checks go before.
void add_left_out(const std::string& note, const std::string& run_id, json::object& metadata) {
  const std::string more = "More is left out: `signalbox run get " + run_id + "` has all of it.";
  json::array sentences;
  std::string_view rest = note;
  while (!rest.empty()) {
    const std::string_view line = take_until(rest, '\n');
    if (line.empty()) continue;
    const std::string sentence = shortened(line, left_out_sentence_bytes_max);
    json::object with = metadata;
    json::array& tried = with[left_out_field].emplace_array();
    tried = sentences;
    tried.emplace_back(sentence);
    tried.emplace_back(more);
    const bool fits = json::serialize(with).size() <= limits::metadata_bytes_max;
    sentences.emplace_back(fits ? sentence : more);
    if (!fits) break;
  }
  if (!sentences.empty()) metadata[left_out_field] = std::move(sentences);
}

// Returns the metadata about a proposal that was pushed to `remote`, or nowhere.
std::string proposal_metadata(const Proposal& proposal, const std::string& head,
                              const std::string& commits, const std::string& remote,
                              const CommittedWork& work, const std::vector<std::string>& changed) {
  json::object metadata{{"branch", proposal.request.branch},
                        {"base_commit", proposal.base},
                        {"head_commit", head},
                        {"commits", std::stoll(commits)},
                        {"pushed_to", remote}};
  if (!changed.empty()) {
    json::array files;
    for (const std::string& file : listed_check_files(changed)) files.emplace_back(file);
    metadata[checks_changed_field] = std::move(files);
    metadata[checks_changed_total_field] = changed.size();
  }
  add_left_out(left_out_note(work, listed_in_artifact), proposal.request.run_id, metadata);
  return json::serialize(metadata);
}

BuiltinSuccess refuse_changed_checks(std::string metadata,
                                     const std::vector<std::string>& changed) {
  Failure failure{
      Outcome::failed, ErrorClass::config, "CHECKS_CHANGED",
      "the work changes files that decide how it is checked: " + shown_check_files(changed) +
          ", which the policy refuses; nothing was pushed"};
  return {.summary = {}, .metadata = std::move(metadata), .refusal = std::move(failure)};
}

BuiltinSuccess success(const Proposal& proposal, const std::string& head,
                       const std::string& commits, const CommittedWork& work,
                       const std::vector<std::string>& changed) {
  const BuiltinRequest& request = proposal.request;
  const std::string& base = proposal.base;
  const std::string remote = without_credentials(request.remote);
  // A summary is cut at its end, so what an agent can make long goes last.
  return {title_of(request) + "\n\nBranch " + request.branch + " at " + head.substr(0, 12) + ", " +
              commits + (commits == "1" ? " commit" : " commits") + " on " + base.substr(0, 12) +
              (remote.empty() ? "; not pushed: no remote is configured."
                              : "; pushed to " + remote + ".") +
              note_of(proposal, changed) + changed_since_intake(request, proposal.pinned) +
              left_out_note(work, listed_in_artifact),
          proposal_metadata(proposal, head, commits, remote, work, changed), head};
}

}  // namespace

BuiltinOutcome builtin_create_pr(const BuiltinRequest& request) {
  if (request.repository.empty() && request.mocked == Mocked::everything) {
    return nothing_to_propose(request, "the run has no repository", "");
  }
  if (request.repository.empty()) return not_a_worktree(request, no_intake_hint);
  const auto pinned = TRY(open_pinned(request));
  auto place = TRY(workspace_place(request, pinned, no_intake_hint));
  const auto base = TRY(find_base(request, pinned));
  Proposal proposal{request, pinned, std::move(place), base, {base}};
  const auto work = TRY(commit_work(request, pinned, proposal.place, base, title_of(request)));
  const GitOutcome commits =
      proposal.run({"rev-list", "--count", "--end-of-options", base + "..HEAD"});
  if (!commits.ok) return git_failed("cannot count the commits", commits.message);
  if (commits.line() == "0") {
    return nothing_to_propose(
        request, "nothing was changed since " + base.substr(0, 12),
        left_out_note(work, "which stay in the worktree until it is removed"));
  }
  const GitOutcome head = proposal.run({"rev-parse", "--verify", "HEAD"});
  if (!head.ok) return git_failed("cannot read the head commit", head.message);
  proposal.shared = TRY(find_shared_commits(proposal, head.line()));
  const auto changed = TRY(find_changed_checks(proposal, head.line()));
  TRY(write_artifacts(proposal, work, changed));
  if (!changed.empty() && request.refuses_changed_checks) {
    return refuse_changed_checks(
        proposal_metadata(proposal, head.line(), commits.line(), {}, work, changed), changed);
  }
  TRY(push_proposal(proposal, head.line()));
  return success(proposal, head.line(), commits.line(), work, changed);
}

}  // namespace signalbox
