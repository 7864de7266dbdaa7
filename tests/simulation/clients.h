// Who uses the simulated service. A client of a new noun gets its place in clients.cc; client.h
// says what else belongs to it.
#pragma once

#include <memory>
#include <vector>

#include "tests/simulation/client.h"

namespace signalbox::simulation {

std::vector<std::unique_ptr<Client>> make_clients(Context& context);

}  // namespace signalbox::simulation
