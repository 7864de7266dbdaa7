#include "server/followers/run_root/run_root_applier.h"

#include <utility>

#include "domain/try.h"
#include "server/followers/run_root/run_root_disk.h"
#include "server/followers/run_root/run_root_place.h"
#include "server/text/utf8_text.h"

namespace signalbox {

RunRootApplier::RunRootApplier(Note note, std::filesystem::path data, MayRemove may_remove,
                               InLane in_lane, std::shared_ptr<const RunRootRule> rule)
    : note_(std::move(note)),
      data_(std::move(data)),
      tag_(temporary_tag(data_ / "runs")),
      may_remove_(std::move(may_remove)),
      in_lane_(std::move(in_lane)),
      rule_(std::move(rule)) {}

void RunRootApplier::apply(RunRootBacklog& backlog) {
  while (!backlog.empty()) {
    RunRootBacklog::Entry entry = backlog.take_first();
    if (is_over()) {
      drop(entry);
    } else {
      apply_one(std::move(entry));
    }
  }
}

void RunRootApplier::drop(const RunRootBacklog::Entry& entry) {
  const std::string why =
      "the service stopped before all files in run roots were written: the next start writes them";
  if (!std::exchange(has_dropped_, true)) note_(false, why);
  const std::lock_guard lock(mutex_);
  note_error(entry, why);
}

// The mutex is locked.
void RunRootApplier::note_error(const RunRootBacklog::Entry& entry, const std::string& why) {
  errors_.push_back({entry.first, entry.change.position, why});
  if (errors_.size() > errors_max) errors_.pop_front();
}

void RunRootApplier::restore(std::vector<FailedChange> failed) {
  const std::lock_guard lock(mutex_);
  for (FailedChange& each : failed) {
    const RunRootBacklog::Key key{each.change.root, each.change.path};
    keep(key, std::move(each.change), each.why);
  }
}

// What exceeds the bound is left to `signalbox artifacts rebuild`, and so is what JSON can't hold.
std::vector<FailedChange> RunRootApplier::failed_changes() const {
  std::vector<FailedChange> changes;
  std::size_t bytes = 0;
  for (const auto& [key, failed] : failed_) {
    const std::size_t more = failed.change.bytes.size() + failed.why.size();
    if (bytes + more > saved_bytes_max || !is_utf8(failed.change.bytes)) continue;
    bytes += more;
    changes.push_back(failed);
  }
  return changes;
}

void RunRootApplier::forget_texts() {
  const std::lock_guard lock(mutex_);
  std::erase_if(failed_, [](const auto& each) {
    return each.second.change.kind != FileChange::Kind::remove;
  });
}

void RunRootApplier::try_again() {
  std::vector<FileChange> changes;
  for (const auto& [key, failed] : failed_) changes.push_back(failed.change);
  for (FileChange& change : changes) {
    if (is_over()) return;
    if (change.kind == FileChange::Kind::append) change.bytes.clear();  // apply_one() adds the rows
    const Position position = change.position;
    apply_one({std::move(change), position});
  }
}

void RunRootApplier::apply_one(RunRootBacklog::Entry entry) {
  FileChange& change = entry.change;
  const RunRootBacklog::Key key{change.root, change.path};
  const auto before = failed_.find(key);
  const bool failed_before = before != failed_.end();
  if (failed_before && change.kind == FileChange::Kind::append) {
    change.bytes = before->second.change.bytes + change.bytes;  // the older rows come first
  }
  const CallBounds bounds(finish_by_ms_);
  // The work has its own copy, because it may go on after its time.
  const Stored<void> applied =
      in_lane_(change.root, [this, change]() -> Stored<void> { return carry_out(change); });
  if (!applied) {
    fail(std::move(entry), applied.error().message);
  } else if (failed_before) {
    {
      const std::lock_guard lock(mutex_);
      failed_.erase(before);
    }
    note_(true, key.first + "/" + key.second + " is written again");
  }
}

Stored<void> RunRootApplier::carry_out(const FileChange& change) const {
  TRY(require_writable_place(data_, change.root));
  if (change.kind == FileChange::Kind::remove && !may_remove_(change)) return {};
  return apply_change(change, tag_, rule_.get());
}

void RunRootApplier::fail(RunRootBacklog::Entry entry, const std::string& why) {
  const RunRootBacklog::Key key{entry.change.root, entry.change.path};
  if (!failed_.contains(key)) note_(false, why);
  const std::lock_guard lock(mutex_);
  note_error(entry, why);
  keep(key, std::move(entry.change), why);
}

// Drops what exceeds the bounds: `signalbox artifacts rebuild` can write it again.
void RunRootApplier::keep(const RunRootBacklog::Key& key, FileChange change,
                          const std::string& why) {
  if (!failed_.contains(key) && failed_.size() == failures_max) return;
  if (change.kind == FileChange::Kind::append && change.bytes.size() > failed_rows_bytes_max) {
    const std::size_t from = change.bytes.find('\n', change.bytes.size() - failed_rows_bytes_max);
    change.bytes.erase(0, from + 1);
  }
  failed_[key] = {std::move(change), why};
}

std::string RunRootApplier::errors_at(Position position) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const Error& error : errors_) {
    if (error.first > position || error.last < position) continue;
    if (text.find(error.text) != std::string::npos) continue;
    text += (text.empty() ? "" : "; ") + error.text;
  }
  return text;
}

std::vector<std::string> RunRootApplier::failures(std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> reasons;
  for (const auto& [key, failed] : failed_) {
    if (reasons.size() == limit) break;
    reasons.push_back(failed.why);
  }
  return reasons;
}

std::size_t RunRootApplier::failure_count() const {
  const std::lock_guard lock(mutex_);
  return failed_.size();
}

}  // namespace signalbox
