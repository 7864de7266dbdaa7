#include "server/followers/projector.h"

#include "domain/try.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace signalbox {
namespace {

// About 6 MiB of records. The allocator would give the memory of more back to the kernel after each
// reading, which took half of this thread's time.
constexpr std::size_t apply_events_at_once = 8 * 1024;
constexpr Position apply_events_before_pause_ends = 256 * 1024;
constexpr std::chrono::milliseconds apply_pause{1000};

}  // namespace

Projector::Projector(const EventLog& log, RunIndex& index,
                     std::function<void(const StoreError&)> failed, Note note, Rebuilt rebuilt)
    : log_(log),
      index_(index),
      failed_(std::move(failed)),
      note_(std::move(note)),
      rebuilt_(std::move(rebuilt)),
      applied_(index.applied()) {}

Projector::~Projector() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  checker_changed_.notify_all();
  if (checker_.joinable()) checker_.join();
  if (thread_.joinable()) thread_.join();
}

Stored<void> Projector::catch_up() {
  take_offered_rows();
  auto followed = follow_to_tail();
  report_replaced();
  return followed;
}

Stored<void> Projector::catch_up_at_start(Position records_max) {
  const Position missing = log_.tail() - index_.applied();
  if (missing <= records_max) return catch_up();
  if (index_.applied() == 0) {
    index_.table().note_damage("there were none of " + std::to_string(missing) + " events");
  }
  return {};
}

void Projector::start() {
  // Before anybody asks: rows that are known to be damaged are never read.
  if (index_.table().damage()) {
    begin_rebuild();
  } else if (index_.applied() > 0) {
    // Rows that are there belong to the log's base of now. Compared later, after a drop that found
    // them complete, they would look damaged. The thread meets an error again and reports it.
    static_cast<void>(begin());
  }
  thread_ = std::thread([this] { run(); });
  checker_ = std::thread([this] { check_files(); });
}

// Called after each batch. The thread wakes once a second anyway and reads the tail, so a signal is
// worth its cost only if the backlog grows fast or a caller waits.
void Projector::notify() {
  if (log_.tail() - applied_.load() > apply_events_before_pause_ends) changed_.notify_one();
  const std::lock_guard lock(mutex_);
  if (wanted_ > applied_.load()) changed_.notify_one();
}

void Projector::query(Position position, Query query, Refused refused) {
  {
    const std::lock_guard lock(mutex_);
    queries_.push_back({position, std::move(query), std::move(refused)});
    wanted_ = std::max(wanted_, position);
  }
  changed_.notify_one();
}

void Projector::roll_back(Position tail) {
  {
    const std::lock_guard lock(mutex_);
    for (Waiting& waiting : queries_) waiting.position = std::min(waiting.position, tail);
    wanted_ = std::min(wanted_, tail);
  }
  changed_.notify_one();
}

bool Projector::wait_for(Position position) {
  if (!thread_.joinable()) {
    return applied_.load() >= position || (catch_up().has_value() && !place_held_);
  }
  std::unique_lock lock(mutex_);
  wanted_ = std::max(wanted_, position);
  changed_.notify_one();
  applied_changed_.wait(
      lock, [&] { return applied_.load() >= position || broken_ || place_held_.has_value(); });
  return !broken_ && applied_.load() >= position;
}

bool Projector::follow_to(Position position) {
  for (;;) {
    if (wait_for(position)) return true;
    std::unique_lock lock(mutex_);
    if (!rebuilding_ || waiting_ended_) return false;
    applied_changed_.wait(lock, [&] { return !rebuilding_ || broken_ || waiting_ended_; });
  }
}

void Projector::end_waiting() {
  {
    const std::lock_guard lock(mutex_);
    waiting_ended_ = true;
  }
  applied_changed_.notify_all();
}

void Projector::wait_for_rebuild(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  applied_changed_.wait_for(lock, time, [this] { return !rebuilding_ || broken_; });
}

std::optional<Rebuild> Projector::rebuilding() const {
  const std::lock_guard lock(mutex_);
  return rebuilding_;
}

std::optional<std::string> Projector::held() const {
  const std::lock_guard lock(mutex_);
  if (rebuilding_) return std::nullopt;
  if (place_held_) return place_held_->message;
  return index_.held();
}

// Loads the rows of dropped history: they are in the log's base and nowhere else.
Stored<void> Projector::begin() {
  if (begun_) return {};
  TRY(index_.begin(log_));
  begun_ = true;
  set_applied(index_.applied());
  return {};
}

// Answers are made of rows and of what the engine's thread took from the world at the same
// position. So nothing after a query's position is applied before it is answered.
Stored<void> Projector::follow_to_tail() {
  const Position tail = log_.tail();
  do {
    TRY(apply_up_to(next_stop(tail)));
    answer_queries();
  } while (applied_.load() < tail && !place_held_);
  return {};
}

// Returns up to where rows may be applied now, at most `tail`: the position of the next query that
// waits. It is the present one if that query has to be answered first.
Position Projector::next_stop(Position tail) const {
  const std::lock_guard lock(mutex_);
  if (queries_.empty()) return tail;
  return std::min(tail, std::max(queries_.front().position, applied_.load()));
}

