#include "tests/simulation/client.h"

namespace signalbox::simulation {

void Client::expect_code(const Reply& reply, const std::set<std::string>& codes) {
  environment_.expect(reply.code.empty() || reply.code == "GAVE_UP" || codes.contains(reply.code),
                      caller_.last_method() + " of " + name() + " was refused: " + reply.code);
}

bool Client::dies() {
  if (is_mortal() && environment_.faults.strikes(Fault::client_restart)) {
    environment_.note(name() + " dies");
    ++life_;
    caller_.forget();
    forget();
    environment_.schedule.after(between(10, 3000) * ns_per_ms, outside, [this] { begin(); });
    return true;
  }
  // But none about locks: it could pass the next acquire of the same owner, which has the same
  // token.
  if (!calm() && one_in(20) && !caller_.last_method().starts_with("lock.")) caller_.repeat_last();
  return false;
}

}  // namespace signalbox::simulation
