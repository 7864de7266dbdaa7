// Commands about projects, cards, worktrees and the service's loops: the alternatives of Command
// (command.h) that concern the board.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
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
  std::optional<std::string> base;             // a branch; default: "main"
  std::optional<std::string> remote;           // default: no remote, nothing is pushed
  std::optional<PipelineDefinition> pipeline;  // default: card_pipeline()
  bool keep_pipeline = false;                  // instead of `pipeline`: the one that it has
};
BOOST_DESCRIBE_STRUCT(PutProject, (), (name, repository, base, remote, pipeline, keep_pipeline))

// Reports that the project's policy file was read. Without a file (digest zero), `policy` counts
// only if there never was one; else the project is held (policy_hold()).
struct AdoptPolicy {
  std::string project;
  Digest digest;  // SHA-256 of the file; zero: there is no file
  Policy policy;
};

// Reports that the project's policy file was read and couldn't be parsed, or couldn't be read.
struct RefusePolicy {
  std::string project;
  Digest digest;           // of the file, or of the message if it couldn't be read
  std::uint32_t line = 0;  // from 1; 0: it couldn't be read
  std::string message;
};

struct SubmitCard {
  std::string project;
  std::string title;
  std::optional<std::string> brief;
  std::optional<std::string> key;
  std::optional<std::int32_t> priority;
  std::optional<bool> immediate;  // trigger the heartbeat loop at once; default: true

  CardId card_id{};  // the id that the card gets
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
  // Up to here the sender knows the card, so that it doesn't end a later block, which it never saw.
  std::optional<Position> seen = {};
};
BOOST_DESCRIBE_STRUCT(UnblockCard, (), (card_id, reason, seen))

struct SetCardPriority {
  CardId card_id{};
  std::int32_t priority = 0;
  std::optional<std::string> reason;
};
BOOST_DESCRIBE_STRUCT(SetCardPriority, (), (card_id, priority, reason))

// Sent by the service: starts the run of the card that is next_to_start() without those of
// `left_out`; `run` is run_of_card().
// If the card goes on with its latest run (goes_on_with_run()), that one is reopened instead.
struct StartCard {
  CardId card_id{};
  StartRun run;
  FailedRun failed = {};  // the card's latest run, if it is to go on
  // Cards that can't be started at this time, for a reason that the world doesn't know.
  std::set<CardId> left_out = {};
};

// Sent by the service: starts the merge of the card that is next_to_merge(); `run` is
// run_of_merge().
struct MergeCard {
  CardId card_id{};
  StartRun run;
};

// Returns the blocked cards whose retry is due to the backlog, at most limits::retried_cards_max.
struct RetryBlockedCards {};

// Reports that a card's worktree was `removed`, or else that it was left in place for `reason`.
struct NoteWorktree {
  std::string project;
  RunId run_id{};
  std::string path;
  bool removed = false;
  std::string rescue_ref;
  std::string reason;
};

// Reports due times of a loop that passed while no tick could begin.
struct NoteTicksMissed {
  std::string loop;
  std::string reason;
  std::uint64_t missed = 0;
  std::int64_t first_due_ns = 0;
  std::int64_t last_due_ns = 0;
};

// Drops runs from the world that ended at least `after_ms` ago.
struct PruneRuns {
  std::int64_t after_ms = 0;  // since the end of a run
};

}  // namespace signalbox
