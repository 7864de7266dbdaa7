// The results of mutating methods, made from the events of their commit: so that the same command
// id, asked again, gets the same result, also after a restart.
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
// The answer of both; `changed` is false where the run was as it was asked to be.
boost::json::object pause_answer(const RunId& run_id, const char* status, bool changed);
boost::json::object cancel_result(const Api& api, std::span<const Record> records);
// {"claim": {…}}, or {"claim": null} where the records hold no StationClaimed.
boost::json::object claim_result(const Api& api, std::span<const Record> records);
boost::json::object heartbeat_result(const Api& api, std::span<const Record> records);
boost::json::object external_ref_result(const Api& api, std::span<const Record> records);
// {"run_status", "station_status", "claim"?}.
boost::json::object complete_result(const Api& api, std::span<const Record> records);
// Likewise, in `storage`: of all answers this is the one that is made most often.
boost::json::object complete_result_in(const boost::json::storage_ptr& storage, const Api& api,
                                       std::span<const Record> records);
boost::json::object defer_result(const Api& api, std::span<const Record> records);

// Reads an open run as it was at some position of the log: for answers that are given a second
// time, when the world has gone on, and for nothing else.
//
// As the records up to `position`, which is durable, left it; nullptr if it had ended by then, or
// can't be read. On the engine's thread; waits for the read models to follow.
std::shared_ptr<const Run> run_then(const Api& api, const RunId& id, Position position);

}  // namespace signalbox
