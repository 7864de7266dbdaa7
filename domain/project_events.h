// Events of a project: its settings, its policy, the worktrees of its cards. They lie in the
// project's stream, `project/<name>`.
#pragma once

#include <cstdint>
#include <variant>

#include <boost/describe/class.hpp>

#include "domain/event_parts.h"
#include "domain/ids.h"
#include "domain/pipeline.h"
#include "domain/policy.h"

namespace signalbox {

// A project was created or changed. Runs under way keep the settings that they were started with.
struct ProjectPut {
  static constexpr EventTag tag{701, 2, "ProjectPut"};
  KeptText repository;          // a git repository on this machine
  KeptText base;                // the branch that cards start from and are merged into
  KeptText remote;              // git remote for verified and merged work, or empty
  PipelineDefinition pipeline;  // of a card's run

  friend bool operator==(const ProjectPut&, const ProjectPut&) = default;
};
BOOST_DESCRIBE_STRUCT(ProjectPut, (), (repository, base, remote, pipeline))

// The project's policy file was read and differs from the policy in force.
struct PolicyAdopted {
  static constexpr EventTag tag{702, 2, "PolicyAdopted"};
  Digest digest;  // SHA-256 of the file; zero: no file, the defaults or policy_without_file()
  Policy policy;

  friend bool operator==(const PolicyAdopted&, const PolicyAdopted&) = default;
};
BOOST_DESCRIBE_STRUCT(PolicyAdopted, (), (digest, policy))

// The project's policy file is invalid: the policy in force stays, and if no version of the file
// was ever valid, nothing of the project is started or merged. Recorded once for each content of
// the file.
struct PolicyRefused {
  static constexpr EventTag tag{703, 1, "PolicyRefused"};
  Digest digest;
  std::uint32_t line = 0;  // from 1; 0: it couldn't be read, and may not be there
  FreeText message;

  friend bool operator==(const PolicyRefused&, const PolicyRefused&) = default;
};
BOOST_DESCRIBE_STRUCT(PolicyRefused, (), (digest, line, message))

// A worktree was removed: that of a card's run that ended, or one that belongs to no run.
struct WorktreeRemoved {
  static constexpr EventTag tag{704, 1, "WorktreeRemoved"};
  RunId run_id{};
  KeptText path;
  KeptText rescue_ref;  // git ref under which its uncommitted work was saved, or empty

  friend bool operator==(const WorktreeRemoved&, const WorktreeRemoved&) = default;
};
BOOST_DESCRIBE_STRUCT(WorktreeRemoved, (), (run_id, path, rescue_ref))

// A worktree without a live run was left in place: it couldn't be removed, or it holds work.
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
