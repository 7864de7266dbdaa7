// The state of a project: the repository, pipeline and policy of its cards, and the worktrees of
// their runs.
#pragma once

#include <memory>
#include <string>

#include <boost/describe/class.hpp>

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
  Policy policy;          // the last valid one
  Digest policy_digest;   // of its file; zero: there was no file
  Digest refused_digest;  // of the present file if it is invalid, else zero
  Position changed_at = 0;

  friend bool operator==(const Project&, const Project&) = default;
};
BOOST_DESCRIBE_STRUCT(Project, (),
                      (name, repository, base, remote, pipeline, policy, policy_digest,
                       refused_digest, changed_at))

// A worktree of a card's run that isn't removed yet. The run may have ended.
struct CardWorktree {
  RunId run_id{};
  std::string project;
  std::string repository;

  friend bool operator==(const CardWorktree&, const CardWorktree&) = default;
};
BOOST_DESCRIBE_STRUCT(CardWorktree, (), (run_id, project, repository))

}  // namespace signalbox
