// The members of OneOf, for the sources that instantiate one.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <variant>

#include "domain/one_of.h"

namespace signalbox {

// Gives a variant the alternative of this index, moved out of `value`.
template <std::size_t index, class Variant>
void put_alternative(Variant& variant, void* value) {
  using Alternative = std::variant_alternative_t<index, Variant>;
  variant.template emplace<index>(std::move(*static_cast<Alternative*>(value)));
}

template <class Variant, std::size_t... indexes>
void put_alternative(Variant& variant, std::size_t index, void* value,
                     std::index_sequence<indexes...> /*all*/) {
  using Put = void (*)(Variant&, void*);
  static constexpr Put puts[] = {&put_alternative<indexes, Variant>...};
  puts[index](variant, value);
}

template <class Variant>
OneOf<Variant>::OneOf() = default;
template <class Variant>
OneOf<Variant>::OneOf(std::size_t index, void* value) {
  put_alternative(static_cast<Variant&>(*this), index, value,
                  std::make_index_sequence<std::variant_size_v<Variant>>{});
}
template <class Variant>
OneOf<Variant>::OneOf(const OneOf& other) = default;
template <class Variant>
OneOf<Variant>::OneOf(OneOf&& other) noexcept = default;
template <class Variant>
OneOf<Variant>& OneOf<Variant>::operator=(const OneOf& other) {
  if (this != &other) *this = OneOf(other);
  return *this;
}
// Destroys and constructs instead of assigning: the assignment of each alternative would be a
// quarter of the code compiled here.
template <class Variant>
OneOf<Variant>& OneOf<Variant>::operator=(OneOf&& other) noexcept {
  if (this == &other) return *this;
  std::destroy_at(this);
  return *std::construct_at(this, std::move(other));
}
template <class Variant>
OneOf<Variant>::~OneOf() = default;

}  // namespace signalbox
