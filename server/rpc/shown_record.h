// A record as its subscribers get it. Making JSON of it takes longer than sending it to one of
// them, so each part is made once for all of them, and only if one wants it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "domain/event.h"

namespace signalbox {

// Which parts of a record a subscriber gets.
struct RecordForm {
  bool has_name_first = false;  // begins with the type's name as `event`
  bool is_summary = false;      // without its `data`
  bool hides_tokens = false;    // what hide_tokens() hides is null (responder.h)
};

class ShownRecord {
 public:
  // `record` outlives this object.
  explicit ShownRecord(const Record& record) : record_(record) {}

  [[nodiscard]] const Record& record() const { return record_; }
  [[nodiscard]] std::string_view type() const { return tag_of(record_.event).name; }
  // Appends the params of the notification as JSON: the members of record_to_json(), then the
  // subscription.
  void append_params(std::string& text, RecordForm form, std::string_view subscription);

 private:
  const std::string& header();
  const std::string& data(bool hides_tokens);

  const Record& record_;
  // JSON, once it is wanted.
  std::string header_;  // the members but for `data`, without braces
  std::optional<std::string> data_;
  std::optional<std::string> data_without_tokens_;
};

}  // namespace signalbox
