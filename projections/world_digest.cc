#include "projections/world_digest.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "domain/check.h"
#include "domain/sorted_entries.h"
#include "store/described_archive.h"
#include "store/little_endian.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

using Lanes = std::array<std::uint64_t, 4>;

Lanes lanes_of(const Digest& digest) {
  Lanes lanes{};
  static_assert(sizeof lanes == sizeof digest.bytes);
  std::memcpy(lanes.data(), digest.bytes.data(), sizeof lanes);
  return lanes;
}

void add(Lanes& sum, const Digest& digest) {
  const Lanes lanes = lanes_of(digest);
  for (std::size_t lane = 0; lane < sum.size(); ++lane) sum[lane] += lanes[lane];
}

void subtract(Lanes& sum, const Digest& digest) {
  const Lanes lanes = lanes_of(digest);
  for (std::size_t lane = 0; lane < sum.size(); ++lane) sum[lane] -= lanes[lane];
}

void append_set(std::string& out, std::uint64_t size, const Lanes& sum) {
  append_integer(out, size);
  for (const std::uint64_t lane : sum) append_integer(out, lane);
}

void append_key(std::string& out, const RunId& id) { out.append(raw_bytes(id)); }
void append_key(std::string& out, const std::string& key) {
  append_integer(out, static_cast<std::uint32_t>(key.size()));
  out.append(key);
}

void append_pipelines(std::string& out, const World& world) {
  const auto sorted = sorted_entries(world.pipelines);
  append_integer(out, static_cast<std::uint64_t>(sorted.size()));
  for (const auto* entry : sorted) {
    out.append(raw_bytes(entry->first));
    described::encode(*entry->second.definition, out);
    append_integer(out, entry->second.open_runs);
    append_integer(out, entry->second.idle_since);
  }
}

// Appends members whose encoding includes their name. They are few, compared with the sets.
template <class Map>
void append_named(std::string& out, const Map& map) {
  const auto sorted = sorted_entries(map);
  append_integer(out, static_cast<std::uint64_t>(sorted.size()));
  for (const auto* entry : sorted) described::encode(entry->second, out);
}

// Appends what the Describe listing of a member doesn't have.
void append_rest(std::string& out, const Run& run) {
  append_integer(out, run.asked_at);
  if (run.attempt && !run.attempt->machine.empty()) append_key(out, run.attempt->machine);
  if (!run.machine.empty()) append_key(out, run.machine);
}
void append_rest(std::string&, const Card&) {}

// Returns what may change while `changed_at` stays.
std::int64_t rest_of(const Run&) { return 0; }
std::int64_t rest_of(const Card& card) { return card.priority; }

}  // namespace

struct WorldDigest::Hashing {
  Sha256 sha256;
  std::string bytes;
};

WorldDigest::WorldDigest() : hashing_(std::make_unique<Hashing>()) {}
WorldDigest::~WorldDigest() = default;

void WorldDigest::forget() {
  runs_.clear();
  cards_.clear();
  ended_runs_ = {};
  commands_ = {};
}

template <class ById>
WorldDigest::Sum WorldDigest::sum_of(KeptById& kept_by_id, const ById& members) {
  Sum sum{};
  for (const auto& [id, member] : members) {
    const auto [place, inserted] = kept_by_id.try_emplace(id);
    Kept& kept = place->second;
    const std::int64_t rest = rest_of(*member);
    if (inserted || kept.changed_at != member->changed_at || kept.rest != rest) {
      hashing_->bytes.clear();
      described::encode(*member, hashing_->bytes);
      append_rest(hashing_->bytes, *member);
      kept.hash = hashing_->sha256.update(hashing_->bytes).finish();
      kept.changed_at = member->changed_at;
      kept.rest = rest;
    }
    kept.seen = calls_;
    add(sum, kept.hash);
  }
  if (kept_by_id.size() != members.size()) {
    boost::unordered::erase_if(kept_by_id,
                               [this](const auto& entry) { return entry.second.seen != calls_; });
  }
  return sum;
}

