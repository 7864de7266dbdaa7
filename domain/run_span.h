// The span of a run: the one id that leads from the start of a run, or of a card's agent, to its
// end. It is the run's id.
//
// An attempt's events have a span of their own, since a trace needs one for each; its parent is the
// span of the run. Every other event of the run, and those of the card that it works on, have the
// span of the run itself. Merges have runs of their own; the card's events about one belong to the
// run whose work it merges.
#pragma once

#include <optional>

#include "domain/decide.h"

namespace signalbox {

// Gives the span of their run to the events of runs that have none.
void add_run_spans(NewEvents& events);

// Returns the span of the run that an attempt's record belongs to, or nullopt for a record that
// isn't an attempt's.
std::optional<Uuid> parent_span(const Record& record);

// Returns true if the record belongs to the span: to that of an attempt, or to that of a run with
// all its attempts. Records of runs and cards that older versions wrote without a span are found by
// the run that they are about.
bool belongs_to_span(const Record& record, const Uuid& span_id);

}  // namespace signalbox
