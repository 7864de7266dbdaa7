#include "server/board/board_loops.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "domain/admission.h"
#include "domain/placement.h"
#include "domain/service_loops.h"
#include "server/board/card_run_input.h"
#include "server/engine/engine.h"
#include "server/git/run_branch.h"
#include "server/limits.h"
#include "store/codec.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

// Cards that one tick starts at most. The rest waits for the next tick, so that every tick ends.
constexpr std::size_t started_max = 256;

// Returns the locations of all policies, sorted by project name.
std::vector<PolicyLocation> policy_places(const World& world) {
  std::vector<PolicyLocation> places;
  places.reserve(world.projects.size());
  for (const auto& [name, project] : world.projects) {
    places.push_back({name, project.repository, project.base});
  }
  std::sort(places.begin(), places.end(),
            [](const PolicyLocation& left, const PolicyLocation& right) {
              return left.project < right.project;
            });
  return places;
}

// Returns the digest over all policies: of each project's name and its file's digest, sorted by
// name; zero if there are no projects.
Digest digest_of(const World& world) {
  std::vector<std::string> names;
  for (const auto& [name, project] : world.projects) names.push_back(name);
  if (names.empty()) return {};
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) {
    text += name + " " + to_hex(world.find_project(name)->policy_digest) + "\n";
  }
  return Sha256().update(text).finish();
}

}  // namespace

BoardLoops::BoardLoops(Parts parts, const BoardSettings& settings, CoderunnerMode mode)
    : parts_(std::move(parts)),
      prune_after_ms_(settings.prune_after_ms),
      coderunner_mode_(mode),
      worktrees_(parts_.engine, parts_.blocking, parts_.files, parts_.runs_over, parts_.log,
                 parts_.remove_at_runner),
      heartbeat_(parts_.engine, parts_.clock, std::string(heartbeat_loop_name), settings.heartbeat,
                 {[this](auto then) { prepare(std::move(then)); },
                  [this](Token token, const auto& ended) { run_heartbeat(token, ended); }}),
      synthesizer_(parts_.engine, parts_.clock, std::string(synthesizer_loop_name),
                   settings.synthesizer,
                   {[this](auto then) { prepare(std::move(then)); },
                    [this](Token token, const auto& ended) { synthesize(token, ended); }}),
      prune_(parts_.engine, parts_.clock, std::string(prune_loop_name), settings.prune,
             {{}, [this](Token token, const auto& ended) { prune(token, ended); }}),
      loops_{&heartbeat_, &synthesizer_, &prune_} {}

BoardLoops::~BoardLoops() = default;

void BoardLoops::on_armed() {
  worktrees_.arm();
  if (has_startable_card()) heartbeat_.trigger("start of the service");
}

void BoardLoops::apply(std::span<const Record> records) {
  worktrees_.apply(records);
  // A slot is free, a card is unblocked, or the worktree that it waited for is gone: start waiting
  // cards now, not at the next due tick.
  bool freed = false;
  bool may_merge = false;
  bool resumed = false;
  for (const Record& record : records) {
    resumed = resumed || event_as<ServiceResumed>(record.event) != nullptr;
    freed = freed || event_as<CardVerified>(record.event) != nullptr ||
            event_as<CardBlocked>(record.event) != nullptr ||
            event_as<CardFailed>(record.event) != nullptr ||
            event_as<StationResultHeld>(record.event) != nullptr ||
            is_end_of_attempt_to_propose(record);
    const auto* unblocked = event_as<CardUnblocked>(record.event);
    freed = freed || is_end_of_wait(record);
    if (unblocked == nullptr || unblocked->by_itself) continue;
    const Card* card = parts_.engine.world().board.find(record.stream.run_id);
    may_merge = may_merge || (card != nullptr && card->status == CardStatus::verified);
    freed = true;
  }
  if (resumed && has_startable_card()) {
    trigger_heartbeat("the service was resumed");
  } else if (freed && has_startable_card()) {
    trigger_heartbeat("a place is free");
  }
  if (may_merge) synthesizer_.trigger("a card was unblocked", /*again=*/true);
  const bool has_verified = !parts_.engine.world().board.verified().empty();
  if (resumed && has_verified) synthesizer_.trigger("the service was resumed", /*again=*/true);
}

bool BoardLoops::is_end_of_attempt_to_propose(const Record& record) const {
  if (event_as<StationAttemptFailed>(record.event) == nullptr &&
      event_as<StationDeferred>(record.event) == nullptr) {
    return false;
  }
  const Run* run = parts_.engine.world().find_run(record.stream.run_id);
  return run != nullptr && builtin_of(run->definition()) == BuiltinStation::create_pr;
}

bool BoardLoops::is_end_of_wait(const Record& record) const {
  const auto* removed = event_as<WorktreeRemoved>(record.event);
  const auto* left = event_as<WorktreeLeft>(record.event);
  if (removed == nullptr && left == nullptr) return false;
  const RunId& run_id = removed != nullptr ? removed->run_id : left->run_id;
  const Card* card = parts_.engine.world().board.find_by_run(run_id);
  return card != nullptr && card->status == CardStatus::backlog &&
         (hands_on_worktree(*card) || is_runner(removed != nullptr ? removed->path : left->path));
}

