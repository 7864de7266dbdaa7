#include "server/engine/committer.h"

#include <chrono>
#include <utility>

#include "domain/check.h"

namespace signalbox {

CommitThread::CommitThread(EventLog& log, Done done)
    : log_(log), done_(std::move(done)), thread_([this] { run(); }) {}

CommitThread::~CommitThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void CommitThread::start(Position expected_tail, std::vector<Commit> batch) {
  {
    const std::lock_guard lock(mutex_);
    SIGNALBOX_CHECK(!work_.has_value());
    work_.emplace(Work{expected_tail, std::move(batch)});
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
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || work_.has_value() || probe_; });
      passed = std::exchange(probe_, nullptr);
      if (!work_.has_value() && !passed) return;
      if (work_.has_value()) work = std::move(*std::exchange(work_, std::nullopt));
    }
    if (passed) passed();
    if (work.batch.empty()) continue;
    CommitOutcome outcome;
    const auto begun = std::chrono::steady_clock::now();
    outcome.result = log_.append(work.expected_tail, work.batch);
    outcome.took_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begun).count();
    if (outcome.result.status == AppendStatus::ok) outcome.frontier = log_.frontier();
    outcome.batch = std::move(work.batch);
    done_(std::move(outcome));
  }
}

}  // namespace signalbox
