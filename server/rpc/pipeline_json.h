// Pipelines as text: the tables of a TOML file, or the same tables as JSON (tools/GUIDE.md,
// "Pipelines").
#pragma once

#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "domain/error.h"
#include "domain/pipeline.h"

namespace signalbox {

// Returns the pipeline of `tables`, which has passed validate(). PIPELINE_INVALID names the station
// and the field.
Decided<PipelineDefinition> pipeline_from_json(const boost::json::value& tables);
boost::json::object pipeline_to_json(const PipelineDefinition& pipeline);

// Returns the tables of a TOML document as JSON. PIPELINE_INVALID with line and column for bad
// syntax.
Decided<boost::json::value> json_from_toml(std::string_view text);

}  // namespace signalbox
