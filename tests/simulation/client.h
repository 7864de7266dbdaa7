// One of those who use the service: asks one thing at a time, does the next step a while later, and
// may die in between and begin anew without a memory.
//
// To simulate a new noun: a Client in a file of its own, with the noun's methods; a place for it in
// clients.cc; what its methods tell in command_book.cc (tells_of_events); its rules in an audit
// beside plan_audit, which reads the register, or, where they are about time, files or callers, in
// a watch beside lease_watch; and a mutant that breaks them (mutant.h, tampering.h). Events that no
// client ever causes are listed by `simulate`, and a test allows none that has no reason
// (coverage_test.cc).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/simulation/board_rhythm.h"
#include "tests/simulation/caller.h"
#include "tests/simulation/held_locks.h"
#include "tests/simulation/run_root_files.h"

namespace signalbox::simulation {

class SimulatedRepositories;

// An access token, as whoever was told of it knows it.
struct AccessSecret {
  std::string id;
  std::string secret;
};

// What clients have around them: chance and time, the way to the service, what is theirs in run
// roots, and what they know of each other.
struct Context {
  Environment& environment;
  Network& network;
  CommandBook& book;
  RunRootFiles& files;
  SimulatedRepositories& repositories;
  const BoardRhythm& rhythm;
  HeldLocks held_locks;
  std::vector<std::string> run_ids;          // that were acknowledged
  std::map<std::string, Token> ended_ticks;  // by loop: the newest whose end was acknowledged
  std::vector<AccessSecret> access_secrets;  // that were issued

  Context(Environment& shared, Network& way, CommandBook& kept, RunRootFiles& roots,
          SimulatedRepositories& policies, const BoardRhythm& board)
      : environment(shared),
        network(way),
        book(kept),
        files(roots),
        repositories(policies),
        rhythm(board),
        held_locks(shared) {}
};

class Client {
 public:
  Client(Context& context, std::string name)
      : context_(context),
        environment_(context.environment),
        caller_(context.environment, context.network, context.book, std::move(name)) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual ~Client() = default;

  // At the beginning, and after each death.
  virtual void begin() = 0;

 protected:
  // `step` is a member of the client's own class; not taken if the client has died until then.
  template <class Self>
  void later(std::int64_t delay_ms, void (Self::*step)()) {
    environment_.schedule.after(delay_ms * ns_per_ms, outside, [this, step, life = life_] {
      if (life != life_ || dies()) return;
      (static_cast<Self*>(this)->*step)();
    });
  }
  // `told` hears the answer, or GAVE_UP.
  template <class Self>
  void ask(const std::string& method, const boost::json::object& params, std::int64_t patience_ms,
           void (Self::*told)(const Reply& reply)) {
    asked_at_ns_ = environment_.schedule.monotonic_ns();
    caller_.ask(method, params, patience_ms,
                [this, told](const Reply& reply) { (static_cast<Self*>(this)->*told)(reply); });
  }
  // The refusal is one of those that may be.
  void expect_code(const Reply& reply, const std::set<std::string>& codes);

  [[nodiscard]] const std::string& name() const { return caller_.name(); }
  [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high) {
    return environment_.random.between(low, high);
  }
  [[nodiscard]] bool one_in(std::size_t count) { return environment_.random.one_in(count); }
  [[nodiscard]] bool calm() const { return environment_.faults.stopped(); }

  // How the client forgets, where it does.
  [[nodiscard]] virtual bool is_mortal() const { return true; }
  virtual void forget() {}

  Context& context_;
  Environment& environment_;
  Caller caller_;
  std::int64_t asked_at_ns_ = 0;

 private:
  // Sometimes; else it may say its last word once more.
  bool dies();

  std::uint64_t life_ = 0;
};

}  // namespace signalbox::simulation
