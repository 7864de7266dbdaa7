#include "tests/simulation/proposed_plan.h"

#include <boost/json/object.hpp>

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

// Each depends on some of those before it.
json::array good_steps(SeededRandom& random) {
  // Of its own: what is completed under an earlier plan keeps its id.
  const std::string suffix = "-" + std::to_string(random.below(1'000'000));
  json::array steps;
  const std::int64_t count = random.between(1, 8);
  for (std::int64_t number = 1; number <= count; ++number) {
    json::array needs;
    for (std::int64_t before = 1; before < number; ++before) {
      if (random.one_in(3)) needs.emplace_back("s" + std::to_string(before) + suffix);
    }
    steps.push_back(json::object{{"id", "s" + std::to_string(number) + suffix},
                                 {"description", "step " + std::to_string(number)},
                                 {"type", random.one_in(2) ? "implement" : "test"},
                                 {"dependencies", std::move(needs)}});
  }
  return steps;
}

}  // namespace

ProposedPlan propose_plan(Environment& environment) {
  SeededRandom& random = environment.random;
  ProposedPlan plan{good_steps(random), {}};
  if (!environment.faults.strikes(Fault::plan_invalid)) return plan;
  json::object& first = plan.steps.front().as_object();
  const json::value first_id = first.at("id");
  switch (random.below(5)) {
    case 0:
      plan.problem = "empty";
      plan.steps.clear();
      break;
    case 1:
      plan.problem = "bad_id";
      first["id"] = "no such name";
      break;
    case 2:
      plan.problem = "duplicate_id";
      plan.steps.push_back(first);
      break;
    case 3:
      plan.problem = "unknown_dependency";
      first["dependencies"] = json::array{"nobody"};
      break;
    default:
      plan.problem = "cycle";
      first["dependencies"] = json::array{"last"};
      plan.steps.push_back(json::object{{"id", "last"}, {"dependencies", json::array{first_id}}});
      break;
  }
  return plan;
}

}  // namespace signalbox::simulation
