// Moves the fields that a frozen struct and its next version have in common, so that an upcast
// shows only what changed between the two.
//
// Internal, like described_archive.h.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include <boost/mp11/algorithm.hpp>

#include "store/described_archive.h"

namespace signalbox {
namespace described {

// Returns whether `pointer` points to the member that Boost.Describe lists as `Field`.
template <class Field, class Pointer>
constexpr bool is_member(Pointer pointer) {
  if constexpr (std::is_same_v<Pointer, std::remove_cv_t<decltype(Field::pointer)>>) {
    return pointer == Field::pointer;
  } else {
    return false;
  }
}

template <class Field>
struct HasNameOf {
  template <class Other>
  using fn = boost::mp11::mp_bool<std::string_view(Other::name) == std::string_view(Field::name)>;
};

// The member of T with the name of `Field`; T must have one.
template <class T, class Field>
using MemberNamed =
    boost::mp11::mp_at<Members<T>, boost::mp11::mp_find_if_q<Members<T>, HasNameOf<Field>>>;

}  // namespace described

// Moves every field of `old` to the field of `next` that has its name, except those that
// `Converted` points to, which the caller converts. A field that `next` doesn't have, or has as a
// number of another type, doesn't compile; those that `old` doesn't have stay as they are.
template <auto... Converted, class Old, class Next>
void move_fields(Old& old, Next& next) {
  boost::mp11::mp_for_each<described::Members<Old>>([&old, &next](auto field) {
    if constexpr (!(described::is_member<decltype(field)>(Converted) || ...)) {
      using Target = described::MemberNamed<Next, decltype(field)>;
      using From = std::remove_cvref_t<decltype(old.*field.pointer)>;
      using To = std::remove_cvref_t<decltype(next.*Target::pointer)>;
      static_assert(std::is_same_v<From, To> || !std::is_arithmetic_v<To>);
      next.*Target::pointer = std::move(old.*field.pointer);
    }
  });
}

}  // namespace signalbox
