// `run.fence`: whether whoever works in a run's worktree still may. The pre-push hook asks it.
#pragma once

#include <optional>

#include <boost/describe/class.hpp>

#include "server/rpc/method.h"

namespace signalbox {

struct CheckFence {
  RunId run_id{};
  Token token = 0;                     // of the run's start, as in its branch's name
  std::optional<Uuid> span_id;         // of the attempt that asks
  std::optional<Token> attempt_token;  // likewise
};
BOOST_DESCRIBE_STRUCT(CheckFence, (), (run_id, token, span_id, attempt_token))

void check_fence(Api& api, Call& call);

}  // namespace signalbox
