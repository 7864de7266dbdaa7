// The responses of routes whose body isn't simply the result of their method.
#pragma once

#include <boost/json/object.hpp>

#include "server/transport/http/http_answer.h"
#include "server/transport/http/target.h"

namespace signalbox {

// Sends the result, and the run's path as Location.
void show_started_run(const Target& target, const boost::json::object& result, HttpAnswer& answer);
// Sends the page, and a Link to the next one if there is one.
void show_run_page(const Target& target, const boost::json::object& result, HttpAnswer& answer);
// Sends {run_id, artifacts: [{station, attempt, name, media_type, bytes, sha256, current, href}]},
// the artifacts of all attempts. The `href` of a name leads to the newest attempt's artifact, and
// only that one is `current`.
void show_artifacts(const Target& target, const boost::json::object& result, HttpAnswer& answer);

// Send a signed checkpoint, and the bytes of a tile, as c2sp.org/tlog-tiles describes them.
void show_checkpoint(const Target& target, const boost::json::object& result, HttpAnswer& answer);
void show_tile(const Target& target, const boost::json::object& result, HttpAnswer& answer);

// Sends the metrics' text with its own media type.
void show_metrics(const Target& target, const boost::json::object& result, HttpAnswer& answer);

}  // namespace signalbox
