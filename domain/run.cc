#include "domain/run.h"

namespace signalbox {

std::optional<std::uint32_t> Run::find_station(std::string_view name) const {
  for (std::uint32_t index = 0; index < pipeline->stations.size(); ++index) {
    if (pipeline->stations[index].name == name) return index;
  }
  return std::nullopt;
}

}  // namespace signalbox
