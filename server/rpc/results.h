// The results of mutating methods, built from the events of their commit, so that a repeated
// command id gets the same result, also after a restart. Called on the engine's thread.
#pragma once

#include <memory>
#include <span>

#include <boost/json/object.hpp>

#include "domain/event.h"
#include "domain/run.h"
#include "server/rpc/api.h"

namespace signalbox {

boost::json::object start_result(const Api& api, std::span<const Record> records);
boost::json::object pause_result(const Api& api, std::span<const Record> records);
boost::json::object resume_result(const Api& api, std::span<const Record> records);
// Returns the result of pause and resume. `changed` is false if the run already was in that state.
boost::json::object pause_answer(const RunId& run_id, const char* status, bool changed);
boost::json::object cancel_result(const Api& api, std::span<const Record> records);
// Returns {"claim": {…}}, or {"claim": null} if the records hold no StationClaimed; without records
// while the service is paused, with its `paused` (service_pause.h) and the command that ends it.
boost::json::object claim_result(const Api& api, std::span<const Record> records);
boost::json::object heartbeat_result(const Api& api, std::span<const Record> records);
// Returns the same for a heartbeat that isn't recorded, of an attempt that doesn't stall.
boost::json::object renewal_result(const Api& api, std::int64_t lease_ms);
boost::json::object external_ref_result(const Api& api, std::span<const Record> records);
// Returns {"run_status", "station_status", "claim"?}.
boost::json::object complete_result(const Api& api, std::span<const Record> records);
// Returns the same as JSON text: of all answers this one is made most often.
std::string complete_text(const Api& api, std::span<const Record> records);
boost::json::object approval_result(const Api& api, std::span<const Record> records);
boost::json::object defer_result(const Api& api, std::span<const Record> records);

// Returns a run as its records up to `position` left it; nullptr if it had ended by then, if
// `position` isn't durable, or if the records can't be read. It is only for answers that are
// repeated after the world has gone on. Read by api.past.
std::shared_ptr<const Run> run_at_position(const Api& api, const RunId& id, Position position);

}  // namespace signalbox
