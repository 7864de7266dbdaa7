// Commands about projects, cards and the service's loops. A part of command.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/describe/class.hpp>

#include "domain/ids.h"
#include "domain/pipeline.h"
#include "domain/policy.h"
#include "domain/run_command.h"

namespace signalbox {

struct PutProject {
  std::string name;
  std::string repository;                      // absolute
  std::optional<std::string> base;             // a branch; "main" where none is given
  std::optional<std::string> remote;           // nowhere where none is given
  std::optional<PipelineDefinition> pipeline;  // card_pipeline() where none is given
};
BOOST_DESCRIBE_STRUCT(PutProject, (), (name, repository, base, remote, pipeline))

// The project's policy file was read.
struct AdoptPolicy {
  std::string project;
  Digest digest;  // zero: there is none
  Policy policy;
};

// The project's policy file was read and can't be understood.
struct RefusePolicy {
  std::string project;
  Digest digest;
  std::uint32_t line = 0;
  std::string message;
};

struct SubmitCard {
  std::string project;
  std::string title;
  std::optional<std::string> brief;
  std::optional<std::string> key;
  std::optional<std::int32_t> priority;
  std::optional<bool> immediate;  // whether the heartbeat is triggered; so where none is given

  CardId card_id{};  // the id that it gets
};
BOOST_DESCRIBE_STRUCT(SubmitCard, (), (project, title, brief, key, priority, immediate))

struct BlockCard {
  CardId card_id{};
  std::string reason;
};
BOOST_DESCRIBE_STRUCT(BlockCard, (), (card_id, reason))

struct UnblockCard {
  CardId card_id{};
  std::optional<std::string> reason;
};
BOOST_DESCRIBE_STRUCT(UnblockCard, (), (card_id, reason))

// The service starts the run of a card that is next_to_start(); `run` is run_of_card().
struct StartCard {
  CardId card_id{};
  StartRun run;
};

// The service starts the merge of a card that is next_to_merge(); `run` is run_of_merge().
struct MergeCard {
  CardId card_id{};
  StartRun run;
};

// Blocked cards whose time has come go back to the backlog, at most limits::retried_cards_max.
struct RetryBlockedCards {};

// What became of a worktree. `removed`, else it is left for a reason.
struct NoteWorktree {
  std::string project;
  RunId run_id{};
  std::string path;
  bool removed = false;
  std::string rescue_ref;
  std::string reason;
};

// Ticks of a loop were due and nothing could begin them.
struct NoteTicksMissed {
  std::string loop;
  std::string reason;
  std::uint64_t missed = 0;
  std::int64_t first_due_ns = 0;
  std::int64_t last_due_ns = 0;
};

// Ended runs of which enough time has passed leave the world.
struct PruneRuns {
  std::int64_t after_ms = 0;  // since their end
};

}  // namespace signalbox
