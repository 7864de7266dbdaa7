// The state of a project: the repository, pipeline and policy of its cards, and the worktrees of
// their runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/ids.h"
#include "domain/pipeline.h"
#include "domain/policy.h"

namespace signalbox {

struct Project {
  std::string name;
  std::string repository;
  std::string base;
  std::string remote;
  PipelineDefinition pipeline;
  Policy policy;                  // the last valid one, or the defaults, or policy_without_file()
  Digest policy_digest;           // of its file; zero: there was no file
  Digest refused_digest;          // of the present file if it is invalid, else zero
  bool policy_file_seen = false;  // a version of it was read once, be it valid or not
  Position changed_at = 0;

  friend bool operator==(const Project&, const Project&) = default;
};
BOOST_DESCRIBE_STRUCT(Project, (),
                      (name, repository, base, remote, pipeline, policy, policy_digest,
                       refused_digest, policy_file_seen, changed_at))

// Why nothing of a project is started or merged, whatever its policy says.
enum class PolicyHold : std::uint8_t {
  none = 1,
  never_understood = 2,  // it has a policy file, and no valid version of it is in force
  gone = 3,              // it had a policy file, and has none any more
  unreadable = 4,        // the last read failed, and nobody has seen whether it has a policy file
};
BOOST_DESCRIBE_ENUM(PolicyHold, none, never_understood, gone, unreadable)

// Returns the policy while a project's file is gone, or while no version of it was ever valid: the
// limits are those of the last valid file, and nothing is started, retried or merged. No file
// allows more than the one before it did.
inline Policy policy_without_file(Policy policy) {
  policy.process_backlog = false;
  policy.retry_blocked = false;
  policy.merge_verified = false;
  return policy;
}

// Returns why the project is held, or PolicyHold::none. A project that never had a file is not
// held: it has the defaults.
inline PolicyHold policy_hold(const Project& project) {
  if (!project.policy_digest.is_zero()) return PolicyHold::none;
  const bool is_refused = !project.refused_digest.is_zero();
  if (project.policy_file_seen) {
    return is_refused ? PolicyHold::never_understood : PolicyHold::gone;
  }
  return is_refused ? PolicyHold::unreadable : PolicyHold::none;
}

// A worktree of a card's run that isn't removed yet. The run may have ended.
struct CardWorktree {
  RunId run_id{};
  std::string project;
  std::string repository;
  // The runner that has it; empty: the service. Older encodings of a world don't have it, so it
  // isn't among the described fields.
  std::string runner = {};

  friend bool operator==(const CardWorktree&, const CardWorktree&) = default;
};
BOOST_DESCRIBE_STRUCT(CardWorktree, (), (run_id, project, repository))

}  // namespace signalbox
