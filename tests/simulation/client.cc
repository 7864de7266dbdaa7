#include "tests/simulation/client.h"

#include "tests/simulation/access_admin_client.h"
#include "tests/simulation/caretaker_client.h"
#include "tests/simulation/decision_client.h"
#include "tests/simulation/foreign_file_client.h"
#include "tests/simulation/lock_client.h"
#include "tests/simulation/operator_client.h"
#include "tests/simulation/owner_client.h"
#include "tests/simulation/reader_client.h"
#include "tests/simulation/runner_client.h"
#include "tests/simulation/runner_keeper_client.h"
#include "tests/simulation/step_client.h"
#include "tests/simulation/tick_client.h"
#include "tests/simulation/token_client.h"
#include "tests/simulation/worker_client.h"

namespace signalbox::simulation {
namespace {

std::vector<std::unique_ptr<Client>> make_few_clients(Context& context) {
  std::vector<std::unique_ptr<Client>> clients;
  clients.push_back(std::make_unique<WorkerClient>(context, "worker"));
  clients.push_back(std::make_unique<OperatorClient>(context, "operator"));
  clients.push_back(std::make_unique<DecisionClient>(context, "decider"));
  clients.push_back(std::make_unique<StepClient>(context, "stepper"));
  for (const char* name : {"reader-a", "reader-b"}) {
    clients.push_back(std::make_unique<ReaderClient>(context, name));
  }
  return clients;
}

std::vector<std::unique_ptr<Client>> make_readers(Context& context) {
  std::vector<std::unique_ptr<Client>> clients;
  for (const char* name : {"reader-a", "reader-b", "reader-c"}) {
    clients.push_back(std::make_unique<ReaderClient>(context, name));
  }
  return clients;
}

}  // namespace

// Most machines have the right time, about.
std::int64_t Client::any_clock_error_ns(SeededRandom& random) {
  return (random.one_in(3) ? random.between(-90'000, 90'000) : random.between(-50, 50)) * ns_per_ms;
}

void Client::expect_code(const Reply& reply, const std::set<std::string>& codes) {
  environment_.expect(reply.code.empty() || reply.code == "GAVE_UP" || codes.contains(reply.code),
                      caller_.last_method() + " of " + name() + " was refused: " + reply.code);
}

void Client::restart() {
  ++life_;
  caller_.forget();
  forget();
  environment_.schedule.after(between(10, 3000) * ns_per_ms, outside, [this] { begin(); });
}

bool Client::dies() {
  if (is_mortal() && environment_.faults.strikes(Fault::client_restart)) {
    environment_.note(name() + " dies");
    restart();
    return true;
  }
  // A request about locks is never repeated: it could arrive after the next acquire of the same
  // owner, which has the same token.
  if (!calm() && one_in(20) && !caller_.last_method().starts_with("lock.")) caller_.repeat_last();
  return false;
}

std::vector<std::unique_ptr<Client>> make_clients(Context& context, SimulatedMachine& machine) {
  std::vector<std::unique_ptr<Client>> clients;
  for (const char* name : {"worker-a", "worker-b", "worker-c"}) {
    clients.push_back(std::make_unique<WorkerClient>(context, name));
  }
  for (const char* name : {"operator-a", "operator-b"}) {
    clients.push_back(std::make_unique<OperatorClient>(context, name));
  }
  for (const char* name : {"decider-a", "decider-b"}) {
    clients.push_back(std::make_unique<DecisionClient>(context, name));
  }
  for (const char* name : {"stepper-a", "stepper-b"}) {
    clients.push_back(std::make_unique<StepClient>(context, name));
  }
  if (!context.environment.is_cell) {
    clients.push_back(std::make_unique<AccessAdminClient>(context, "keeper"));
    for (const char* name : {"guest-a", "guest-b"}) {
      clients.push_back(std::make_unique<TokenClient>(context, name));
    }
  }
  for (const char* name : {"locker-a", "locker-b", "locker-c"}) {
    clients.push_back(std::make_unique<LockClient>(context, name));
  }
  for (const char* name : {"ticker-a", "ticker-b"}) {
    clients.push_back(std::make_unique<TickClient>(context, name, "merge"));
  }
  clients.push_back(std::make_unique<TickClient>(context, "ticker-c", "sweep"));
  if (!context.environment.is_cell) {
    clients.push_back(std::make_unique<ForeignFileClient>(context, "outsider"));
  }
  clients.push_back(std::make_unique<ReaderClient>(context, "reader"));
  // The others are of what a single server has.
  if (context.environment.is_cell) return clients;
  if (CaretakerClient::is_in(context.environment.seed)) {
    clients.push_back(std::make_unique<CaretakerClient>(context, "caretaker"));
  }
  if (RunnerClient::is_in(context.environment.seed)) {
    Owner first_life = Owner{1} << 32;  // beyond the lives of the service
    for (const char* name : {"runner-a", "runner-b"}) {
      clients.push_back(std::make_unique<RunnerClient>(context, machine, name, first_life));
      first_life *= 2;
    }
  }
  if (RunnerKeeperClient::is_in(context.environment.seed)) {
    clients.push_back(std::make_unique<RunnerKeeperClient>(context, "runner-keeper"));
  }
  if (!context.rhythm.has_cards) return clients;
  for (const char* name : {"owner-a", "owner-b"}) {
    clients.push_back(std::make_unique<OwnerClient>(context, name));
  }
  return clients;
}

std::vector<std::unique_ptr<Client>> make_clients_of_cell(Context& context,
                                                          SimulatedMachine& machine,
                                                          std::uint64_t seed) {
  switch (seed % 8) {
    case 0:
    case 4:
      return make_few_clients(context);
    case 6:
      return make_readers(context);
    default:
      return make_clients(context, machine);
  }
}

}  // namespace signalbox::simulation
