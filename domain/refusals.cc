#include "domain/refusals.h"

#include <boost/describe/enum_to_string.hpp>

namespace signalbox {

const char* name_of(RunStatus status) { return boost::describe::enum_to_string(status, "?"); }
const char* name_of(StationStatus status) { return boost::describe::enum_to_string(status, "?"); }

Decided<const Run*> open_run(const World& world, const RunId& id) {
  if (const Run* run = world.find_run(id)) return run;
  const std::string text = to_string(id);
  if (const EndedRun* ended = world.ended_runs.find(id)) {
    return reject(ErrorCode::RUN_TERMINAL, "run " + text + " has ended: " + name_of(ended->status),
                  {{"run_id", text}, {"status", std::string(name_of(ended->status))}},
                  {"signalbox run get " + text});
  }
  return reject(ErrorCode::RUN_NOT_FOUND, "there is no run " + text, {{"run_id", text}},
                {"signalbox run list"});
}

Decided<void> require_between(const char* field, std::int64_t value, std::int64_t min,
                              std::int64_t max) {
  if (value >= min && value <= max) return {};
  return reject(ErrorCode::INVALID_PARAMS,
                std::string(field) + " must lie between " + std::to_string(min) + " and " +
                    std::to_string(max),
                {{"field", std::string(field)}, {"value", value}, {"min", min}, {"max", max}},
                {"signalbox rpc server.limits"});
}

Decided<void> require_at_most(const char* field, const std::string& text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return {};
  return reject(ErrorCode::LIMIT_EXCEEDED,
                std::string(field) + " has " + std::to_string(text.size()) + " bytes, at most " +
                    std::to_string(bytes_max) + " are taken",
                {{"field", std::string(field)},
                 {"bytes", static_cast<std::int64_t>(text.size())},
                 {"bytes_max", static_cast<std::int64_t>(bytes_max)}},
                {"signalbox rpc server.limits"});
}

Decided<void> require_name(const char* field, const std::string& text, std::size_t bytes_max) {
  if (text.empty()) {
    return reject(ErrorCode::INVALID_PARAMS, std::string(field) + " must not be empty",
                  {{"field", std::string(field)}});
  }
  return require_at_most(field, text, bytes_max);
}

}  // namespace signalbox
