// A simulated server's seat in a cell: the log and the member of the service, which block, on
// threads of the simulation.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/cell/cell_member.h"
#include "server/engine/committer.h"
#include "server/executors/executor.h"
#include "tests/simulation/simulated_database.h"
#include "tests/simulation/simulated_thread.h"

namespace signalbox::simulation {

// What a server needs to be one of a cell.
struct CellSite {
  std::string server;  // its name
  SimulatedDatabase& database;
  DatabaseWay& way;
  Executor& machine;  // its own
  // Called when the server begins to take commands.
  std::function<void()> takes_over;
  // Called with what it says for people.
  std::function<void(const std::string& text)> note;
};

// Returns what a cell knows of its server of this name.
CellServer server_of(const std::string& name);

class SimulatedSeat final : public Committer {
 public:
  using Done = std::function<void(CommitOutcome)>;

  // `done` gets what became of each batch, on the engine's thread.
  SimulatedSeat(Environment& environment, const CellSite& site, ReplicaLog& replica, Owner owner,
                Done done);
  // Ends the threads where they wait, as the end of the process does.
  ~SimulatedSeat() override;

  // Begins to follow the cell's log.
  void join(CellMember::Hooks hooks);
  // As the service lets go of a cell, or doesn't.
  void leave(bool lets_go, const std::string& successor);
  [[nodiscard]] bool has_left() const { return member_thread_.has_ended(); }

  [[nodiscard]] CellMember& member() { return *member_; }
  // Returns the name of the server that takes commands, as far as is known here.
  [[nodiscard]] std::string holder() const {
    return member_ ? member_->view().holder.name : std::string();
  }
  [[nodiscard]] ReplicatedEventLog& log() { return log_; }

  void start(Position expected_tail, std::vector<Commit> batch) override;

 private:
  struct Work {
    Position expected_tail = 0;
    std::vector<Commit> batch;
  };

  std::unique_ptr<SharedLog> connection(SimulatedThread& thread);
  // What the appending thread does.
  void append_for_ever();

  Environment& environment_;
  const CellSite& site_;
  const Owner owner_;
  const Done done_;
  SimulatedThread member_thread_;
  SimulatedThread append_thread_;
  ReplicatedEventLog log_;
  std::unique_ptr<CellMember> member_;
  std::optional<Work> work_;
};

}  // namespace signalbox::simulation
