// Gauges with one label, whose values are those of an enumeration.
#pragma once

#include <map>
#include <string>

#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <boost/describe/enum_to_string.hpp>
#include <boost/describe/enumerators.hpp>
#include <boost/mp11/algorithm.hpp>

namespace signalbox {

template <class Enum>
std::string name_of_enumerator(Enum value) {
  return boost::describe::enum_to_string(value, "unknown");
}

// Returns 0 for every enumerator, so that a state without members is reported as 0 and isn't
// absent.
template <class Enum>
std::map<Enum, double> zero_for_each() {
  std::map<Enum, double> counts;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<Enum>>(
      [&](auto each) { counts[each.value] = 0; });
  return counts;
}

// Sets the gauge without labels, and those with these values of `label`.
inline void set_gauge(prometheus::Family<prometheus::Gauge>& family, double value) {
  family.Add({}).Set(value);
}
template <class Enum>
void set_gauges(prometheus::Family<prometheus::Gauge>& family, const char* label,
                const std::map<Enum, double>& counts) {
  for (const auto& [value, count] : counts) {
    family.Add({{label, name_of_enumerator(value)}}).Set(count);
  }
}

}  // namespace signalbox
