#include "server/engine/committer.h"

#include <chrono>
#include <utility>

#include "domain/check.h"

namespace signalbox {

void Committer::start_write(Position, Commit, LogWrite) {
  SIGNALBOX_CHECK(!"this committer only appends");
}

CommitThread::CommitThread(EventLog& log, Done done)
    : log_(log), done_(std::move(done)), thread_([this] { run(); }) {}

CommitThread::~CommitThread() { stop(); }

void CommitThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  std::deque<std::function<void()>> dropped;  // destroyed when the mutex is free
  const std::lock_guard lock(mutex_);
  dropped.swap(steps_);
}

void CommitThread::start(Position expected_tail, std::vector<Commit> batch) {
  begin({expected_tail, std::move(batch), nullptr});
}

void CommitThread::start_write(Position expected_tail, Commit commit, LogWrite write) {
  std::vector<Commit> batch;
  batch.push_back(std::move(commit));
  begin({expected_tail, std::move(batch), std::move(write)});
}

void CommitThread::begin(Work work) {
  {
    const std::lock_guard lock(mutex_);
    SIGNALBOX_CHECK(!work_.has_value());
    work_.emplace(std::move(work));
  }
  changed_.notify_one();
}

void CommitThread::run_between(std::function<void()> step) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    steps_.push_back(std::move(step));
  }
  changed_.notify_one();
}

void CommitThread::probe(std::function<void()> passed) {
  {
    const std::lock_guard lock(mutex_);
    probe_ = std::move(passed);
  }
  changed_.notify_one();
}

void CommitThread::run() {
  for (;;) {
    Work work;
    std::function<void()> passed;
    std::function<void()> step;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock,
                    [this] { return stopping_ || work_.has_value() || probe_ || !steps_.empty(); });
      passed = std::exchange(probe_, nullptr);
      if (!work_.has_value() && !passed && (stopping_ || steps_.empty())) return;
      // One step for each batch, so that neither holds up the other.
      if (!steps_.empty() && !stopping_) {
        step = std::move(steps_.front());
        steps_.pop_front();
      }
      if (work_.has_value()) work = std::move(*std::exchange(work_, std::nullopt));
    }
    if (passed) passed();
    if (step) step();
    if (work.batch.empty()) continue;
    CommitOutcome outcome;
    const auto begun = std::chrono::steady_clock::now();
    outcome.result = work.write ? work.write(work.expected_tail, work.batch.front())
                                : log_.append(work.expected_tail, work.batch);
    outcome.took_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begun).count();
    if (outcome.result.status == AppendStatus::ok) outcome.frontier = log_.frontier();
    outcome.batch = std::move(work.batch);
    done_(std::move(outcome));
  }
}

}  // namespace signalbox
