#include "tools/commands/pipeline_file.h"

#include "domain/try.h"
#include "server/rpc/pipeline_json.h"
#include "tools/cli/text_source.h"

namespace signalbox {

namespace json = boost::json;

Called<json::value> pipeline_tables(const std::string& file) {
  const auto text = TRY(read_file(file));
  Called<json::value> tables;
  if (file.ends_with(".json")) {
    tables = json_from("@" + file, file);
    if (!tables) return tables;
  } else {
    auto parsed = json_from_toml(text);
    if (!parsed) {
      parsed.error().message = file + ": " + parsed.error().message;
      return tl::unexpected(from_rejection(parsed.error()));
    }
    tables = std::move(*parsed);
  }
  if (auto pipeline = pipeline_from_json(*tables); !pipeline) {
    pipeline.error().message = file + ": " + pipeline.error().message;
    return tl::unexpected(from_rejection(pipeline.error()));
  }
  return tables;
}

}  // namespace signalbox
