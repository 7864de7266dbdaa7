#include "tests/simulation/mutant.h"

#include <boost/describe/enum_from_string.hpp>
#include <boost/describe/enum_to_string.hpp>
#include <boost/describe/enumerators.hpp>
#include <boost/mp11/algorithm.hpp>

namespace signalbox::simulation {

const char* name_of(Mutant mutant) { return boost::describe::enum_to_string(mutant, "?"); }

std::optional<Mutant> mutant_of(const std::string& name) {
  Mutant mutant{};
  if (!boost::describe::enum_from_string(name.c_str(), mutant)) return std::nullopt;
  return mutant;
}

std::vector<Mutant> all_mutants() {
  std::vector<Mutant> mutants;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<Mutant>>([&](auto enumerator) {
    if (enumerator.value != Mutant::none) mutants.push_back(enumerator.value);
  });
  return mutants;
}

}  // namespace signalbox::simulation
