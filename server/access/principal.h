// The authenticated sender of a request: its actor name, its role, and the job that it belongs to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "domain/access.h"
#include "domain/ids.h"
#include "domain/pipeline.h"

namespace signalbox {

// The attempt whose job sends a request.
struct JobOfAttempt {
  std::string actor;  // "job:RUN/STATION/ATTEMPT"; of a coding agent "agent:RUN/STATION/ATTEMPT"
  RunId run_id{};
  Token token = 0;  // of the attempt, while it is under way; else 0
  std::string station = {};
  std::vector<JobAllowance> allowed = {};  // by the station, while the attempt is under way
  // Name that an earlier version gave the job, if its attempt began under one: that of the user
  // whom it runs as. Its locks and ticks were granted to this name.
  std::string former_actor = {};

  friend bool operator==(const JobOfAttempt&, const JobOfAttempt&) = default;
};

struct Principal {
  std::string actor;  // as records name it: "uid:1000", "token:ci", "tcp:127.0.0.1", "job:…"
  Role role = Role::viewer;
  // Set for a job, and also for a job that has shown the access token of somebody else: it has the
  // name and the role of that token then.
  std::optional<JobOfAttempt> job = {};
  // A process on this machine that has ended since, so that nobody can say whether it was a job.
  bool process_is_gone = false;

  // A TCP client on a loopback address without a token: any process of this machine, or a job's.
  bool process_is_unknown = false;

  Uuid access_token{};  // that it has shown, or nil

  // Returns whether it may decide approvals, which a job never does.
  [[nodiscard]] bool may_approve() const { return !job && !process_is_gone && !process_is_unknown; }

  friend bool operator==(const Principal&, const Principal&) = default;
};

}  // namespace signalbox
