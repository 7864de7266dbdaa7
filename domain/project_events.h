// What can happen to a project. Every event lies in its stream, `project/<name>`.
#pragma once

#include <cstdint>
#include <variant>

#include <boost/describe/class.hpp>

#include "domain/event_parts.h"
#include "domain/ids.h"
#include "domain/pipeline.h"
#include "domain/policy.h"

namespace signalbox {

// A project is there, or is another from now on. Runs under way keep what they were started with.
struct ProjectPut {
  static constexpr EventTag tag{701, 1, "ProjectPut"};
  KeptText repository;          // a git repository on this machine
  KeptText base;                // the branch that cards start from and are merged into
  KeptText remote;              // where verified and merged work is pushed to, or empty
  PipelineDefinition pipeline;  // of a card's run

  friend bool operator==(const ProjectPut&, const ProjectPut&) = default;
};
BOOST_DESCRIBE_STRUCT(ProjectPut, (), (repository, base, remote, pipeline))

// The project's policy file was read, and says something else than before.
struct PolicyAdopted {
  static constexpr EventTag tag{702, 1, "PolicyAdopted"};
  Digest digest;  // SHA-256 of the file; zero: there is none, and the defaults are in force
  Policy policy;

  friend bool operator==(const PolicyAdopted&, const PolicyAdopted&) = default;
};
BOOST_DESCRIBE_STRUCT(PolicyAdopted, (), (digest, policy))

// The project's policy file can't be understood: what was in force before stays. Once for each
// content of the file.
struct PolicyRefused {
  static constexpr EventTag tag{703, 1, "PolicyRefused"};
  Digest digest;
  std::uint32_t line = 0;  // from 1; 0: the file as a whole
  FreeText message;

  friend bool operator==(const PolicyRefused&, const PolicyRefused&) = default;
};
BOOST_DESCRIBE_STRUCT(PolicyRefused, (), (digest, line, message))

// A worktree is gone: of a card's run that ended, or one that no run has any more.
struct WorktreeRemoved {
  static constexpr EventTag tag{704, 1, "WorktreeRemoved"};
  RunId run_id{};
  KeptText path;
  KeptText rescue_ref;  // where uncommitted work of it was saved, or empty

  friend bool operator==(const WorktreeRemoved&, const WorktreeRemoved&) = default;
};
BOOST_DESCRIBE_STRUCT(WorktreeRemoved, (), (run_id, path, rescue_ref))

// A worktree without a live run stays: it couldn't be removed, or it holds work.
struct WorktreeLeft {
  static constexpr EventTag tag{705, 1, "WorktreeLeft"};
  RunId run_id{};
  KeptText path;
  FreeText reason;

  friend bool operator==(const WorktreeLeft&, const WorktreeLeft&) = default;
};
BOOST_DESCRIBE_STRUCT(WorktreeLeft, (), (run_id, path, reason))

using ProjectEvents =
    std::variant<ProjectPut, PolicyAdopted, PolicyRefused, WorktreeRemoved, WorktreeLeft>;
using ProjectEvent = OneOf<ProjectEvents>;

}  // namespace signalbox
