#include "server/rpc/runner_queue.h"

#include <utility>

#include "domain/ids.h"
#include "server/access/secret.h"
#include "server/text/described_json.h"

namespace signalbox {

// The answer is sent when what the world shows now is durable (Responder), so a runner forgets no
// job whose end could still be lost.
bool RunnerQueue::is_wanted(const std::string& runner, const std::string& job_id) const {
  const auto name = parse_job_id(job_id);
  const auto run_id = name ? parse_uuid(name->run_id) : std::nullopt;
  const Run* const run = run_id ? engine_.world().find_run(*run_id) : nullptr;
  return run != nullptr && run->attempt && run->attempt->job_id == job_id &&
         run->attempt->machine == runner;
}

RunnerAnswer RunnerQueue::answer_for(const std::string& runner) const {
  return registry_.answer(runner, [this](const std::string& machine, const std::string& job_id) {
    return is_wanted(machine, job_id);
  });
}

void RunnerQueue::answer_or_wait(const std::string& runner, const Responder& responder,
                                 std::int64_t deadline_ns, const std::vector<std::string>& forget) {
  RunnerAnswer answer = answer_for(runner);
  if (const auto earlier = waiting_.find(runner); earlier != waiting_.end()) {
    earlier->second.responder.result(to_json(answer).as_object());
    waiting_.erase(earlier);
  }
  answer.forget.insert(answer.forget.end(), forget.begin(), forget.end());
  if (!answer.empty() || deadline_ns == 0) {
    return responder.result(to_json(answer).as_object());
  }
  waiting_.emplace(runner, Waiting{responder, deadline_ns});
}

void RunnerQueue::wake(const std::string& runner) {
  const auto place = waiting_.find(runner);
  if (place == waiting_.end()) return;
  const RunnerAnswer answer = answer_for(runner);
  if (answer.empty() && !answer.drains) return;
  const Responder responder = std::move(place->second.responder);
  waiting_.erase(place);
  responder.result(to_json(answer).as_object());
}

void RunnerQueue::sweep(std::int64_t monotonic_ns) {
  for (auto each = waiting_.begin(); each != waiting_.end();) {
    const RunnerAnswer answer = answer_for(each->first);
    if (answer.empty() && each->second.deadline_ns > monotonic_ns) {
      ++each;
      continue;
    }
    each->second.responder.result(to_json(answer).as_object());
    each = waiting_.erase(each);
  }
}

void RunnerQueue::refuse(const std::string& runner, const Rejection& why) {
  const auto place = waiting_.find(runner);
  if (place == waiting_.end()) return;
  const Responder responder = std::move(place->second.responder);
  waiting_.erase(place);
  responder.reject(why);
}

void RunnerQueue::refuse_all(const Rejection& why) {
  for (const auto& [runner, waiting] : std::exchange(waiting_, {})) waiting.responder.reject(why);
}

}  // namespace signalbox
