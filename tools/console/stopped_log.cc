#include "tools/console/stopped_log.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "domain/try.h"
#include "server/access/principal.h"
#include "server/engine/moment.h"
#include "server/limits.h"
#include "server/platform/artifact_settings.h"
#include "server/platform/attempt_bundle.h"
#include "server/platform/call_bounds.h"
#include "server/platform/clock.h"
#include "server/replay/past_service.h"
#include "server/rpc/methods/forecast.h"
#include "server/text/time_text.h"
#include "server/transport/http/problem.h"
#include "store/rocks_event_log.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string text_of_param(const json::object& object, const char* name) {
  const json::value* const found = object.if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

// Removes the moment from the request's params. Returns it as text; nullopt if there is none.
std::optional<std::string> take_asked_moment(json::object& request) {
  json::value* const params = request.if_contains("params");
  if (params == nullptr || !params->is_object()) return std::nullopt;
  const json::value* const at = params->as_object().if_contains("at");
  if (at == nullptr) return std::nullopt;
  std::string moment = at->is_string() ? std::string(at->get_string()) : json::serialize(*at);
  params->as_object().erase("at");
  return moment;
}

// The answer to a forecast whose browser has closed the connection before it was begun.
Rejection unwanted_forecast() {
  return {ErrorCode::SHUTTING_DOWN,
          "the forecast wasn't made: nobody waits for it any more",
          {},
          {"signalbox replay --help"}};
}

// As in a service: each has a process of its own, and needs much memory.
LanePool::Bounds forecast_bounds() {
  return {.working_max = limits::what_if_working_max,
          .threads_max = limits::what_if_working_max,
          .lane_working_max = limits::what_if_working_max,
          .lane_waiting_max = limits::what_if_waiting_max,
          .hang_ms = 2 * limits::what_if_ms_max};
}

}  // namespace

StoppedLog::StoppedLog(std::filesystem::path data, std::unique_ptr<RocksEventLog> log,
                       std::unique_ptr<PastService> newest)
    : data_(std::move(data)),
      log_(std::move(log)),
      newest_(std::move(newest)),
      forecasts_(forecast_bounds()) {}
StoppedLog::~StoppedLog() = default;

Called<std::unique_ptr<StoppedLog>> StoppedLog::open(const std::filesystem::path& data) {
  auto log = TRY(called(RocksEventLog::open(data, {.read_only = true})));
  if (log->tail() == 0) {
    return tl::unexpected(usage_error("the log in " + data.string() + " has no event"));
  }
  auto newest = TRY(called(PastService::open(*log, data, log->tail())));
  return std::unique_ptr<StoppedLog>(new StoppedLog(data, std::move(log), std::move(newest)));
}

void StoppedLog::stop() { static_cast<void>(forecasts_.stop(CallBounds::never_ms)); }

void StoppedLog::answer_line(std::string_view line, const Unwanted& unwanted,
                             const AnsweredLine& answered) {
  json::error_code error;
  json::value parsed = json::parse({line.data(), line.size()}, error);
  if (error) parsed = nullptr;
  if (parsed.is_object() && text_of_param(parsed.as_object(), "method") == "what_if.run") {
    return forecast(std::move(parsed.as_object()), unwanted, answered);
  }
  answered(response(line, std::move(parsed)));
}

std::string StoppedLog::response(std::string_view line, json::value parsed) {
  const Principal viewer{"the log of a stopped service", Role::viewer};
  const auto unanswered = [](const json::object& request) {
    return refusal_line(request, {ErrorCode::NOT_ALLOWED,
                                  "the service doesn't run, so this isn't answered",
                                  {},
                                  {"signalbox status"}});
  };
  // What is no request is refused by the protocol itself.
  if (!parsed.is_object()) return newest_->answer(line, viewer).value_or(std::string());
  json::object& request = parsed.as_object();
  const std::string method = text_of_param(request, "method");
  if (method == "server.whoami") {
    return newest_->answer(line, viewer).value_or(unanswered(request));
  }
  const json::value* params = request.if_contains("params");
  const bool has_params = params != nullptr && params->is_object();
  const auto refusal =
      newest_->refusal_of(method, has_params ? params->as_object() : json::object());
  if (refusal) return refusal_line(request, *refusal);
  PastService* service = newest_.get();
  if (const auto moment = take_asked_moment(request)) {
    const auto found = service_at(*moment);
    if (!found) return refusal_line(request, found.error());
    service = *found;
  }
  return service->answer(json::serialize(request), viewer).value_or(unanswered(request));
}

void StoppedLog::forecast(json::object request, const Unwanted& unwanted,
                          const AnsweredLine& answered) {
  auto command = forecast_command(data_.string(), {}, object_at(request, "params"));
  if (!command) return answered(refusal_line(request, command.error()));
  command->is_stopped = [unwanted] { return unwanted && unwanted->load(); };
  Lane lane{.name = "forecasts", .unwanted = unwanted};
  lane.failed = [request, answered](LaneFailure why) {
    answered(refusal_line(
        request, why == LaneFailure::unwanted ? unwanted_forecast() : too_many_forecasts()));
  };
  forecasts_.run(std::move(lane), [request, answered, command = *std::move(command)] {
    auto made = make_forecast(command);
    if (!made) return answered(refusal_line(request, made.error()));
    (*made)["position"] = made->at("to");
    answered(result_line(request, *std::move(made)));
  });
}

Decided<PastService*> StoppedLog::service_at(const std::string& moment) {
  // An age counts from where the clock stands; a time may be any that has come.
  const auto end_ns = recorded_at(*log_, log_->tail());
  if (!end_ns) {
    return reject(ErrorCode::STORAGE_DAMAGED, end_ns.error().message, {},
                  {"signalbox replay --verify --data " + for_the_shell(data_.string())});
  }
  const std::int64_t now_ns =
      parse_time(moment) ? std::max(*end_ns, SystemClock().wall_ns()) : *end_ns;
  const auto at = TRY(find_shown_moment(*log_, moment, now_ns));
  if (at == log_->tail()) return newest_.get();
  std::optional<StoreError> failure;
  if (earlier_ != nullptr && earlier_->position() <= at) {
    if (auto advanced = earlier_->advance(at); !advanced) failure = std::move(advanced.error());
  } else {
    auto opened = PastService::open(*log_, data_, at);
    if (opened) {
      earlier_ = std::move(*opened);
    } else {
      failure = std::move(opened.error());
    }
  }
  if (!failure) return earlier_.get();
  earlier_.reset();
  return reject(ErrorCode::STORAGE_DAMAGED, failure->message, {},
                {"signalbox replay --verify --data " + for_the_shell(data_.string())});
}

HttpAnswer StoppedLog::artifact(const PathParams& params) {
  const auto answered =
      newest_->call("run.artifact", {{"run_id", params.at("run_id")}, {"name", params.at("name")}});
  if (const json::value* const refused = answered.if_contains("error")) {
    return problem(refused->as_object());
  }
  const ArtifactPlace place = place_of_json(answered.at("result").as_object());
  auto content = open_artifacts(data_)->get_at(place);
  if (!content) {
    return problem({ErrorCode::STORAGE_DAMAGED, content.error().message, {}, {"signalbox replay"}});
  }
  return artifact_answer(params.at("name"), std::move(*content));
}

}  // namespace signalbox
