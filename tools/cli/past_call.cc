#include "tools/cli/past_call.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "domain/try.h"
#include "server/engine/moment.h"
#include "server/platform/clock.h"
#include "server/replay/past_service.h"
#include "server/text/printable_text.h"
#include "server/text/time_text.h"
#include "store/event_log.h"
#include "store/rocks_event_log.h"
#include "tools/cli/client.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/short_id.h"
#include "tools/cli/typed_command.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// A service that accepts no connection in that time is there all the same.
constexpr std::chrono::milliseconds served_check_timeout{2000};

bool is_served(const std::filesystem::path& socket) {
  const auto connected = Client::connect(ServerAddress(socket), served_check_timeout);
  // Whatever else it is refused by is there.
  return connected || code_of(connected.error()) != "NOT_REACHABLE" ||
         connected.error().exit_code != ExitCode::unreachable;
}

CallError no_moment(const Rejection& rejection) {
  if (rejection.code == ErrorCode::INVALID_PARAMS) return usage_error(rejection.message);
  return from_rejection(rejection);
}

}  // namespace

std::int64_t age_origin_ns(const Invocation& invocation, const EventLog& log,
                           std::string_view moment) {
  const std::int64_t now_ns = SystemClock().wall_ns();
  // The age 0 is the log's end, whatever it counts from.
  if (parse_duration_ms(moment).value_or(0) <= 0 || log.tail() == 0) return now_ns;
  const std::filesystem::path socket = invocation.socket_path();
  if (is_served(socket)) return now_ns;
  const auto end_ns = recorded_at(log, log.tail());
  if (!end_ns || *end_ns > now_ns) return now_ns;
  if (!std::exchange(invocation.is_age_origin_said, true)) {
    write_message("no service answers at " + printable(socket.string()) +
                  ", so an age counts from the log's end, " + format_time(*end_ns) + "\n");
  }
  return *end_ns;
}

Called<Position> position_of_moment(const Invocation& invocation, const EventLog& log,
                                    const std::string& moment) {
  const auto found = find_moment(log, moment, age_origin_ns(invocation, log, moment));
  if (!found) return tl::unexpected(no_moment(found.error()));
  return *found;
}

struct PastDirectory::Parts {
  std::unique_ptr<RocksEventLog> log;
  std::unique_ptr<PastService> service;  // reads the log
};

PastDirectory::PastDirectory(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
PastDirectory::~PastDirectory() = default;

Called<std::shared_ptr<PastDirectory>> PastDirectory::open(const Invocation& invocation) {
  const std::filesystem::path data = invocation.data_directory();
  const std::string moment = invocation.at.value_or("");
  auto log = TRY(called(RocksEventLog::open(data, {.read_only = true})));
  const auto at = find_shown_moment(*log, moment, age_origin_ns(invocation, *log, moment));
  if (!at) return tl::unexpected(no_moment(at.error()));
  auto service = TRY(called(PastService::open(*log, data, *at)));
  auto parts = std::make_unique<Parts>();
  parts->log = std::move(log);
  parts->service = std::move(service);
  return std::shared_ptr<PastDirectory>(new PastDirectory(std::move(parts)));
}

Called<json::object> PastDirectory::call(std::string_view method, const json::object& params) {
  json::object answer = parts_->service->call(method, params);
  if (json::value* error = answer.if_contains("error")) {
    return tl::unexpected(refused_by_server(std::move(error->as_object())));
  }
  return std::move(answer.at("result").as_object());
}

namespace {

// Returns the words of the command line without --at, with the whole id of the run or card that
// `params` name: at present, its end or `last` may stand for another one.
std::vector<std::string> words_about_present(const Invocation& invocation,
                                             const json::object& params) {
  std::vector<std::string> words{"signalbox"};
  std::string id = text_at(params, "run_id");
  if (id.empty()) id = text_at(params, "card_id");
  for (char** word = invocation.words; *word != nullptr && *(word + 1) != nullptr;) {
    const std::string typed(*++word);
    if (typed == "--at" && *(word + 1) != nullptr) {
      ++word;
    } else if (!typed.starts_with("--at=")) {
      const bool is_id =
          !id.empty() && is_short_id(typed) && (typed == "last" || id.ends_with(typed));
      words.push_back(is_id ? std::exchange(id, {}) : typed);
    }
  }
  return words;
}

// What isn't a query has no past. The server names the method that does the same at present; the
// person typed a command.
CallError about_present(const Invocation& invocation, const json::object& params, CallError error) {
  const std::vector<std::string> commands = next_commands_of(error);
  if (code_of(error) != "NOT_ALLOWED" || invocation.words == nullptr || commands.size() != 1 ||
      !commands.front().starts_with("signalbox rpc ")) {
    return error;
  }
  error.error["data"].as_object()["next_commands"] =
      json::array{pasted_words(words_about_present(invocation, params))};
  return error;
}

Called<json::object> answer_of_past(const Invocation& invocation, std::string_view method,
                                    json::object params) {
  const auto server = TRY(invocation.past_server_address());
  if (server) {
    params["at"] =
        invocation.past_position.empty() ? invocation.at.value_or("") : invocation.past_position;
    auto client = TRY(Client::connect(*server));
    auto result = client.call(method, std::move(params));
    if (result) invocation.past_position = text_at(*result, "position");
    return result;
  }
  if (!invocation.past) {
    auto opened = TRY(PastDirectory::open(invocation));
    invocation.past = std::move(opened);
  }
  return invocation.past->call(method, params);
}

// Returns the time of the moment: for a position, when its event was recorded. An age that is older
// than the log is its first event. nullopt if that can't be asked.
std::optional<std::int64_t> time_of_moment(const Invocation& invocation) {
  const auto page = answer_of_past(invocation, "events.read", {{"backwards", true}, {"limit", 1}});
  if (!page || array_at(*page, "events").empty()) return std::nullopt;
  const auto recorded =
      parse_time(text_at(array_at(*page, "events").front().as_object(), "recorded_at"));
  const auto named = parse_time_or_age(invocation.at.value_or(""), wall_clock_ns());
  return named && recorded ? std::max(*named, *recorded) : recorded;
}

}  // namespace

Called<json::object> call_past(const Invocation& invocation, std::string_view method,
                               json::object params) {
  auto answer = answer_of_past(invocation, method, params).map_error([&](CallError error) {
    return about_present(invocation, params, std::move(error));
  });
  if (answer && !invocation.json && !invocation.past_time_ns) {
    invocation.past_time_ns = time_of_moment(invocation);
  }
  return answer;
}

Called<std::string> whole_run_id(const Invocation& invocation, const std::string& id) {
  if (!is_short_id(id)) return id;
  Invocation present = invocation;
  present.at = "0s";
  const auto directory = TRY(PastDirectory::open(present));
  json::object params{{"run_id", id}};
  TRY(complete_ids(params, [&directory](std::string_view method, const json::object& named) {
    return directory->call(method, named);
  }));
  return text_at(params, "run_id");
}

}  // namespace signalbox
