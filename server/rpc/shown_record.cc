#include "server/rpc/shown_record.h"

#include <boost/json/serialize.hpp>

#include "server/rpc/record_json.h"
#include "server/rpc/responder.h"
#include "server/text/described_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

}  // namespace

const std::string& ShownRecord::header() {
  if (header_.empty()) {
    header_ = json::serialize(record_header_to_json(record_));
    header_.pop_back();
    header_.erase(0, 1);
  }
  return header_;
}

const std::string& ShownRecord::data(bool hides_tokens) {
  std::optional<std::string>& text = hides_tokens ? data_without_tokens_ : data_;
  if (!text) {
    json::object shown = record_to_json(record_);
    if (hides_tokens) hide_tokens(shown);
    text = json::serialize(shown.at("data"));
  }
  return *text;
}

void ShownRecord::append_params(std::string& text, RecordForm form, std::string_view subscription) {
  text += '{';
  if (form.has_name_first) text.append(R"("event":")").append(type()).append(R"(",)");
  text += header();
  if (!form.is_summary) text.append(R"(,"data":)").append(data(form.hides_tokens));
  text += R"(,"subscription":)";
  append_json_string(text, subscription);
  text += '}';
}

}  // namespace signalbox
