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
  RunnerAnswer answer =
      registry_.answer(runner, [this](const std::string& machine, const std::string& job_id) {
        return is_wanted(machine, job_id);
      });
  answer.wants_bundles = wants_bundles_ && engine_.feature_level() >= feature_level_of_bundles;
  answer.removals = removals_.take_questions(runner, clock_.monotonic_ns());
  return answer;
}

// Answers come after the change of waiting_: a report that has waited while the state was set back
// is asked again instead of being answered (Responder), and comes back here.
void RunnerQueue::answer_or_wait(const std::string& runner, const Responder& responder,
                                 std::int64_t deadline_ns, const std::vector<std::string>& forget) {
  RunnerAnswer answer = answer_for(runner);
  if (auto earlier = waiting_.extract(runner); !earlier.empty()) {
    earlier.mapped().responder.result(to_json(answer).as_object());
  }
  answer.forget.insert(answer.forget.end(), forget.begin(), forget.end());
  // One that is asked again waits; the runner's connection of now has this answer.
  if (!answer.empty() || deadline_ns == 0 || waiting_.contains(runner)) {
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
  std::vector<std::pair<Responder, RunnerAnswer>> due;
  for (auto each = waiting_.begin(); each != waiting_.end();) {
    RunnerAnswer answer = answer_for(each->first);
    if (answer.empty() && each->second.deadline_ns > monotonic_ns) {
      ++each;
      continue;
    }
    due.emplace_back(std::move(each->second.responder), std::move(answer));
    each = waiting_.erase(each);
  }
  for (const auto& [responder, answer] : due) responder.result(to_json(answer).as_object());
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
