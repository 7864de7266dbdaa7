// Compares two worlds field by field. Returns a description of the first difference, or an empty
// text.
#pragma once

#include <string>
#include <vector>

#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

#include "domain/placement.h"
#include "domain/world.h"

namespace signalbox {

inline std::string difference(const Run& a, const Run& b) {
  std::string found;
  boost::mp11::mp_for_each<boost::describe::describe_members<Run, boost::describe::mod_public>>(
      [&](auto member) {
        if (!(a.*member.pointer == b.*member.pointer)) found = member.name;
      });
  if (a.asked_at != b.asked_at) found = "asked_at";
  if (a.machine != b.machine) found = "machine";
  if (!(*a.pipeline == *b.pipeline)) found = "pipeline";
  return found.empty() ? "" : "run " + to_string(a.id) + ": " + found;
}

// Returns the runs in the order in which claims would get them.
inline std::vector<RunId> claim_order(const World& world, ExecutorKind executor) {
  ReadyStations ready = world.ready;
  std::vector<RunId> order;
  while (const auto next = ready.oldest(executor, {})) {
    const Run& run = *world.find_run(*next);
    order.push_back(*next);
    ready.erase(executor, ready_queue_of(run).name, run.station().ready_at, *next);
  }
  return order;
}

template <class Key, class Value, class Hash>
bool equal(const Remembered<Key, Value, Hash>& a, const Remembered<Key, Value, Hash>& b) {
  const auto listed = [](const auto& remembered) {
    std::vector<std::pair<Key, Value>> all;
    remembered.for_each([&](const Key& key, const Value& value) { all.emplace_back(key, value); });
    return all;
  };
  return listed(a) == listed(b);
}

inline std::string difference(const World& a, const World& b) {
  if (a.position != b.position) return "position";
  if (!(a.server == b.server)) return "server";
  if (a.runs.size() != b.runs.size()) return "number of runs";
  for (const auto& [id, run] : a.runs) {
    const Run* other = b.find_run(id);
    if (other == nullptr) return "run " + to_string(id) + " is missing";
    if (std::string found = difference(*run, *other); !found.empty()) return found;
  }
  if (!equal(a.ended_runs, b.ended_runs)) return "ended runs";
  if (!equal(a.commands, b.commands)) return "commands";
  if (a.pipelines.size() != b.pipelines.size()) return "number of pipelines";
  for (const auto& [digest, pinned] : a.pipelines) {
    const auto other = b.pipelines.find(digest);
    if (other == b.pipelines.end() || !(*pinned.definition == *other->second.definition) ||
        pinned.open_runs != other->second.open_runs ||
        pinned.idle_since != other->second.idle_since) {
      return "pipeline " + to_hex(digest);
    }
  }
  if (!(a.locks == b.locks)) return "locks";
  if (!equal(a.ended_locks, b.ended_locks)) return "ended locks";
  if (!(a.ticks == b.ticks)) return "ticks";
  if (!(a.access == b.access)) return "access";
  if (a.runners != b.runners) return "runners";
  if (!(a.run_roots == b.run_roots)) return "run roots";
  if (!(a.lock_by_token == b.lock_by_token)) return "tokens of locks";
  if (!(a.locks_of_holder == b.locks_of_holder)) return "locks of holders";
  if (!(a.run_by_idempotency_key == b.run_by_idempotency_key)) return "idempotency keys";
  for (const auto executor : {ExecutorKind::worker, ExecutorKind::process, ExecutorKind::builtin}) {
    if (claim_order(a, executor) != claim_order(b, executor)) return "ready stations";
  }
  return "";
}

}  // namespace signalbox
