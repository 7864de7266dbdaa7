// The state of a project: where its cards are worked on, and by which policy.
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
  Policy policy;          // the last good one
  Digest policy_digest;   // of its file; zero: there was none
  Digest refused_digest;  // of the file that can't be understood, while that is so; else zero
  Position changed_at = 0;

  friend bool operator==(const Project&, const Project&) = default;
};
BOOST_DESCRIBE_STRUCT(Project, (),
                      (name, repository, base, remote, pipeline, policy, policy_digest,
                       refused_digest, changed_at))

// A worktree that a card's run has, or had and that is not removed yet.
struct CardWorktree {
  RunId run_id{};
  std::string project;
  std::string repository;

  friend bool operator==(const CardWorktree&, const CardWorktree&) = default;
};
BOOST_DESCRIBE_STRUCT(CardWorktree, (), (run_id, project, repository))

}  // namespace signalbox
