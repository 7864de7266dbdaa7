// OneOf: a variant that costs little to compile wherever it is held, for events and commands.
#pragma once

#include <cstddef>
#include <utility>
#include <variant>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/set.hpp>

namespace signalbox {

// Whether T is an alternative of `Variant`, whose alternatives are all different.
template <class T, class Variant>
concept AlternativeOf = boost::mp11::mp_set_contains<Variant, T>::value;

// The index of T among the alternatives of `Variant`.
template <class T, class Variant>
inline constexpr std::size_t alternative_index = boost::mp11::mp_find<Variant, T>::value;

template <class Variant>
class OneOf;

// Whether a variant's alternative is a OneOf that has T among its own.
template <class Alternative, class T>
inline constexpr bool holds_alternative_of = false;
template <class Inner, class T>
inline constexpr bool holds_alternative_of<OneOf<Inner>, T> = AlternativeOf<T, Inner>;

// The index of the alternative that is such a OneOf; the number of alternatives if none is.
template <class Variant, class T>
inline constexpr std::size_t holder_index = 0;
template <class... Alternatives, class T>
inline constexpr std::size_t holder_index<std::variant<Alternatives...>, T> = [] {
  std::size_t index = 0;
  static_cast<void>(((holds_alternative_of<Alternatives, T> || (++index, false)) || ...));
  return index;
}();

template <class T, class Variant>
concept HeldIn =
    !AlternativeOf<T, Variant> && (holder_index<Variant, T> < std::variant_size_v<Variant>);

// A variant whose constructors, assignments and destructor are compiled once (one_of_members.h),
// instead of in each source that holds one: for events, that took half of the build time. It is
// made of an alternative of its own, or of one of a OneOf among them. The index is found by name,
// since the variant's own constructor tries to convert the value to each alternative.
template <class Variant>
class OneOf : public Variant {
 public:
  using Alternatives = Variant;

  OneOf();
  template <AlternativeOf<Variant> T>
  OneOf(T value)
      : OneOf(alternative_index<T, Variant>, &value) {}  // NOLINT(google-explicit-constructor)
  template <HeldIn<Variant> T>
  OneOf(T value)  // NOLINT(google-explicit-constructor)
      : OneOf(std::variant_alternative_t<holder_index<Variant, T>, Variant>(std::move(value))) {}
  OneOf(const OneOf& other);
  OneOf(OneOf&& other) noexcept;
  OneOf& operator=(const OneOf& other);
  OneOf& operator=(OneOf&& other) noexcept;
  ~OneOf();

 private:
  // Moves the alternative of this index out of `value`.
  OneOf(std::size_t index, void* value);
};

// Compiled once, too; not for commands, which nothing compares.
template <class Variant>
bool operator==(const OneOf<Variant>& left, const OneOf<Variant>& right);

}  // namespace signalbox
