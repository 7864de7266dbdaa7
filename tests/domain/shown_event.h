// Converts values to text for the messages of failed tests: every field with its name, from the
// Describe listings.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <boost/describe/enum_to_string.hpp>
#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

#include "domain/error.h"
#include "domain/event.h"

namespace signalbox {

inline std::string shown(const std::string& text) { return '"' + text + '"'; }
inline std::string shown(const Uuid& uuid) { return to_string(uuid); }
inline std::string shown(const Digest& digest) { return to_hex(digest).substr(0, 8); }
template <class T>
requires std::is_arithmetic_v<T> std::string shown(T number) { return std::to_string(number); }
template <class T>
requires std::is_enum_v<T> std::string shown(T value) {
  return boost::describe::enum_to_string(value, "?");
}
template <class T>
requires boost::describe::has_describe_members<T>::value std::string shown(const T& value);

template <class T>
std::string shown(const std::optional<T>& value) {
  return value ? shown(*value) : "none";
}
template <class T>
std::string shown(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) text += shown(value) + " ";
  return text + "]";
}
inline std::string shown(const std::map<std::string, std::string>& values) {
  std::string text = "[";
  for (const auto& [key, value] : values) text += key + "=" + value + " ";
  return text + "]";
}
template <class T>
requires boost::describe::has_describe_members<T>::value std::string shown(const T& value) {
  std::string text = "{";
  boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_public>>(
      [&](auto member) {
        text += std::string(member.name) + ": " + shown(value.*member.pointer) + ", ";
      });
  return text + "}";
}

// Returns the event's name and fields. Compiled once, in shown_event.cc: it instantiates every
// field of every event.
std::string shown(const Event& event);

}  // namespace signalbox