bool BoardLoops::has_startable_card() const {
  return next_to_start(parts_.engine.world()) != nullptr;
}

// Readings of all policies, each in its repository's lane.
struct BoardLoops::PolicyReads {
  std::vector<PolicyLocation> places;
  std::vector<std::optional<Stored<std::shared_ptr<const PolicyReading>>>> readings;
  std::size_t left = 0;
  std::function<void(const Digest& policy_digest)> then;
};

// The policies are read before the tick, because its start records their digest. If projects change
// meanwhile, all are read again, so that no tick uses a policy that wasn't read.
void BoardLoops::prepare(std::function<void(const Digest& policy_digest)> then) {
  auto reads = std::make_shared<PolicyReads>();
  reads->places = policy_places(parts_.engine.world());
  reads->left = reads->places.size();
  reads->readings.resize(reads->left);
  reads->then = std::move(then);
  if (reads->left == 0) {
    parts_.blocking.run([this, reads]() -> std::function<void()> {
      return [this, reads] { finish_reading(*reads); };
    });
  }
  for (std::size_t place = 0; place < reads->places.size(); ++place) read_policy(reads, place);
}

void BoardLoops::read_policy(const std::shared_ptr<PolicyReads>& reads, std::size_t place) {
  const PolicyLocation& location = reads->places[place];
  const auto finish = [this, reads, place](Stored<std::shared_ptr<const PolicyReading>> reading) {
    reads->readings[place] = std::move(reading);
    if (--reads->left == 0) finish_reading(*reads);
  };
  Lane lane{.name = policy_file_name + (" of " + location.repository),
            .deadline_ms = limits::policy_read_ms_max,
            .counts_from_begin = true};
  lane.failed = [finish, repository = location.repository](LaneFailure) {
    finish(store_failure(
        StoreError::Kind::io,
        repository + " didn't answer within " + std::to_string(limits::policy_read_ms_max) + " ms",
        repository));
  };
  parts_.blocking.run(
      std::move(lane),
      [files = parts_.files, location, finish,
       now_ns = parts_.clock.wall_ns()]() -> std::function<void()> {
        return [finish, reading = files->read_policy(location.repository, location.base, now_ns)] {
          finish(reading);
        };
      });
}

void BoardLoops::finish_reading(PolicyReads& reads) {
  if (reads.places != policy_places(parts_.engine.world())) return prepare(std::move(reads.then));
  for (std::size_t place = 0; place < reads.places.size(); ++place) {
    apply_policy({reads.places[place], std::move(*reads.readings[place])});
  }
  reads.then(digest_of(parts_.engine.world()));
}

void BoardLoops::apply_policy(const PolicyRead& read) {
  auto transaction = parts_.engine.begin(by_the_service);
  const std::string& project = read.place.project;
  if (!read.reading) {
    const std::string& message = read.reading.error().message;
    (void)transaction.apply(RefusePolicy{project, Sha256().update(message).finish(), 0, message});
  } else if ((*read.reading)->policy) {
    const PolicyReading& file = **read.reading;
    const auto adopted = transaction.apply(AdoptPolicy{project, file.digest, *file.policy});
    if (!adopted || *adopted == 0) return;
    for (const LineError& ignored : file.warnings) {
      parts_.log(false, std::string(policy_file_name) + " of " + project + ", line " +
                            std::to_string(ignored.line) + ", is ignored: " + ignored.message);
    }
  } else {
    const LineError& error = (*read.reading)->policy.error();
    const auto line = static_cast<std::uint32_t>(std::max<std::size_t>(error.line, 1));
    (void)transaction.apply(RefusePolicy{project, (*read.reading)->digest, line, error.message});
  }
}

void BoardLoops::complete(StartRun& run) {
  for (StationDefinition& station : run.pipeline->stations) {
    if (station.coderunner && !station.coderunner->mode)
      station.coderunner->mode = coderunner_mode_;
  }
  run.run_id = parts_.ids.next_run_id(parts_.clock.wall_ns());
  run.pipeline_digest = pipeline_digest(*run.pipeline);
}

void BoardLoops::run_heartbeat(Token token, const ScheduledLoop::Ended& ended) {
  for (bool more = true; more;) {
    const auto retried = parts_.engine.begin(by_the_service).apply(RetryBlockedCards{});
    more = retried && *retried == limits::retried_cards_max;
  }
  left_out_.clear();
  start_cards(token, started_max, ended);
}

