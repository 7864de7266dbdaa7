#include "server/executors/builtin/earlier_work.h"

#include <boost/json/object.hpp>

#include "server/executors/builtin/remote_fetch.h"
#include "server/git/run_branch.h"
#include "server/git/run_refs.h"
#include "server/git/unsaved_work.h"
#include "server/text/json_text.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::string_view heads = "refs/heads/";

// Returns the id of the run whose work the input names (card_run_input.h); empty if it names none.
std::string run_of_earlier_work(const std::string& input) {
  const auto parsed = parse_json(input);
  if (!parsed || !parsed->is_object()) return {};
  for (const auto& [part, field, prefix] :
       {std::tuple("earlier_work", "ref", ""), std::tuple("merge_conflict", "branch", heads.data()),
        std::tuple("failed_merge", "branch", heads.data())}) {
    const json::value* const work = parsed->as_object().if_contains(part);
    const json::value* const name =
        work != nullptr && work->is_object() ? work->as_object().if_contains(field) : nullptr;
    if (name == nullptr || !name->is_string()) continue;
    const auto run_id = run_of_ref(prefix + std::string(name->as_string()));
    if (run_id) return to_string(*run_id);
  }
  return {};
}

bool is_here(const PinnedRepository& pinned, const std::string& run_id) {
  const GitOutcome found =
      pinned.in_repository({"for-each-ref", "--count=1", "--format=%(refname)", "--",
                            run_branches_pattern(run_id), rescue_ref_of(run_id)});
  return !found.ok || !found.line().empty();
}

}  // namespace

std::string fetch_earlier_work(const BuiltinRequest& request, const PinnedRepository& pinned) {
  const std::string run_id = run_of_earlier_work(request.input);
  if (run_id.empty() || request.remote.empty() || is_here(pinned, run_id)) return {};
  GitOptions quickly;
  quickly.timeout_ms = limits::remote_answer_ms_max;
  const GitOutcome listed = pinned.in_repository(
      {"ls-remote", "--quiet", "--", request.remote, run_branches_pattern(run_id)}, quickly);
  const auto not_had = [&](const std::string& why) {
    return " Work of run " + run_id + " isn't here, and can't be had from " +
           without_credentials(request.remote) + ": " + why;
  };
  if (!listed.ok) return not_had("git ls-remote: " + listed.message);
  std::vector<std::string> refspecs;
  std::string_view rest = listed.output;
  while (!rest.empty()) {
    std::string_view line = take_until(rest, '\n');
    take_until(line, '\t');
    const std::string ref(line);
    const auto of_run = run_of_ref(ref);
    if (!of_run || to_string(*of_run) != run_id) continue;
    const bool is_rescue = ref == std::string(heads) + rescue_branch_of(run_id);
    refspecs.push_back(ref + ":" + (is_rescue ? rescue_ref_of(run_id) : ref));
  }
  if (refspecs.empty()) return not_had("it has none");
  const GitOutcome fetched = fetch_from_remote(request, pinned, refspecs);
  if (!fetched.ok) return not_had("git fetch: " + fetched.message);
  return " Work of run " + run_id + " was fetched from " + without_credentials(request.remote) +
         ".";
}

}  // namespace signalbox
