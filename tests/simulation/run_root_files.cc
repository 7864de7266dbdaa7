#include "tests/simulation/run_root_files.h"

#include <utility>

#include "domain/check.h"
#include "domain/nanoseconds.h"

namespace signalbox::simulation {
namespace {

constexpr const char* runs = "/data/runs";

std::string path_of(const FileChange& change) { return change.root + "/" + change.path; }

bool is_kept_by_state(const std::string& path) {
  return path.ends_with(run_root_path::lock) || path.ends_with(run_root_path::tick_marker);
}

// Appends the rows that the ledger doesn't have yet: after a crash, some are written again.
void append_rows(std::string& ledger, std::string_view rows) {
  while (!rows.empty()) {
    const std::string_view row = rows.substr(0, rows.find('\n') + 1);
    if (ledger.find(row) == std::string::npos) ledger += row;
    rows.remove_prefix(row.size());
  }
}

}  // namespace

RunRootFiles::RunRootFiles(Environment& environment)
    : environment_(environment), projection_({}, runs) {}

void RunRootFiles::start(const EventLog& log, Owner owner) {
  owner_ = owner;
  write_planned_ = false;
  waiting_.clear();
  sight_.reset();
  decides_by_.reset();
  backlog_ = {};
  projection_ = RunRootProjection(remembered_, runs);
  const auto scanned = log.scan(remembered_at_ + 1, log.tail(), [this](Record&& record) {
    take(record);
    return true;
  });
  SIGNALBOX_CHECK(scanned.has_value());
  for (FileChange& change : projection_.present(log.tail())) backlog_.add(std::move(change));
  written_ = remembered_at_;
  seen_ = log.tail();
  write_later();
}

void RunRootFiles::take(const Record& record) {
  if (event_as<ServerStarted>(record.event) != nullptr ||
      event_as<ClockJumped>(record.event) != nullptr) {
    leases_anew_ = {record.position, record.recorded_at_ns};
  }
  if (!RunRootProjection::concerns(record)) return;
  const bool skipped = environment_.mutant == Mutant::marker_not_cleared &&
                       event_as<TickFailed>(record.event) != nullptr;
  for (FileChange& change : projection_.apply(record)) {
    if (skipped && change.kind == FileChange::Kind::remove) continue;
    backlog_.add(std::move(change));
  }
}

void RunRootFiles::observe(const Commit& commit) {
  for (const Record& record : commit) take(record);
  seen_ = commit.back().position;
  write_later();
}

void RunRootFiles::write_later() {
  if (backlog_.empty()) written_ = seen_;
  if (backlog_.empty() && waiting_.empty()) return;
  if (std::exchange(write_planned_, true)) return;
  environment_.schedule.after(environment_.random.between(50, 2000) * ns_per_us, owner_,
                              [this] { write_one(); });
}

void RunRootFiles::write_one() {
  write_planned_ = false;
  if (!backlog_.empty()) apply(backlog_.take_first().change);
  if (backlog_.empty()) {
    written_ = seen_;
    if (environment_.random.one_in(3)) {
      remembered_ = projection_.state();
      remembered_at_ = written_;
    }
    for (auto& [position, written] : std::exchange(waiting_, {})) {
      if (position <= written_) {
        written({});
      } else {
        waiting_.emplace_back(position, std::move(written));
      }
    }
  }
  write_later();
}

void RunRootFiles::when_written(Position position, Written written) {
  if (position <= written_ || environment_.mutant == Mutant::answer_before_files) {
    return written({});
  }
  waiting_.emplace_back(position, std::move(written));
  write_later();
}

void RunRootFiles::apply(const FileChange& change) {
  const std::string path = path_of(change);
  environment_.note("file " + path);
  left_by_foreigner(path);
  if (change.kind == FileChange::Kind::remove) {
    files_.erase(path);
    return;
  }
  File& file = files_[path];
  file.foreign.reset();
  file.modified_at_ns = environment_.schedule.wall_ns();
  if (change.kind == FileChange::Kind::append) {
    append_rows(file.content, change.bytes);
  } else {
    file.content = change.bytes;
  }
}

FoundFile RunRootFiles::look(const std::string& path) {
  sight_ = FileObservation{path, files_.contains(path), std::nullopt};
  const auto place = files_.find(path);
  if (place == files_.end()) return {};
  const File& file = place->second;
  sight_->foreign = file.foreign;
  if (file.foreign) {
    const bool blind = file.foreign->is_lock
                           ? environment_.mutant == Mutant::foreign_lock_overwritten
                           : environment_.mutant == Mutant::foreign_marker_ignored;
    if (blind) return {};
    if (!file.foreign->is_readable) {
      return {FoundFile::Kind::unreadable, {}, "a directory", file.modified_at_ns};
    }
  }
  return {FoundFile::Kind::content, file.content, {}, file.modified_at_ns};
}

void RunRootFiles::applied(std::span<const Record> records) const {
  const std::optional<ForeignFile> nothing;
  bool made_way = false;
  for (const Record& record : records) {
    const std::string where = " at position " + std::to_string(record.position);
    if (event_as<LockFileReplaced>(record.event) != nullptr) {
      made_way = true;
    } else if (const auto* acquired = event_as<LockAcquired>(record.event)) {
      if (acquired->run_root.empty()) continue;
      const std::string path = acquired->run_root + "/" + run_root_path::lock;
      const bool looked = decides_by_ && decides_by_->path == path;
      environment_.expect(looked, "a lock was granted without a look at " + path + where);
      const auto& foreign = looked ? decides_by_->foreign : nothing;
      environment_.expect(!foreign || foreign->expires_at_ns <= record.recorded_at_ns,
                          "a lock was granted over the foreign one in " + path + where);
      // The mirror of another key's lock is replaced as well if it has the same owner or looks
      // expired.
      const bool is_own = looked && decides_by_->is_there && !foreign;
      environment_.expect(is_own || foreign.has_value() == made_way,
                          "LockFileReplaced doesn't tell what was in " + path + where);
    } else if (const auto* started = event_as<TickStarted>(record.event)) {
      if (started->run_root.empty()) continue;
      const std::string path = started->run_root + "/" + run_root_path::tick_marker;
      const bool looked = decides_by_ && decides_by_->path == path;
      environment_.expect(looked, "a tick began without a look at " + path + where);
      environment_.expect(!looked || !decides_by_->foreign,
                          "a tick began in spite of the foreign marker " + path + where);
    }
  }
}

void RunRootFiles::left_by_foreigner(const std::string& path) {
  const auto place = files_.find(path);
  if (place == files_.end() || !place->second.foreign) return;
  foreign_end_[path] = environment_.schedule.monotonic_ns();
}

bool RunRootFiles::put(const std::string& path, ForeignFile file) {
  if (files_.contains(path)) return false;
  environment_.note("somebody puts " + path);
  files_[path] = {file.content, std::move(file), environment_.schedule.wall_ns()};
  return true;
}

void RunRootFiles::remove_foreign_file(const std::string& path) {
  const auto place = files_.find(path);
  if (place == files_.end() || !place->second.foreign) return;  // it was replaced by the service
  environment_.note("somebody takes " + path + " away");
  left_by_foreigner(path);
  files_.erase(place);
}

bool RunRootFiles::had_foreign(const std::string& path, std::int64_t since_ns) const {
  const auto place = files_.find(path);
  if (place != files_.end() && place->second.foreign) return true;
  const auto end = foreign_end_.find(path);
  return end != foreign_end_.end() && end->second >= since_ns;
}

void RunRootFiles::examine(const World& world) const {
  if (!backlog_.empty() || seen_ != world.position) return;
  RunRootState state = run_root_state_of(world, runs);
  for (auto& [key, lock] : state.locks) {
    if (world.find_lock(key)->renewed_at > leases_anew_.first) continue;
    lock.expires_at_ns = leases_anew_.second + lock.lease_ms * ns_per_ms;
  }
  const RunRootProjection present(std::move(state), runs);
  std::map<std::string, std::string> wanted;
  for (const FileChange& change : present.present(world.position)) {
    wanted[path_of(change)] = change.bytes;
  }
  for (const auto& [path, bytes] : wanted) {
    const auto place = files_.find(path);
    environment_.expect(place != files_.end(), path + " isn't there");
    environment_.expect(place == files_.end() || place->second.content == bytes,
                        path + " doesn't say what the world does");
  }
  for (const auto& [path, file] : files_) {
    if (!is_kept_by_state(path) || file.foreign) continue;
    environment_.expect(wanted.contains(path), path + " is there, and nothing it could tell of");
  }
}

void RunRootFiles::examine_all(const EventLog& log) const {
  RunRootProjection projection({}, runs);
  std::map<std::string, std::string> rebuilt;
  const auto scanned = log.scan(1, log.tail(), [&](Record&& record) {
    if (!RunRootProjection::concerns(record)) return true;
    for (const FileChange& change : projection.apply(record)) {
      if (change.kind == FileChange::Kind::remove) {
        rebuilt.erase(path_of(change));
      } else if (change.kind == FileChange::Kind::append) {
        rebuilt[path_of(change)] += change.bytes;
      } else {
        rebuilt[path_of(change)] = change.bytes;
      }
    }
    return true;
  });
  SIGNALBOX_CHECK(scanned.has_value());
  for (const auto& [path, bytes] : rebuilt) {
    const auto place = files_.find(path);
    environment_.expect(place != files_.end() && place->second.content == bytes,
                        path + " isn't what the log makes of it");
  }
  for (const auto& [path, file] : files_) {
    environment_.expect(file.foreign || rebuilt.contains(path),
                        path + " is there, and the log knows nothing of it");
  }
}

}  // namespace signalbox::simulation
