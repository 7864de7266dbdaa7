#include "domain/run_span.h"

#include <type_traits>

namespace signalbox {
namespace {

// Returns the run that the event names, or nil.
RunId named_run(const Event& event) {
  return apply(
      [](const auto& each) -> RunId {
        if constexpr (requires { each.run_id; }) {
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(each.run_id)>, RunId>) {
            return each.run_id;
          }
        }
        return {};
      },
      event);
}

}  // namespace

void add_run_spans(NewEvents& events) {
  for (NewEvent& event : events) {
    if (event.stream.kind != StreamKind::run || !event.span_id.is_nil()) continue;
    event.span_id = event.stream.run_id;
  }
}

std::optional<Uuid> parent_span(const Record& record) {
  if (record.stream.kind != StreamKind::run) return std::nullopt;
  if (record.span_id.is_nil() || record.span_id == record.stream.run_id) return std::nullopt;
  return record.stream.run_id;
}

bool belongs_to_span(const Record& record, const Uuid& span_id) {
  if (span_id.is_nil()) return false;
  if (record.span_id == span_id) return true;
  if (record.stream.kind == StreamKind::run) return record.stream.run_id == span_id;
  return named_run(record.event) == span_id;
}

}  // namespace signalbox
