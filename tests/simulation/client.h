// Base of the simulated clients of the service. A client sends one request at a time, takes its
// next step a while later, and may die in between and start again without a memory.
// || To simulate a new noun, add: a Client in a file of its own with the noun's methods; its place
// in client.cc; which results its methods acknowledge in command_book.cc (reports_events); its
// rules in an audit beside plan_audit, which reads the register, or in a watch beside lease_watch
// if they are about time, files or callers; and a mutant that breaks them (mutant.h, tampering.h).
// `simulate` lists events that no client ever causes, and a test allows none without a reason
// (coverage_test.cc).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/simulation/any_settings.h"
#include "tests/simulation/caller.h"
#include "tests/simulation/held_locks.h"
#include "tests/simulation/run_root_files.h"

namespace signalbox::simulation {

class SimulatedMachine;
class SimulatedRepositories;

// An access token as a client knows it that was given the secret.
struct AccessSecret {
  std::string id;
  std::string secret;
};

// What all clients share: randomness and time, the network to the service, the run roots, and what
// they know of each other.
struct Context {
  Environment& environment;
  Network& network;
  CommandBook& book;
  RunRootFiles& files;
  SimulatedRepositories& repositories;
  const BoardRhythm& rhythm;
  HeldLocks held_locks;
  std::vector<std::string> run_ids;          // of acknowledged starts
  std::map<std::string, Token> ended_ticks;  // by loop: the newest tick whose end was acknowledged
  std::vector<AccessSecret> access_secrets;  // of tokens that were issued

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
        caller_(context.environment, context.network, context.book, std::move(name)),
        clock_error_ns_(any_clock_error_ns(context.environment.random)) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual ~Client() = default;

  // Starts the client: at the beginning, and after each death.
  virtual void begin() = 0;

 protected:
  // Calls `step`, a member of the client's own class, after the delay, unless the client has died
  // by then.
  template <class Self>
  void later(std::int64_t delay_ms, void (Self::*step)()) {
    environment_.schedule.after(delay_ms * ns_per_ms, outside, [this, step, life = life_] {
      if (life != life_ || dies()) return;
      (static_cast<Self*>(this)->*step)();
    });
  }
  // Sends a request; `answered` gets the answer, or GAVE_UP.
  template <class Self>
  void ask(const std::string& method, const boost::json::object& params, std::int64_t patience_ms,
           void (Self::*answered)(const Reply& reply)) {
    asked_at_ns_ = environment_.schedule.monotonic_ns();
    caller_.ask(method, params, patience_ms, [this, answered](const Reply& reply) {
      (static_cast<Self*>(this)->*answered)(reply);
    });
  }
  // Expects the reply to be a success, GAVE_UP, or a refusal with one of `codes`.
  void expect_code(const Reply& reply, const std::set<std::string>& codes);

  [[nodiscard]] const std::string& name() const { return caller_.name(); }
  [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high) {
    return environment_.random.between(low, high);
  }
  [[nodiscard]] bool one_in(std::size_t count) { return environment_.random.one_in(count); }
  [[nodiscard]] bool calm() const { return environment_.faults.stopped(); }

  // Returns the time by the clock of the client's own machine (UTC).
  [[nodiscard]] std::int64_t wall_ns() const {
    return environment_.schedule.wall_ns() + clock_error_ns_;
  }

  // Returns false if the client never dies.
  [[nodiscard]] virtual bool is_mortal() const { return true; }
  // Drops what the client remembers, when it dies.
  virtual void forget() {}
  // Dies now, and begins again a while later.
  void restart();

  Context& context_;
  Environment& environment_;
  Caller caller_;
  std::int64_t asked_at_ns_ = 0;

 private:
  // Returns true if the client dies now. If not, it may repeat its last request.
  bool dies();
  static std::int64_t any_clock_error_ns(SeededRandom& random);

  const std::int64_t clock_error_ns_;
  std::uint64_t life_ = 0;
};

// Makes the clients of a simulation, at least one of each kind. A client of a new noun is added
// here.
std::vector<std::unique_ptr<Client>> make_clients(Context& context, SimulatedMachine& machine);
// Makes those of a cell, by the number of its seed. With some seeds they are few and mostly look,
// and with others they only look: an answer waits for all that was taken before it, so what a
// server shows that has lost the log is seen only where nothing waits.
std::vector<std::unique_ptr<Client>> make_clients_of_cell(Context& context,
                                                          SimulatedMachine& machine,
                                                          std::uint64_t seed);

}  // namespace signalbox::simulation
