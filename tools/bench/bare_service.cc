#include "tools/bench/bare_service.h"

#include <cstring>
#include <utility>

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/serialize.hpp>

#include "server/text/time_text.h"
#include "store/little_endian.h"
#include "tools/cli/elapsed_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::int64_t lease_ms = 120'000;
constexpr char run_started = 1;
constexpr char station_claimed = 2;
constexpr char station_completed = 3;
constexpr char run_ended = 4;

// Returns the text of `key`; empty if there is none.
std::string_view text_of(const json::object& params, std::string_view key) {
  const json::value* found = params.if_contains(key);
  const json::string* text = found != nullptr ? found->if_string() : nullptr;
  return text != nullptr ? std::string_view(*text) : std::string_view();
}

std::vector<std::string> stations_of(const json::object& params) {
  std::vector<std::string> names;
  const json::value* pipeline = params.if_contains("pipeline");
  if (pipeline == nullptr || !pipeline->is_object()) return names;
  const json::value* stations = pipeline->get_object().if_contains("station");
  if (stations == nullptr || !stations->is_array()) return names;
  for (const json::value& station : stations->get_array()) {
    if (station.is_object()) names.emplace_back(text_of(station.get_object(), "name"));
  }
  return names;
}

}  // namespace

void BareService::handle(std::size_t connection, std::string_view line) {
  unsigned char memory[8192];
  json::monotonic_resource resource(memory, sizeof memory);
  json::error_code error;
  parser_.reset(&resource);
  parser_.write(line.data(), line.size(), error);
  if (!error) parser_.finish(error);
  const json::value request = error ? json::value() : parser_.release();
  const json::object* object = request.if_object();
  const json::value* id = object != nullptr ? object->if_contains("id") : nullptr;
  const json::value* params = object != nullptr ? object->if_contains("params") : nullptr;
  if (id == nullptr || params == nullptr || !params->is_object()) {
    return refuse(connection, "null", "this isn't a request with an id and params");
  }
  now_ns_ = wall_clock_ns();
  const std::string id_text = json::serialize(*id);
  const std::string_view method = text_of(*object, "method");
  if (method == "station.complete") {
    complete(connection, id_text, params->get_object());
  } else if (method == "station.claim") {
    claim({connection, id_text, std::string()}, params->get_object());
  } else if (method == "run.start") {
    start_run(connection, id_text, params->get_object());
  } else if (method == "server.status") {
    reply(connection, id_text, "{}");
  } else {
    refuse(connection, id_text, "the bare path has no such method");
  }
}

void BareService::forget(std::size_t connection) {
  std::erase_if(waiting_, [&](const Claim& claim) { return claim.connection == connection; });
  workers_.erase(connection);
}

void BareService::clear() {
  records_.clear();
  replies_.clear();
}

void BareService::start_run(std::size_t connection, const std::string& id,
                            const json::object& params) {
  std::vector<std::string> stations = stations_of(params);
  if (stations.empty()) return refuse(connection, id, "the pipeline has no station");
  Run run{new_uuid(), std::string(text_of(params, "goal")), std::move(stations), 0, 0};
  std::string text = run.goal;
  for (const std::string& station : run.stations) text.append(1, '\0').append(station);
  record(run_started, run, text);
  reply(connection, id,
        R"({"run_id":")" + to_string(run.id) +
            R"(","status":"queued","replayed":false,"position":)" + std::to_string(position_) +
            "}");
  ready_.push_back(run.id);
  const Uuid run_id = run.id;
  runs_.emplace(run_id, std::move(run));
  serve_waiting_claims();
}

void BareService::claim(Claim claim, const json::object& params) {
  claim.worker = text_of(params, "worker");
  workers_[claim.connection] = claim.worker;
  waiting_.push_back(std::move(claim));
  serve_waiting_claims();
}

