#include "domain/world.h"

namespace signalbox {

const Run* World::find_run(const RunId& id) const {
  const auto place = runs.find(id);
  return place == runs.end() ? nullptr : place->second.get();
}

Run* World::find_run(const RunId& id) {
  const auto place = runs.find(id);
  return place == runs.end() ? nullptr : place->second.get();
}

}  // namespace signalbox
