#include "server/git/run_branch.h"

namespace signalbox {

std::string branch_of(const RunId& run_id, Token run_token) {
  return "signalbox/" + to_string(run_id) + "-" + std::to_string(run_token);
}

std::string branch_pattern_of(const RunId& run_id) {
  return "signalbox/" + to_string(run_id) + "-*";
}

std::string rescue_branch_of(const std::string& run_id) { return "signalbox/" + run_id + "-0"; }

std::string run_branches_pattern(const std::string& run_id) {
  return "refs/heads/signalbox/" + run_id + "-*";
}

std::string base_ref_of(const std::string& run_id) { return "refs/signalbox/base/" + run_id; }

}  // namespace signalbox
