// Counts how often each type of event occurred, so that a type that no simulation causes is
// noticed.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "domain/event.h"

namespace signalbox::simulation {

// All event types of the domain, as one type list.
template <class Noun>
using EventTypesOf = typename Noun::Alternatives;
using EventTypes = boost::mp11::mp_apply<boost::mp11::mp_append,
                                         boost::mp11::mp_transform<EventTypesOf, EventNouns>>;
inline constexpr std::size_t event_types = boost::mp11::mp_size<EventTypes>::value;

class EventCounts {
 public:
  void count(const Event& event) {
    apply([this]<class T>(const T&) { ++counts_[boost::mp11::mp_find<EventTypes, T>::value]; },
          event);
  }
  void add(const EventCounts& others) {
    for (std::size_t type = 0; type < event_types; ++type) counts_[type] += others.counts_[type];
  }
  // Calls `visit(name, count)` for each type, in the order of the domain.
  template <class Visit>
  void for_each(Visit&& visit) const {
    std::size_t type = 0;
    boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, EventTypes>>(
        [&]<class T>(boost::mp11::mp_identity<T>) { visit(T::tag.name, counts_[type++]); });
  }
  // Returns the names of the types that never occurred.
  [[nodiscard]] std::vector<std::string_view> missing() const {
    std::vector<std::string_view> names;
    for_each([&names](std::string_view name, std::uint64_t count) {
      if (count == 0) names.push_back(name);
    });
    return names;
  }

  friend bool operator==(const EventCounts&, const EventCounts&) = default;

 private:
  std::array<std::uint64_t, event_types> counts_{};
};

}  // namespace signalbox::simulation
