// A run and its timeline as clients see them.
#pragma once

#include <functional>
#include <string>

#include <boost/json/object.hpp>

#include "projections/run_row.h"
#include "projections/timeline.h"

namespace signalbox {

boost::json::object row_to_json(const RunRow& row);

// `path_of` gives the file of an artifact.
boost::json::object timeline_to_json(const RunRow& row, const RunTimeline& timeline,
                                     const std::string& run_root,
                                     const std::function<std::string(const Digest&)>& path_of);

}  // namespace signalbox
