// Receives SIGHUP, which asks for the settings to be read again, for the whole life of the process:
// also while no Server exists, during a start, a retention or a stop. So it never ends the process,
// and one that comes too early isn't lost.
//
// A thread of its own waits for the signal, which all other threads block. So it interrupts no
// system call of theirs. Child processes begin with an empty signal mask (child_process.h).
#pragma once

#include <functional>
#include <mutex>
#include <thread>

namespace signalbox {

class ReloadSignal {
 public:
  // Blocks SIGHUP on the calling thread, and so on all threads that it starts, and begins to wait
  // for it. Must be called before other threads exist.
  ReloadSignal();
  ~ReloadSignal();
  ReloadSignal(const ReloadSignal&) = delete;
  ReloadSignal& operator=(const ReloadSignal&) = delete;

  // Calls `action` for each signal from now on, on this object's thread; for signals that came
  // since the last action was taken away, once and at once. nullptr takes the action away: when
  // this returns, it doesn't run.
  void on_signal(std::function<void()> action);
  // Lets the next on_signal() call its action, as if a signal had come meanwhile.
  void postpone();

 private:
  void run();

  std::mutex mutex_;  // guards what follows
  std::function<void()> action_;
  bool pending_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace signalbox
