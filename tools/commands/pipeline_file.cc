#include "tools/commands/pipeline_file.h"

#include <utility>

#include "domain/try.h"
#include "server/rpc/pipeline_json.h"
#include "tools/cli/text_source.h"

namespace signalbox {

namespace json = boost::json;

namespace {

// Returns the refusal of the file, and where an example is.
tl::unexpected<CallError> refused(const std::string& file, Rejection why) {
  why.message = file + ": " + why.message;
  why.next_commands.emplace_back("signalbox run start --help");
  return tl::unexpected(from_rejection(why));
}

}  // namespace

Called<json::value> pipeline_tables(const std::string& file) {
  const auto text = TRY(read_file(file));
  Called<json::value> tables;
  if (file.ends_with(".json")) {
    tables = json_from("@" + file, file);
    if (!tables) return tables;
  } else {
    auto parsed = json_from_toml(text);
    if (!parsed) return refused(file, std::move(parsed.error()));
    tables = std::move(*parsed);
  }
  if (auto pipeline = pipeline_from_json(*tables); !pipeline) {
    return refused(file, std::move(pipeline.error()));
  }
  return tables;
}

}  // namespace signalbox
