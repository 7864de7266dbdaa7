#include "server/scheduler/file_retention.h"

#include <exception>
#include <filesystem>
#include <utility>

#include "domain/nanoseconds.h"
#include "domain/service_loops.h"
#include "server/scheduler/clock_advance.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Returns whether the path is the place `normal`, which is a normal path. Any other way to write
// that is longer.
bool is_same_place(const std::string& path, const std::string& normal) {
  if (path.size() <= normal.size()) return path == normal;
  const auto has = [&path](const char* part) { return path.find(part) != std::string::npos; };
  if (!path.ends_with('/') && !has("//") && !has("/.")) return false;
  const fs::path same = fs::path(path).lexically_normal();
  return (same.has_filename() ? same : same.parent_path()) == normal;
}

}  // namespace

void conclude_file_retention(Engine& engine) {
  const Tick* tick = engine.world().find_tick(std::string(file_retention_loop_name));
  if (tick == nullptr) return;
  (void)engine.begin(by_the_service)
      .apply(RecoverTick{
          tick->loop,
          "the service ended before all files were removed; the next due time removes the rest",
          true});
}

FileRetention::FileRetention(Parts parts, const FileRetentionSettings& settings)
    : parts_(std::move(parts)),
      settings_(settings),
      stopped_(std::make_shared<std::atomic<bool>>(false)),
      cleaner_(parts_.cleaner(*stopped_)),
      loop_(parts_.engine, parts_.clock, std::string(file_retention_loop_name), settings_.schedule,
            {{}, [this](Token, const ScheduledLoop::Ended& ended) {
               (void)add(/*is_dry=*/false, [ended](const FileRetentionReport& report) {
                 ended(report.error.empty() ? std::nullopt : std::optional(report.error));
               });
             }}) {}

FileRetention::~FileRetention() = default;

void FileRetention::on_armed() {
  if (!measured_) (void)add(/*is_dry=*/true, {});
}

bool FileRetention::plan(std::function<void(const FileRetentionReport&)> planned) {
  return add(/*is_dry=*/true, std::move(planned));
}

bool FileRetention::is_removing(const RunId& run_id) const {
  return removing_.contains(run_id) || removed_before_.contains(run_id);
}

// Plans that somebody asked for, and maybe doesn't wait for any more, hold up no round that is due.
bool FileRetention::add(bool is_dry, Done done) {
  if (is_dry && waiting_.size() > limits::file_retention_rounds_max) return false;
  const auto place = is_dry || waiting_.empty() ? waiting_.end() : waiting_.begin() + 1;
  waiting_.insert(place, {.is_dry = is_dry, .done = std::move(done)});
  begin_next();
  return true;
}

void FileRetention::begin_next() {
  if (busy_ || waiting_.empty() || *stopped_) return;
  busy_ = true;
  FileRound round;
  round.is_dry = waiting_.front().is_dry;
  round.now_ns = round_now_ns_ = parts_.clock.wall_ns();
  round.older_than_ms = settings_.older_than_ms;
  round.failed_runs_ms = settings_.failed_runs_ms;
  round.position = parts_.engine.durable_position();
  waiting_.front().began_at = round.position;
  round.crash_report = parts_.engine.world().server.crash_report;
  round.branches_ms = settings_.branches_ms;
  for (const auto& [name, project] : parts_.engine.world().projects) {
    round.repositories.push_back({project.repository, project.remote});
  }
  compared_ = 0;
  if (!round.is_dry) removed_before_ = std::exchange(removing_, {});
  on_lane([this, round = std::move(round), cleaner = cleaner_]() -> std::function<void()> {
    const auto begun = cleaner->begin(round);
    if (!begun) return [this, why = begun.error().message] { end(why); };
    if (!round.is_dry) {
      const auto why = describe_clock_advance(parts_.log, round.now_ns);
      if (!why) return [this, why = why.error().message] { end(why); };
      if (*why) return [this, why = **why] { end(why); };
    }
    return [this] { step(std::nullopt); };
  });
}

// Runs `work` on the lane, and what it returns on the engine thread, unless the service stops.
void FileRetention::on_lane(std::function<std::function<void()>()> work) {
  parts_.blocking.run(
      {.name = "files of ended runs"},
      [this, work = std::move(work), stopped = stopped_]() -> std::function<void()> {
        std::function<void()> then;
        try {
          then = work();
        } catch (const std::exception& failure) {
          then = [this, why = std::string(failure.what())] { end(why); };
        }
        return [then = std::move(then), stopped] {
          if (!*stopped) then();
        };
      });
}

// Removes what was approved, and finds the next run.
void FileRetention::step(std::optional<ExpiredRun> approved) {
  on_lane([this, approved = std::move(approved), cleaner = cleaner_]() -> std::function<void()> {
    const bool was_left = approved && !cleaner->remove(*approved);
    auto found = cleaner->next();
    return [this, found = std::move(found), left = was_left ? approved->run_id : RunId()] {
      removing_.erase(left);  // it can still be retried
      if (!found) return end(found.error().message);
      if (!*found) return remove_artifacts();
      check(**found);
    };
  });
}

