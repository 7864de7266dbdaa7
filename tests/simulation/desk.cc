#include "tests/simulation/desk.h"

#include "tests/simulation/simulated_server.h"

namespace signalbox::simulation {

void Desk::ask(const std::string& client, Command command, Told told) {
  if (environment_.faults.strikes(Fault::request_lost)) return;
  const int copies = environment_.faults.strikes(Fault::request_repeated) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    environment_.schedule.after(environment_.random.between(50, 5000) * ns_per_us, outside,
                                [this, client, command, told] { deliver(client, command, told); });
  }
}

void Desk::deliver(const std::string& client, const Command& command, const Told& told) {
  if (server_ == nullptr) return;
  server_->decide(command, client, [this, client, told](const Verdicted& verdict) {
    environment_.note(client + " is told " + (verdict ? "yes" : "no: " + verdict.error().message));
    if (environment_.faults.strikes(Fault::reply_lost)) return;
    environment_.schedule.after(environment_.random.between(50, 5000) * ns_per_us, outside,
                                [told, verdict] { told(verdict); });
  });
}

}  // namespace signalbox::simulation
