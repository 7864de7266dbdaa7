#include "tests/simulation/retention.h"

#include <algorithm>
#include <array>
#include <utility>

#include "domain/check.h"
#include "projections/memory_table.h"
#include "projections/retention_plan.h"
#include "tests/simulation/schedule.h"

namespace signalbox::simulation {
namespace {

// Each mutant has to be found by the judge that it was made for, so that others keep all records.
bool may_retain(Mutant mutant) {
  constexpr std::array own{Mutant::none, Mutant::open_run_dropped, Mutant::grant_dropped,
                           Mutant::young_record_dropped};
  return std::find(own.begin(), own.end(), mutant) != own.end();
}

// Ages and intervals are short, so that a simulation has several rounds.
RetentionSettings any_retention_settings(SeededRandom& random) {
  const std::int64_t older_than_ms = random.between(2'000, 20'000);
  const std::int64_t failed_runs_ms = random.between(2'000, 60'000);
  const std::string interval = std::to_string(random.between(4, 12)) + "s";
  return {older_than_ms, failed_runs_ms, "/archives", "/nonexistent/key",
          signalbox::Schedule::parse(interval).value()};
}

// Takes the records first … last out of what is kept.
void remove_range(std::vector<PositionRange>& kept, Position first, Position last) {
  std::vector<PositionRange> rest;
  for (const PositionRange& range : kept) {
    if (range.last < first || range.first > last) {
      rest.push_back(range);
      continue;
    }
    if (range.first < first) rest.push_back({range.first, first - 1});
    if (range.last > last) rest.push_back({last + 1, range.last});
  }
  kept = std::move(rest);
}

}  // namespace

bool has_retention(std::uint64_t seed, Mutant mutant) {
  return seed % 8 == 1 && may_retain(mutant);
}

Retention::Retention(Environment& environment, const EventLog& log, const EventLog& whole)
    : environment_(environment),
      log_(log),
      whole_(whole),
      settings_(any_retention_settings(environment.retention_random)) {}

bool Retention::crashes(const char* step) {
  if (environment_.faults.stopped() || environment_.crash_wanted ||
      !environment_.retention_random.per_cent(4)) {
    return false;
  }
  environment_.crash(std::string("in a retention, ") + step);
  return true;
}

std::int64_t Retention::duration_ns() {
  return environment_.retention_random.between(1, 400) * ns_per_ms;
}

StagedRetention Retention::stage(const DroppableLog& log, std::int64_t now_ns,
                                 const std::atomic<bool>& stopped) {
  StagedRetention staged;
  const auto failed = [&staged](const std::string& why) {
    staged.event.reset();
    staged.outcome.error = why;
    return std::move(staged);
  };
  if (crashes("before the archive")) return failed("killed");
  plan_ = {log.tail(),
           now_ns - settings_.older_than_ms * ns_per_ms,
           now_ns - settings_.failed_runs_ms * ns_per_ms,
           {}};
  const bool is_hasty = environment_.mutant == Mutant::young_record_dropped;
  MemoryTable scratch;
  auto plan =
      plan_retention(log, is_hasty ? now_ns : plan_.until_ns, scratch, plan_.failed_until_ns);
  if (!plan) {
    environment_.violate("no retention can be planned: " + plan.error().message);
    return failed(plan.error().message);
  }
  staged.outcome.horizon = plan->horizon;
  if (plan->drops_nothing() || !plan->is_worthwhile()) return staged;

  const std::string path =
      "/archives/" + std::to_string(plan->from) + "-" + std::to_string(plan->horizon);
  archives_[path] = {plan->from, plan->horizon};
  if (crashes("after the archive")) return failed("killed");
  plan_.dropped_nouns = plan->dropped_nouns;
  environment_.dropped.going.clear();
  for (const Uuid& id : plan_.dropped_nouns) environment_.dropped.going.insert(to_string(id));
  tamper(plan->drop);
  auto drop = log.stage_drop(std::move(plan->drop), &stopped);
  if (!drop) {
    // A stop that was asked for before its turn came ends it.
    if (!stopped) environment_.violate("no drop can be staged: " + drop.error().message);
    return failed(drop.error().message);
  }
  HistoryDropped event;
  event.horizon = plan->horizon;
  event.from = plan->from;
  event.records = plan->records_dropped;
  event.records_kept = plan->records_kept;
  event.older_than_ms = settings_.older_than_ms;
  event.archive = path;
  event.origin = "box.example";
  Sha256 hashing;
  event.root = merkle_root(drop->frontier, hashing);
  event.base = drop->base_sha256;
  staged.drop = std::move(*drop);
  staged.event = std::move(event);
  staged.dropped_nouns = plan->dropped_nouns;
  staged.audit_key = plan->audit_key;
  staged.outcome.records_dropped = plan->records_dropped;
  staged.outcome.archive = path;
  return staged;
}

// Drops what a command or a decision still needs.
void Retention::tamper(HistoryDrop& drop) const {
  Position needed = 0;
  LogModel model;
  if (environment_.mutant != Mutant::open_run_dropped &&
      environment_.mutant != Mutant::grant_dropped) {
    return;
  }
  const auto scanned = whole_.scan(1, whole_.tail(), [&model](Record&& record) {
    model.read(record);
    return true;
  });
  SIGNALBOX_CHECK(scanned.has_value());
  if (environment_.mutant == Mutant::grant_dropped) {
    for (const auto& [key, versions] : model.locks()) {
      needed = std::max(needed, versions.at(drop.position).token);
    }
  } else {
    for (const auto& [id, versions] : model.runs()) {
      const ModelRun& run = versions.at(drop.position);
      if (!run.status.empty() && !run.is_terminal()) needed = std::max(needed, versions.first());
    }
  }
  if (needed == 0) return;
  const Commit commit = whole_.read_commit(needed).value();
  remove_range(drop.kept, commit.front().position, commit.back().position);
}

void Retention::read_on() {
  const auto scanned = whole_.scan(model_.tail() + 1, whole_.tail(), [this](Record&& record) {
    model_.read(record);
    read(record);
    return true;
  });
  SIGNALBOX_CHECK(scanned.has_value());
}

void Retention::read(const Record& record) {
  recorded_at_ns_.push_back(record.recorded_at_ns);
  command_ids_.push_back(record.command_id);
  if (record.stream.kind == StreamKind::run) {
    Noun& run = runs_[record.stream.run_id];
    run.records.push_back(record.position);
    if (event_as<RunFailed>(record.event) != nullptr) run.failed_at = record.position;
  } else if (record.stream.kind == StreamKind::card) {
    cards_[record.stream.run_id].records.push_back(record.position);
    if (const auto* started = event_as<CardStarted>(record.event)) {
      runs_of_cards_.insert(started->run_id);
    } else if (const auto* merging = event_as<CardMergeStarted>(record.event)) {
      runs_of_cards_.insert(merging->run_id);
    }
  } else if (event_as<ServicePaused>(record.event) != nullptr) {
    paused_at_.put(record.position, record.position);
  } else if (event_as<ServiceResumed>(record.event) != nullptr) {
    paused_at_.put(record.position, 0);
  }
}

void Retention::dropped() {
  const Horizon horizon = log_.horizon();
  const Position before = environment_.dropped.horizon.position;
  environment_.note("dropped up to " + std::to_string(horizon.position));
  read_on();
  judge_ages(before, horizon);
  judge_runs(horizon);
  judge_cards(horizon);
  judge_grants(horizon);
  note_dropped(horizon);
}

// Everything up to the horizon is old and in archives that continue one another, and the next
// command isn't old.
void Retention::judge_ages(Position before, const Horizon& horizon) {
  const std::string path =
      "/archives/" + std::to_string(before + 1) + "-" + std::to_string(horizon.position);
  environment_.expect(archives_.contains(path), "records after " + std::to_string(before) +
                                                    " were dropped, and no archive has them");
  const auto is_old = [this](Position position) {
    return recorded_at_ns_[position] <= plan_.until_ns;
  };
  for (Position position = before + 1; position <= horizon.position; ++position) {
    environment_.expect(is_old(position), "record #" + std::to_string(position) +
                                              " was younger than the retention's age, and a " +
                                              "retention moved the horizon behind it");
  }
  if (horizon.position >= plan_.tail) return;
  const Commit next = whole_.read_commit(horizon.position + 1).value();
  const bool is_young = std::any_of(next.begin(), next.end(), [&is_old](const Record& record) {
    return !is_old(record.position);
  });
  environment_.expect(is_young, "the command at #" + std::to_string(horizon.position + 1) +
                                    " was old, and a retention left it");
}

bool Retention::has_records_after(const Noun& noun, Position horizon) {
  return !noun.records.empty() && noun.records.back() > horizon;
}

std::string Retention::reason_to_keep(const Uuid& id, const Noun& run,
                                      const Horizon& horizon) const {
  const ModelRun& then = model_.run(to_string(id)).at(horizon.position);
  if (!then.is_terminal()) return "was open";
  if (has_records_after(run, horizon.position)) return "went on";
  const bool is_recent = run.failed_at != 0 && then.status == "failed" &&
                         recorded_at_ns_[run.failed_at] > plan_.failed_until_ns;
  return is_recent && !runs_of_cards_.contains(id) ? "failed lately" : "";
}

void Retention::judge_runs(const Horizon& horizon) {
  for (const auto& [id, run] : runs_) {
    const std::string what = "run " + to_string(id);
    const std::string reason = reason_to_keep(id, run, horizon);
    if (!reason.empty()) {
      expect_whole(what + " " + reason, run, horizon);
    } else if (!runs_of_cards_.contains(id)) {
      expect_gone(what, run, horizon);
    }
  }
}

// A card that isn't merged is open.
void Retention::judge_cards(const Horizon& horizon) {
  for (const auto& [id, card] : cards_) {
    const std::string text = to_string(id);
    const bool is_over = model_.card(text).at(horizon.position).status == "merged";
    if (is_over && !has_records_after(card, horizon.position)) continue;
    expect_whole("card " + text + " was open", card, horizon);
  }
}

// A command that is repeated finds its first result there.
void Retention::judge_grants(const Horizon& horizon) {
  for (const auto& [key, versions] : model_.locks()) {
    expect_there("lock " + key + " was held", versions.at(horizon.position).token, horizon);
  }
  for (const auto& [loop, versions] : model_.ticks()) {
    expect_there("a tick of " + loop + " was open", versions.at(horizon.position).token, horizon);
  }
  expect_there("the service was paused", paused_at_.at(horizon.position), horizon);
}

void Retention::expect_there(const std::string& what, Position position, const Horizon& horizon) {
  if (position == 0) return;
  environment_.expect(!horizon.first_dropped(position, position),
                      what + ", and record #" + std::to_string(position) + " was dropped");
}

void Retention::expect_whole(const std::string& what, const Noun& noun, const Horizon& horizon) {
  for (const Position position : noun.records) expect_there(what, position, horizon);
}

void Retention::expect_gone(const std::string& what, const Noun& noun, const Horizon& horizon) {
  for (const Position position : noun.records) {
    if (position > horizon.position || horizon.first_dropped(position, position)) continue;
    const Commit commit = whole_.read_commit(position).value();
    const bool is_shared = std::any_of(
        commit.begin(), commit.end(),
        [&commit](const Record& record) { return record.stream != commit.front().stream; });
    environment_.expect(is_shared,
                        what + " was over, and record #" + std::to_string(position) + " was kept");
  }
}

void Retention::note_dropped(const Horizon& horizon) {
  DroppedHistory& dropped = environment_.dropped;
  dropped.horizon = horizon;
  for (const Uuid& id : plan_.dropped_nouns) {
    (runs_.contains(id) ? dropped.runs : dropped.cards).insert(to_string(id));
  }
  for (Position position = 1; position <= horizon.position; ++position) {
    const std::string& id = command_ids_[position];
    if (!id.empty() && horizon.first_dropped(position, position)) dropped.commands.insert(id);
  }
}

}  // namespace signalbox::simulation
