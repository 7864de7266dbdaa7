// What routes show of a method's result where that isn't the result itself.
#pragma once

#include <boost/json/object.hpp>

#include "server/transport/http/http_answer.h"
#include "server/transport/http/target.h"

namespace signalbox {

// The result, with the run's Location.
void show_started_run(const Target& target, const boost::json::object& result, HttpAnswer& answer);
// The page, with a Link to the next one.
void show_run_page(const Target& target, const boost::json::object& result, HttpAnswer& answer);
// {run_id, artifacts: [{station, attempt, name, media_type, bytes, sha256, href}]} of a whole run;
// the `href` of a name gives the newest attempt's, and only that one is said to be `current`.
void show_artifacts(const Target& target, const boost::json::object& result, HttpAnswer& answer);

// Its text, as that.
void show_metrics(const Target& target, const boost::json::object& result, HttpAnswer& answer);

}  // namespace signalbox
