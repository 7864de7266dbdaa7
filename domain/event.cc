#include "domain/event.h"

#include <memory>

namespace signalbox {

template <class Variant>
OneOf<Variant>::OneOf() = default;
template <class Variant>
OneOf<Variant>::OneOf(const OneOf& other) = default;
template <class Variant>
OneOf<Variant>::OneOf(OneOf&& other) noexcept = default;
template <class Variant>
OneOf<Variant>& OneOf<Variant>::operator=(const OneOf& other) {
  if (this != &other) *this = OneOf(other);
  return *this;
}
// Destroys and constructs instead of assigning: the assignment of each event would be a quarter of
// the code compiled here.
template <class Variant>
OneOf<Variant>& OneOf<Variant>::operator=(OneOf&& other) noexcept {
  if (this == &other) return *this;
  std::destroy_at(this);
  return *std::construct_at(this, std::move(other));
}
template <class Variant>
OneOf<Variant>::~OneOf() = default;
template <class Variant>
bool OneOf<Variant>::operator==(const OneOf& other) const {
  return static_cast<const Variant&>(*this) == static_cast<const Variant&>(other);
}

template class OneOf<ServerEvents>;
template class OneOf<RunEvents>;
template class OneOf<StationEvents>;
template class OneOf<LockEvents>;
template class OneOf<TickEvents>;
template class OneOf<PlanEvents>;
template class OneOf<AccessEvents>;
template class OneOf<ProjectEvents>;
template class OneOf<CardEvents>;
template class OneOf<EventNouns>;

EventTag tag_of(const Event& event) {
  return apply([](const auto& e) { return std::remove_cvref_t<decltype(e)>::tag; }, event);
}

std::string to_string(const Stream& stream) {
  switch (stream.kind) {
    case StreamKind::server:
      return "server";
    case StreamKind::run:
      return "run/" + to_string(stream.run_id);
    case StreamKind::lock:
      return "lock/" + stream.name;
    case StreamKind::tick:
      return "tick/" + stream.name;
    case StreamKind::project:
      return "project/" + stream.name;
    case StreamKind::card:
      return "card/" + to_string(stream.run_id);
    case StreamKind::access:
      return "access";
  }
  return {};
}

}  // namespace signalbox