void FileRetention::check(ExpiredRun run) {
  if (compared_ >= parts_.compared_max) return pause(std::move(run));
  const World& world = parts_.engine.world();
  compared_ += world.locks.size() + world.ticks.size() + world.runs.size();
  std::string reason = reason_to_keep(run);
  if (reason.empty()) {
    if (run.is_failed && !waiting_.front().is_dry) removing_.insert(run.run_id);
    return step(std::move(run));
  }
  on_lane([this, run = std::move(run), reason = std::move(reason),
           cleaner = cleaner_]() -> std::function<void()> {
    cleaner->keep(run, reason);
    return [this] { step(std::nullopt); };
  });
}

// Ends a round that has had its share of the engine thread.
void FileRetention::pause(ExpiredRun run) {
  on_lane([this, run = std::move(run), cleaner = cleaner_]() -> std::function<void()> {
    cleaner->pause(run);
    return [this] { remove_refs(); };  // which asks nothing of the engine thread
  });
}

// Returns what in the world still needs the run's files; empty: nothing.
std::string FileRetention::reason_to_keep(const ExpiredRun& run) const {
  const World& world = parts_.engine.world();
  if (world.find_run(run.run_id) != nullptr) return "the run goes on";
  if (world.worktrees.contains(run.run_id)) return "the board hasn't removed its worktree";
  const Card* card = world.board.find_by_run(run.run_id);
  if (card != nullptr && card->status != CardStatus::merged) return "its card isn't merged";
  const fs::path normal = fs::path(run.root).lexically_normal();
  const std::string root = (normal.has_filename() ? normal : normal.parent_path()).string();
  for (const auto& [key, lock] : world.locks) {
    if (is_same_place(lock.run_root, root)) return "the lock " + key + " is held in its run root";
  }
  for (const auto& [loop, tick] : world.ticks) {
    const bool drives = tick.run_id == run.run_id;
    if (drives || is_same_place(tick.run_root, root)) return "a tick of " + loop + " uses it";
  }
  for (const auto& [id, open] : world.runs) {
    if (is_same_place(open->run_root, root)) return "the open run " + to_string(id) + " uses it";
  }
  return {};
}

// The work of a card that is blocked or failed is given up once it has been so for that long. That
// of any other card is needed with all its runs: the run under way may take over an earlier one's.
NeededWork FileRetention::needed_work() const {
  NeededWork needed;
  if (!settings_.branches_ms) return needed;
  const World& world = parts_.engine.world();
  needed.runs.reserve(world.runs.size() + world.worktrees.size());
  for (const auto& [id, run] : world.runs) needed.runs.push_back(id);
  for (const auto& [id, worktree] : world.worktrees) needed.runs.push_back(id);
  const std::int64_t given_up_ns = round_now_ns_ - *settings_.branches_ms * ns_per_ms;
  for (const auto& [id, card] : world.board.cards()) {
    const bool has_stopped =
        card->status == CardStatus::blocked || card->status == CardStatus::failed;
    if (has_stopped && card->changed_at_ns <= given_up_ns) continue;
    needed.cards.push_back(id);
    // The read model may not have these as runs of the card yet.
    for (const RunId& run_id : {card->run_id, card->merge_run_id}) {
      if (!run_id.is_nil()) needed.runs.push_back(run_id);
    }
  }
  return needed;
}

void FileRetention::remove_artifacts() {
  on_lane([this, cleaner = cleaner_]() -> std::function<void()> {
    const auto more = cleaner->remove_artifacts();
    if (!more) return [this, why = more.error().message] { end(why); };
    if (*more) return [this] { remove_artifacts(); };
    return [this] { remove_refs(); };
  });
}

void FileRetention::remove_refs() {
  on_lane([this, needed = needed_work(), cleaner = cleaner_]() -> std::function<void()> {
    const auto more = cleaner->remove_refs(needed);
    if (!more) return [this, why = more.error().message] { end(why); };
    if (*more) return [this] { remove_refs(); };
    return [this] { end({}); };
  });
}

void FileRetention::end(const std::string& error) {
  on_lane([this, error, cleaner = cleaner_]() -> std::function<void()> {
    FileRetentionReport report = cleaner->end();
    report.error = error;
    return [this, report = std::move(report)]() mutable {
      report.at_ns = parts_.clock.wall_ns();
      const Waiting ended = std::move(waiting_.front());
      report.position = ended.began_at;
      waiting_.pop_front();
      busy_ = false;
      measured_ = report;
      if (!report.is_dry) {
        latest_ = report;
        parts_.report(report);
      }
      if (ended.done) ended.done(report);
      begin_next();
    };
  });
}

}  // namespace signalbox
