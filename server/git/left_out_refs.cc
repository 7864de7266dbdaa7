#include "server/git/left_out_refs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "domain/try.h"
#include "server/git/ref_lock.h"
#include "server/git/unsaved_work.h"
#include "server/limits.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

constexpr std::string_view first_suffix = "-branch";
constexpr std::size_t number_digits_max = 9;
constexpr std::uint32_t number_max = 999'999'999;

// Returns the number that the suffix says, from 1 to number_max; 0 if it is no such suffix.
std::uint32_t number_of(std::string_view suffix) {
  if (!suffix.starts_with(first_suffix)) return 0;
  suffix.remove_prefix(first_suffix.size());
  if (suffix.empty()) return 1;
  if (suffix.front() != '-' || suffix.size() > 1 + number_digits_max) return 0;
  const auto number = whole_number<std::uint32_t>(suffix.substr(1));
  return number && *number > 1 && suffix.substr(1).front() != '0' ? *number : 0;
}

// Returns patterns that only such refs match: an agent can make any number of others that begin
// alike, and they would fill a list of limited length.
std::vector<std::string> patterns_of(const std::string& run_id) {
  const std::string first = rescue_ref_of(run_id) + std::string(first_suffix);
  std::vector<std::string> patterns{first, first + "-[2-9]"};
  std::string digits = "-[1-9]";
  for (std::size_t count = 2; count <= number_digits_max; ++count) {
    digits += "[0-9]";
    patterns.push_back(first + digits);
  }
  return patterns;
}

}  // namespace

bool is_left_out_suffix(std::string_view text) { return number_of(text) != 0; }

tl::expected<std::vector<LeftOutRef>, std::string> left_out_refs(
    const std::filesystem::path& directory, const GitOptions& options, const std::string& run_id) {
  const std::string before_suffix = rescue_ref_of(run_id);
  std::vector<std::string> arguments{"for-each-ref",
                                     "--count=" + std::to_string(limits::left_out_refs_max + 1),
                                     "--format=%(objectname) %(refname)", "--"};
  std::ranges::move(patterns_of(run_id), std::back_inserter(arguments));
  const GitOutcome listed = git(directory, std::move(arguments), options);
  if (!listed.ok) return tl::unexpected("git for-each-ref: " + listed.message);
  std::vector<std::pair<std::uint32_t, LeftOutRef>> numbered;
  std::string_view rest = listed.output;
  while (!rest.empty()) {
    std::string_view name = take_until(rest, '\n');
    const std::string_view commit = take_until(name, ' ');
    if (!name.starts_with(before_suffix)) continue;
    const std::uint32_t number = number_of(name.substr(before_suffix.size()));
    if (number != 0) {
      numbered.emplace_back(number, LeftOutRef{std::string(name), std::string(commit)});
    }
  }
  std::ranges::sort(numbered, {}, [](const auto& each) { return each.first; });
  std::vector<LeftOutRef> refs;
  for (auto& [number, ref] : numbered) refs.push_back(std::move(ref));
  return refs;
}

tl::expected<KeptCommit, std::string> keep_left_out(const std::filesystem::path& directory,
                                                    const GitOptions& options,
                                                    const std::string& run_id,
                                                    const std::string& commit) {
  const auto refs = TRY(left_out_refs(directory, options, run_id));
  for (const LeftOutRef& ref : refs) {
    const GitOutcome kept =
        git(directory, {"merge-base", "--is-ancestor", "--end-of-options", commit, ref.commit},
            options);
    if (kept.ok) return KeptCommit::by_ref;
    if (kept.exit_code != 1) return tl::unexpected("git merge-base: " + kept.message);
  }
  if (refs.size() >= limits::left_out_refs_max) return KeptCommit::not_kept;
  const auto number_of_ref = [&run_id](const LeftOutRef& ref) {
    return number_of(std::string_view(ref.name).substr(rescue_ref_of(run_id).size()));
  };
  // After the last one: a retention may have removed some before it.
  std::uint32_t number = refs.empty() ? 1 : number_of_ref(refs.back()) + 1;
  if (number > number_max) {  // no ref of the service's has such a number
    number = 1;
    for (const LeftOutRef& ref : refs) number += number_of_ref(ref) == number ? 1 : 0;
  }
  std::string name = rescue_ref_of(run_id) + std::string(first_suffix);
  if (number > 1) name += "-" + std::to_string(number);
  // Only the run's create_pr makes such a ref, and its attempts come one after the other.
  if (options.place) remove_stale_lock(options.place->common_directory, name);
  // The empty value requires that there is no such ref.
  const GitOutcome made =
      git(directory, {"update-ref", "--no-deref", std::move(name), commit, ""}, options);
  if (!made.ok) return tl::unexpected("git update-ref: " + made.message);
  return KeptCommit::by_ref;
}

}  // namespace signalbox