void BareService::complete(std::size_t connection, const std::string& id,
                           const json::object& params) {
  const auto run_id = parse_uuid(text_of(params, "run_id"));
  const auto found = run_id ? runs_.find(*run_id) : runs_.end();
  if (found == runs_.end()) return refuse(connection, id, "there is no such open run");
  Run& run = found->second;
  const json::value* token = params.if_contains("token");
  if (token == nullptr || run.token == 0 || !token->is_number() ||
      token->to_number<Token>() != run.token ||
      text_of(params, "station") != run.stations[run.station]) {
    return refuse(connection, id, "the token is stale");
  }
  if (text_of(params, "outcome") != "succeeded") {
    return refuse(connection, id, "the bare path knows only success");
  }
  record(station_completed, run, run.stations[run.station]);
  run.token = 0;
  ++run.station;
  const bool is_over = run.station == run.stations.size();
  std::string result = R"({"run_status":")";
  result += is_over ? "succeeded" : "running";
  result += R"(","station_status":"succeeded")";
  if (is_over) {
    record(run_ended, run, {});
    runs_.erase(found);
  } else {
    ready_.push_back(run.id);
    serve_waiting_claims();
  }
  const json::value* claim_next = params.if_contains("claim_next");
  if (claim_next != nullptr && claim_next->is_bool() && claim_next->get_bool()) {
    give_next(workers_[connection], result += ',');
    if (result.back() == ',') result.pop_back();
  }
  result += R"(,"position":)";
  result += std::to_string(position_);
  result += '}';
  reply(connection, id, result);
}

void BareService::serve_waiting_claims() {
  while (!waiting_.empty() && !ready_.empty()) {
    const Claim claim = std::move(waiting_.front());
    waiting_.pop_front();
    std::string result = "{";
    give_next(claim.worker, result);
    result += R"(,"position":)";
    result += std::to_string(position_);
    result += '}';
    reply(claim.connection, claim.id, result);
  }
}

bool BareService::give_next(std::string_view worker, std::string& out) {
  if (ready_.empty()) return false;
  Run& run = runs_.at(ready_.front());
  ready_.pop_front();
  const std::string& station = run.stations[run.station];
  const Uuid span = new_uuid();
  record(station_claimed, run, std::string(worker).append(raw_bytes(span)));
  run.token = position_;
  out += R"("claim":{"run_id":")";
  out += to_string(run.id);
  out += R"(","station":")";
  out += station;
  out += R"(","attempt":1,"strategy":"original","token":)";
  out += std::to_string(run.token);
  out += R"(,"span_id":")";
  out += to_string(span);
  out += R"(","lease_ms":120000,"expires_at":")";
  out += format_time(now_ns_ + lease_ms * 1'000'000);
  out += R"(","goal":)";
  out += json::serialize(json::string_view(run.goal));
  out += R"(,"input":null,"run_root":"/var/lib/signalbox/runs/)";
  out += to_string(run.id);
  out += R"(","previous":null})";
  return true;
}

void BareService::record(char type, const Run& run, std::string_view text) {
  ++position_;
  const std::size_t start = records_.size();
  constexpr std::size_t header_bytes = sizeof(std::uint32_t) + sizeof(Digest::bytes);
  records_.resize(start + header_bytes);
  append_integer(records_, position_);
  append_integer(records_, now_ns_);
  records_ += type;
  records_.append(raw_bytes(run.id));
  append_integer(records_, static_cast<std::uint32_t>(run.station));
  append_integer(records_, run.token);
  append_integer(records_, static_cast<std::uint32_t>(text.size()));
  records_ += text;
  const std::string_view body = std::string_view(records_).substr(start + header_bytes);
  digest_ = sha256_.update(digest_).update(body).finish();
  const auto length = static_cast<std::uint32_t>(body.size());
  std::memcpy(records_.data() + start, &length, sizeof length);
  std::memcpy(records_.data() + start + sizeof length, digest_.bytes.data(), digest_.bytes.size());
}

void BareService::reply(std::size_t connection, const std::string& id, std::string_view result) {
  std::string line = R"({"jsonrpc":"2.0","id":)";
  line.append(id).append(R"(,"result":)").append(result).append("}\n");
  replies_.push_back({connection, std::move(line)});
}

void BareService::refuse(std::size_t connection, const std::string& id, std::string_view message) {
  std::string line = R"({"jsonrpc":"2.0","id":)";
  line.append(id).append(R"(,"error":{"code":-32600,"message":")").append(message);
  line.append("\"}}\n");
  replies_.push_back({connection, std::move(line)});
}

// The digest of the log so far makes them look random; the count keeps them apart.
Uuid BareService::new_uuid() {
  Uuid uuid;
  std::memcpy(uuid.bytes.data(), digest_.bytes.data(), uuid.bytes.size());
  ++ids_made_;
  std::memcpy(uuid.bytes.data() + uuid.bytes.size() - sizeof ids_made_, &ids_made_,
              sizeof ids_made_);
  return uuid;
}

}  // namespace signalbox
