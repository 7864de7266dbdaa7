// The enumerators that each (type, version) of an event can have, kept in stored_enumerations.txt.
//
// A program that doesn't know an enumerator can't read the record that has it. So a new one is a
// new version of each event that can have it (FORMAT.md, Changing a stored event): a version has a
// feature level, and is called newer, not damaged, by a program that doesn't know it. After an
// event or a version was added, run with SIGNALBOX_REWRITE_GOLDEN=1: it adds the missing rows. An
// existing row is never changed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <boost/core/demangle.hpp>
#include <boost/describe/enumerators.hpp>
#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

#include "domain/event.h"

namespace signalbox::test {
namespace {

constexpr const char* enumerations_file =
    SIGNALBOX_SOURCE_DIR "/tests/store/stored_enumerations.txt";

template <class T>
void add_enumerations(std::set<std::string>& found);

// Adds those of all types that are written for a T.
template <class T>
struct TypesOf {
  static void add(std::set<std::string>& found) {
    if constexpr (std::is_enum_v<T>) {
      const std::string name = boost::core::demangle(typeid(T).name());
      std::string text = name.substr(name.rfind(':') + 1) + ":";
      boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>([&](auto each) {
        text += std::string(" ") + each.name + "=" +
                std::to_string(static_cast<std::underlying_type_t<T>>(each.value));
      });
      found.insert(text);
    } else if constexpr (boost::describe::has_describe_members<T>::value) {
      using Members = boost::describe::describe_members<T, boost::describe::mod_any_access |
                                                               boost::describe::mod_inherited>;
      boost::mp11::mp_for_each<Members>([&](auto member) {
        using Field = std::remove_reference_t<decltype(std::declval<T&>().*member.pointer)>;
        add_enumerations<Field>(found);
      });
    } else if constexpr (requires { typename T::mapped_type; }) {
      add_enumerations<typename T::key_type>(found);
      add_enumerations<typename T::mapped_type>(found);
    } else if constexpr (requires { typename T::value_type; }) {
      if constexpr (!std::is_same_v<T, std::string>) {
        add_enumerations<typename T::value_type>(found);
      }
    } else if constexpr (requires(const T& box) { *box; }) {
      add_enumerations<std::remove_cvref_t<decltype(*std::declval<const T&>())>>(found);
    }
  }
};

template <class T>
void add_enumerations(std::set<std::string>& found) {
  TypesOf<std::remove_cv_t<T>>::add(found);
}

using Enumerations = std::map<std::pair<int, int>, std::string>;

template <class... Events>
void add_events(const std::variant<Events...>* /*noun*/, Enumerations& rows) {
  (
      [&] {
        std::set<std::string> found;
        add_enumerations<Events>(found);
        if (found.empty()) return;
        std::string row = Events::tag.name.data();
        for (const std::string& each : found) row += "; " + each;
        rows[{Events::tag.number, Events::tag.version}] = row;
      }(),
      ...);
}
template <class... Nouns>
Enumerations present_rows(const std::variant<Nouns...>* /*nouns*/) {
  Enumerations rows;
  (add_events(static_cast<const typename Nouns::Alternatives*>(nullptr), rows), ...);
  return rows;
}

Enumerations stored_rows() {
  Enumerations rows;
  std::ifstream file(enumerations_file);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::pair<int, int> key;
    fields >> key.first >> key.second >> std::ws;
    std::getline(fields, rows[key]);
  }
  return rows;
}

TEST(StoredEnumerations, GrowWithTheVersionsOfTheirEvents) {  // K9
  const Enumerations present = present_rows(static_cast<const EventNouns*>(nullptr));
  Enumerations stored = stored_rows();
  if (std::getenv("SIGNALBOX_REWRITE_GOLDEN") != nullptr) {
    stored.insert(present.begin(), present.end());
    std::ofstream file(enumerations_file);
    for (const auto& [key, row] : stored) {
      file << key.first << ' ' << key.second << ' ' << row << '\n';
    }
  }
  EXPECT_GT(present.size(), 20U);
  for (const auto& [key, row] : present) {
    const auto kept = stored.find(key);
    ASSERT_NE(kept, stored.end()) << row << " has no row: see the top of this file";
    EXPECT_EQ(kept->second, row)
        << "an older program can't read what is new here: see FORMAT.md, Changing a stored event";
  }
}

}  // namespace
}  // namespace signalbox::test