Stored<void> Projector::apply_up_to(Position stop) {
  if (auto begun = begin(); !begun) {
    index_.table().note_damage(begun.error().message);
    return begun;
  }
  while (applied_.load() < stop) {
    const Position applied = applied_.load();
    auto read = log_.read(applied + 1, std::min<std::size_t>(stop - applied, apply_events_at_once));
    if (!read && read.error().kind == StoreError::Kind::dropped) {
      index_.table().note_damage(read.error().message);  // they begin with an older base
    }
    const auto records = TRY(std::move(read));
    // A query that came before the reading may be about a position before the last record's. One
    // that comes from now on isn't: it asks for all that is in the log by now.
    stop = next_stop(stop);
    if (stop <= applied) break;
    const auto wanted = std::span<const Record>(records).first(
        std::min<std::size_t>(records.size(), stop - applied));
    if (auto ok = index_.apply(wanted); !ok) {
      using Kind = StoreError::Kind;
      if (ok.error().kind != Kind::full && ok.error().kind != Kind::io) {
        index_.table().note_damage(ok.error().message);
        return ok;
      }
      hold_place(std::move(ok.error()));
      set_applied(index_.applied());
      break;
    }
    hold_place(std::nullopt);
    set_applied(wanted.back().position);
  }
  report_held();
  return {};
}

void Projector::set_applied(Position position) {
  const std::lock_guard lock(mutex_);
  applied_.store(position);
  applied_changed_.notify_all();
}

void Projector::hold_place(std::optional<StoreError> why) {
  const std::lock_guard lock(mutex_);
  place_held_ = std::move(why);
  if (place_held_) applied_changed_.notify_all();
}

// Writes the held rows to the disk if it takes them again. If they don't continue the rows that the
// disk has, applied_ moves back and the log is applied again from there.
void Projector::try_again() {
  if (!place_held_ && !index_.held()) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - tried_at_ < apply_pause) return;
  tried_at_ = now;
  if (!index_.reopen()) return;
  hold_place(std::nullopt);
  set_applied(index_.applied());
}

void Projector::report_held() {
  const auto held = this->held();
  if (held.has_value() == held_reported_) return;
  held_reported_ = held.has_value();
  if (!note_) return;
  if (held) {
    note_(false, "the read models stay behind on the disk: " + *held + "; it is tried again");
  } else {
    note_(true, "the read models are on the disk again, up to position " +
                    std::to_string(applied_.load()));
  }
}

void Projector::answer_queries() {
  for (;;) {
    Waiting ready;
    std::optional<StoreError> refusal;
    {
      const std::lock_guard lock(mutex_);
      if (queries_.empty()) return;
      if (queries_.front().position > applied_.load()) {
        if (!place_held_) return;
        refusal = place_held_;
      }
      ready = std::move(queries_.front());
      queries_.pop_front();
    }
    if (refusal) {
      ready.refused(*refusal);
    } else {
      ready.query(index_);
    }
  }
}

void Projector::replace_rows(std::unique_ptr<Table> rows, std::function<void()> replaced) {
  {
    const std::lock_guard lock(mutex_);
    offered_rows_ = std::move(rows);
    offered_replaced_ = std::move(replaced);
  }
  changed_.notify_all();
}

// If the present rows are damaged, they are computed anew anyway, from the log as it is now. The
// offered ones may be ahead of the present ones: queries about positions in between are answered
// before, or refused if the projector holds its place before them.
void Projector::take_offered_rows() {
  std::unique_ptr<Table> offered;
  {
    const std::lock_guard lock(mutex_);
    if (!offered_rows_) return;
    offered = std::move(offered_rows_);
    replaced_ = std::exchange(offered_replaced_, nullptr);
  }
  const bool is_ahead = offered->applied() > applied_.load();
  if (is_ahead && !index_.table().damage()) {
    if (!place_held_) {
      static_cast<void>(follow_to_tail());  // what keeps it from that is met again right after this
    } else {
      answer_queries();
    }
  }
  if (!index_.table().damage()) replace_rows_now(std::move(offered));
}

void Projector::report_replaced() {
  if (const auto replaced = std::exchange(replaced_, nullptr)) replaced();
}

// Rows that can't be brought to the position of the present ones aren't used: the present ones are
// then computed anew, as after damage. They are brought no further: queries may wait for the next
// position.
void Projector::replace_rows_now(std::unique_ptr<Table> rows) {
  Stored<void> filled;
  {
    RunIndex filling(*rows);
    const Position applied = applied_.load();
    while (filled && filling.applied() < applied) {
      const auto records =
          log_.read(filling.applied() + 1,
                    std::min<std::size_t>(apply_events_at_once, applied - filling.applied()));
      filled = records ? filling.apply(*records) : tl::unexpected(records.error());
    }
  }
  if (!filled) {
    index_.table().note_damage("they couldn't be replaced: " + filled.error().message);
    return;
  }
  index_.table().replace(std::move(rows));
  if (index_.table().damage()) return;
  hold_place(std::nullopt);
  set_applied(index_.applied());
}

bool Projector::wait_for_work() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, apply_pause, [this] {
    const Position tail = log_.tail();
    if (stopping_ || offered_rows_ || index_.table().damage()) return true;
    if (!queries_.empty() && queries_.front().position <= tail) return true;
    if (place_held_) return false;
    if (tail - applied_.load() > apply_events_before_pause_ends) return true;
    return wanted_ > applied_.load() && wanted_ <= tail;
  });
  return !stopping_;
}

void Projector::fail(const StoreError& error) {
  {
    const std::lock_guard lock(mutex_);
    broken_ = true;
  }
  applied_changed_.notify_all();
  failed_(error);
}

void Projector::run() {
  while (wait_for_work()) {
    take_offered_rows();
    if (index_.table().damage()) {
      if (!rebuild()) return;
      report_replaced();
      continue;
    }
    report_replaced();
    try_again();
    if (place_held_) {
      answer_queries();
      continue;
    }
    if (auto ok = follow_to_tail(); !ok) {
      if (index_.table().damage()) continue;
      return fail(ok.error());
    }
  }
}

}  // namespace signalbox
