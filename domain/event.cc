#include "domain/event.h"

#include "domain/one_of_members.h"

namespace signalbox {

template <class Variant>
bool operator==(const OneOf<Variant>& left, const OneOf<Variant>& right) {
  return static_cast<const Variant&>(left) == static_cast<const Variant&>(right);
}

#define SIGNALBOX_INSTANTIATE(Events) \
  template class OneOf<Events>;       \
  template bool operator==(const OneOf<Events>&, const OneOf<Events>&)

SIGNALBOX_INSTANTIATE(ServerEvents);
SIGNALBOX_INSTANTIATE(RunEvents);
SIGNALBOX_INSTANTIATE(StationEvents);
SIGNALBOX_INSTANTIATE(LockEvents);
SIGNALBOX_INSTANTIATE(TickEvents);
SIGNALBOX_INSTANTIATE(PlanEvents);
SIGNALBOX_INSTANTIATE(AccessEvents);
SIGNALBOX_INSTANTIATE(ProjectEvents);
SIGNALBOX_INSTANTIATE(CardEvents);
SIGNALBOX_INSTANTIATE(RunnerEvents);
SIGNALBOX_INSTANTIATE(EventNouns);
#undef SIGNALBOX_INSTANTIATE

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
