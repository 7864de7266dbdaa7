#include "server/executors/deep_work_command.h"

#include <boost/json/serialize.hpp>

#include "domain/try.h"
#include "server/text/described_json.h"
#include "server/text/json_text.h"

namespace signalbox {

std::vector<std::string> deep_work_argv(const std::filesystem::path& binary,
                                        const StationDefinition& station) {
  const DeepWorkSettings settings{station.deep_work.value_or(DeepWorkDefinition{}),
                                  station.cancel_grace_ms};
  return {binary.string(), "deep-work", boost::json::serialize(to_json(settings))};
}

Decided<DeepWorkSettings> parse_deep_work_settings(std::string_view argument) {
  const auto value = TRY(parse_json(argument));
  return from_json<DeepWorkSettings>(value);
}

}  // namespace signalbox