void BoardLoops::start_cards(Token token, std::size_t most, const ScheduledLoop::Ended& ended) {
  const World& world = parts_.engine.world();
  for (; most > 0; --most) {
    const Card* card = next_to_start(world, left_out_);
    if (card == nullptr) break;
    if (goes_on_with_run(world, *card)) return go_on(*card, token, most, ended);
    const std::string former = former_repository(world, *card);
    const std::string reason = "card " + to_string(card->id) +
                               " is done again by another run: the work of run " +
                               to_string(card->run_id) + ", which wasn't proposed, is in " +
                               former + ", which isn't the project's repository any more";
    if (const auto started = start(*card, {}); !started) return ended(started.error());
    if (!former.empty()) parts_.log(false, reason);
  }
  ended(std::nullopt);
}

tl::expected<void, std::string> BoardLoops::start(const Card& card, FailedRun failed) {
  const World& world = parts_.engine.world();
  StartCard command{card.id, run_of_card(*world.find_project(card.project), card),
                    std::move(failed), left_out_};
  command.run.input = input_of_card_run(world, card);
  complete(command.run);
  logged_.erase(command.card_id);
  const auto applied = parts_.engine.begin(by_the_service).apply(command);
  if (applied) return {};
  return tl::unexpected("card " + to_string(command.card_id) + ": " + applied.error().message);
}

// The records of the run may not be durable yet, and only what is can be read.
void BoardLoops::go_on(const Card& card, Token token, std::size_t most,
                       const ScheduledLoop::Ended& ended) {
  const World& world = parts_.engine.world();
  const auto find = [this, worktree = world.worktrees.at(card.run_id), token, most, ended,
                     id = card.id, changed_at = card.changed_at](Durability durability) {
    if (durability != Durability::durable) return ended("its start was rolled back");
    const auto then = [this, token, most, ended, id,
                       changed_at](const tl::expected<FailedRun, std::string>& found) {
      const World& now = parts_.engine.world();
      const Tick* const tick = now.find_tick(heartbeat_.name());
      if (tick == nullptr || tick->token != token || tick->status != TickStatus::running) {
        return ended("it took too long");
      }
      if (!found) {
        leave_out(id, changed_at, found.error());
        return start_cards(token, most, ended);
      }
      const Card* const next = next_to_start(now, left_out_);
      if (next != nullptr && next->id == id && next->changed_at == changed_at) {
        const RunId before = next->run_id;
        if (const auto started = start(*next, *found); !started) return ended(started.error());
        log_if_another_run(id, before, *found);
      }
      start_cards(token, most - 1, ended);
    };
    Lane lane{.name = "runs that cards go on with"};
    parts_.blocking.run(
        std::move(lane),
        [find_failed_run = parts_.find_failed_run, files = parts_.files, worktree,
         position = parts_.engine.durable_position(), then]() -> std::function<void()> {
          tl::expected<FailedRun, std::string> found = FailedRun{};
          // A runner's own stations say whether it still has it.
          if (!worktree.runner.empty() || files->has_worktree(worktree))
            found = find_failed_run(position, worktree.run_id);
          return [then, found = std::move(found)] { then(found); };
        });
  };
  parts_.engine.release_when_durable(find);
}

// The other cards go on, and the next tick looks again. It is logged once, and not at each tick.
void BoardLoops::leave_out(const CardId& id, Position changed_at, const std::string& why) {
  left_out_.insert(id);
  const auto logged = logged_.find(id);
  if (logged != logged_.end() && logged->second == changed_at) return;
  logged_.insert_or_assign(id, changed_at);
  parts_.log(false, "card " + to_string(id) + " isn't started yet: " + why);
}

void BoardLoops::log_if_another_run(const CardId& id, const RunId& before,
                                    const FailedRun& failed) const {
  const Card* const card = parts_.engine.world().board.find(id);
  if (card == nullptr || !card->has_agent() || card->run_id == before) return;
  const std::string why = failed.run == nullptr
                              ? "can't go on without its worktree and its records"
                              : "failed at " + failed.run->definition().name +
                                    ", and only a create_pr is tried again by itself";
  parts_.log(false, "card " + to_string(id) + " is done again by another run: run " +
                        to_string(before) + ", whose work wasn't proposed, " + why);
}

void BoardLoops::synthesize(Token, const ScheduledLoop::Ended& ended) {
  const World& world = parts_.engine.world();
  std::vector<std::string> names;
  for (const auto& [name, cards] : world.board.verified()) names.push_back(name);
  for (const std::string& name : names) {
    const Card* card = next_to_merge(world, name, parts_.clock.wall_ns());
    if (card == nullptr) continue;
    MergeCard command{card->id, run_of_merge(*world.find_project(name), *card)};
    complete(command.run);
    boost::json::object input;
    input["branch"] = branch_of(card->run_id, card->token);
    input["commit"] = card->commit;
    input["title"] = card->title;
    command.run.input = boost::json::serialize(input);
    const auto applied = parts_.engine.begin(by_the_service).apply(command);
    if (!applied)
      return ended("card " + to_string(command.card_id) + ": " + applied.error().message);
  }
  ended(std::nullopt);
}

void BoardLoops::prune(Token, const ScheduledLoop::Ended& ended) {
  (void)parts_.engine.begin(by_the_service).apply(PruneRuns{prune_after_ms_});
  ended(std::nullopt);
}

}  // namespace signalbox
