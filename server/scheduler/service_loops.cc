#include "server/scheduler/service_loops.h"

#include <algorithm>
#include <limits>

namespace signalbox {

void ServiceLoops::arm() {
  for (LoopGroup* group : groups_) {
    for (ScheduledLoop* loop : group->loops()) loop->arm("server down");
    group->on_armed();
  }
}

void ServiceLoops::clock_jumped(const std::string& cause) {
  // The due times themselves are right: loops that are late tick now.
  if (cause == "stopped") return run_due();
  for (ScheduledLoop* loop : all()) loop->arm(cause);
}

void ServiceLoops::apply(std::span<const Record> records) {
  for (LoopGroup* group : groups_) group->apply(records);
}

std::int64_t ServiceLoops::next_due_ns() const {
  std::int64_t due_ns = std::numeric_limits<std::int64_t>::max();
  if (engine_.holds_deadlines()) return due_ns;
  for (const LoopGroup* group : groups_) {
    for (const ScheduledLoop* loop : group->loops()) due_ns = std::min(due_ns, loop->next_due_ns());
  }
  return due_ns;
}

void ServiceLoops::run_due() {
  if (engine_.holds_deadlines()) return;
  for (ScheduledLoop* loop : all()) loop->run_if_due();
}

std::vector<ScheduledLoop*> ServiceLoops::all() const {
  std::vector<ScheduledLoop*> loops;
  for (const LoopGroup* group : groups_) {
    loops.insert(loops.end(), group->loops().begin(), group->loops().end());
  }
  return loops;
}

ScheduledLoop* ServiceLoops::find(std::string_view name) const {
  const auto loops = all();
  const auto place = std::find_if(loops.begin(), loops.end(), [name](const ScheduledLoop* loop) {
    return loop->name() == name;
  });
  return place == loops.end() ? nullptr : *place;
}

}  // namespace signalbox
