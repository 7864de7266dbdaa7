// Plans as deep workers propose them: good ones and bad ones.
#pragma once

#include <string>

#include <boost/json/array.hpp>

#include "tests/simulation/environment.h"

namespace signalbox::simulation {

struct ProposedPlan {
  boost::json::array steps;  // of `plan.set`
  std::string problem;       // that PLAN_INVALID has to name; empty: it is good
};

ProposedPlan propose_plan(Environment& environment);

}  // namespace signalbox::simulation