// The queue has every remembered member by now, in the same order, and some that were forgotten.
template <class Remembered, class PositionOf>
void WorldDigest::drop_forgotten(Queue& queue, const Remembered& remembered,
                                 PositionOf&& position_of) {
  std::deque<std::pair<Position, Digest>> kept;
  auto next = queue.hashes.begin();
  remembered.for_each([&](const auto&, const auto& value) {
    for (; next != queue.hashes.end() && next->first != position_of(value); ++next) {
      subtract(queue.sum, next->second);
    }
    SIGNALBOX_CHECK(next != queue.hashes.end());
    kept.push_back(*next++);
  });
  for (; next != queue.hashes.end(); ++next) subtract(queue.sum, next->second);
  queue.hashes = std::move(kept);
}

template <class Remembered, class PositionOf>
const WorldDigest::Sum& WorldDigest::sum_of(Queue& queue, const Remembered& remembered,
                                            PositionOf&& position_of) {
  const auto* oldest = remembered.oldest();
  while (!queue.hashes.empty() &&
         (oldest == nullptr || queue.hashes.front().first < position_of(*oldest))) {
    subtract(queue.sum, queue.hashes.front().second);
    queue.hashes.pop_front();
  }
  const Position known_up_to = queue.hashes.empty() ? 0 : queue.hashes.back().first;
  const auto first_new = static_cast<std::ptrdiff_t>(queue.hashes.size());
  remembered.for_newest([&](const auto& key, const auto& value) {
    if (position_of(value) <= known_up_to) return false;
    hashing_->bytes.clear();
    append_key(hashing_->bytes, key);
    described::encode(value, hashing_->bytes);
    queue.hashes.emplace_back(position_of(value),
                              hashing_->sha256.update(hashing_->bytes).finish());
    add(queue.sum, queue.hashes.back().second);
    return true;
  });
  std::reverse(queue.hashes.begin() + first_new, queue.hashes.end());
  if (queue.hashes.size() != remembered.size()) drop_forgotten(queue, remembered, position_of);
  SIGNALBOX_CHECK(queue.hashes.size() == remembered.size());
  return queue.sum;
}

Digest WorldDigest::of(const World& world) {
  ++calls_;
  const Sum runs = sum_of(runs_, world.runs);
  const Sum cards = sum_of(cards_, world.board.cards());
  const Sum& ended_runs =
      sum_of(ended_runs_, world.ended_runs, [](const EndedRun& ended) { return ended.ended_at; });
  const Sum& commands = sum_of(commands_, world.commands,
                               [](const RememberedCommand& command) { return command.position; });
  std::string bytes = "signalbox world v10";
  append_integer(bytes, world.position);
  append_integer(bytes, world.forgotten_keys);
  described::encode(world.server, bytes);
  append_pipelines(bytes, world);
  append_named(bytes, world.locks);
  append_named(bytes, world.ticks);
  append_integer(bytes, static_cast<std::uint64_t>(world.ended_locks.size()));
  world.ended_locks.for_each([&bytes](const std::string& key, const EndedLock& ended) {
    append_key(bytes, key);
    described::encode(ended, bytes);
  });
  described::encode(world.access, bytes);
  append_named(bytes, world.loops);
  append_named(bytes, world.projects);
  append_named(bytes, world.worktrees);
  for (const auto& [id, worktree] : world.worktrees) {
    if (worktree.runner.empty()) continue;
    append_key(bytes, id);
    append_key(bytes, worktree.runner);
  }
  for (const auto& [runner, decision] : world.runners) {
    append_key(bytes, runner);
    described::encode(decision, bytes);
  }
  append_integer(bytes, static_cast<std::uint64_t>(world.holders.size()));
  for (const auto& [token, actor] : world.holders) {
    append_integer(bytes, token);
    append_key(bytes, actor);
  }
  append_set(bytes, world.board.cards().size(), cards);
  append_set(bytes, world.runs.size(), runs);
  append_set(bytes, world.ended_runs.size(), ended_runs);
  append_set(bytes, world.commands.size(), commands);
  return hashing_->sha256.update(bytes).finish();
}

Digest world_digest(const World& world) { return WorldDigest().of(world); }

}  // namespace signalbox
