#include "server/transport/http/route_views.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "server/text/percent_coding.h"
#include "store/base64.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string text_of(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

}  // namespace

void show_started_run(const Target&, const json::object& result, HttpAnswer& answer) {
  answer.headers.emplace_back("Location", "/v1/runs/" + text_of(result.at("run_id")));
  answer.body = json::serialize(result) + "\n";
}

void show_run_page(const Target& target, const json::object& result, HttpAnswer& answer) {
  answer.body = json::serialize(result) + "\n";
  const json::value& cursor = result.at("next_cursor");
  if (cursor.is_null()) return;
  std::string next = "/v1/runs?";
  for (const auto& [name, value] : target.query) {
    if (name != "cursor") next += percent_encoded(name) + "=" + percent_encoded(value) + "&";
  }
  next += "cursor=" + percent_encoded(text_of(cursor));
  answer.headers.emplace_back("Link", "<" + next + ">; rel=\"next\"");
}

void show_artifacts(const Target&, const json::object& result, HttpAnswer& answer) {
  const json::object& run = result.at("run").as_object();
  const std::string base = "/v1/runs/" + text_of(run.at("run_id")) + "/artifacts/";
  json::array artifacts;
  for (const json::value& station : run.at("stations").as_array()) {
    for (const json::value& attempt : station.at("attempts").as_array()) {
      for (const json::value& artifact : attempt.at("artifacts").as_array()) {
        json::object shown;
        shown["station"] = station.at("station");
        shown["attempt"] = attempt.at("attempt");
        for (const char* field : {"name", "media_type", "bytes", "sha256", "current"}) {
          shown[field] = artifact.at(field);
        }
        shown["href"] = base + percent_encoded(text_of(artifact.at("name")));
        artifacts.push_back(std::move(shown));
      }
    }
  }
  json::object shown;
  shown["run_id"] = run.at("run_id");
  shown["artifacts"] = std::move(artifacts);
  shown["position"] = result.at("position");
  answer.body = json::serialize(shown) + "\n";
}

void show_checkpoint(const Target&, const json::object& result, HttpAnswer& answer) {
  answer.media_type = "text/plain; charset=utf-8";
  answer.headers.emplace_back("Cache-Control", "no-store");
  answer.body = text_of(result.at("checkpoint"));
}

// What a tile's place says never changes, so a client may keep it.
void show_tile(const Target&, const json::object& result, HttpAnswer& answer) {
  answer.media_type = "application/octet-stream";
  answer.headers.emplace_back("Cache-Control", "private, max-age=31536000, immutable");
  answer.body = from_base64(text_of(result.at("content"))).value_or("");
}

void show_metrics(const Target&, const json::object& result, HttpAnswer& answer) {
  answer.media_type = text_of(result.at("media_type"));
  answer.body = text_of(result.at("text"));
}

}  // namespace signalbox
