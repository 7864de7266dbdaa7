#include "domain/world.h"

namespace signalbox {

World::World() = default;
World::World(World&& other) noexcept = default;
World& World::operator=(World&& other) noexcept = default;
World::~World() = default;

std::optional<std::uint32_t> Run::find_station(std::string_view name) const {
  for (std::uint32_t index = 0; index < pipeline->stations.size(); ++index) {
    if (pipeline->stations[index].name == name) return index;
  }
  return std::nullopt;
}

const Run* World::find_run(const RunId& id) const {
  const auto place = runs.find(id);
  return place == runs.end() ? nullptr : place->second.get();
}

Run* World::find_run(const RunId& id) {
  const auto place = runs.find(id);
  return place == runs.end() ? nullptr : place->second.get();
}

const Lock* World::find_lock(const std::string& key) const {
  const auto place = locks.find(key);
  return place == locks.end() ? nullptr : &place->second;
}

const Lock* World::find_lock_by_token(Token token) const {
  const auto place = lock_by_token.find(token);
  return place == lock_by_token.end() ? nullptr : find_lock(place->second);
}

const AccessToken* AccessState::find(const Uuid& id) const {
  for (const AccessToken& token : tokens) {
    if (token.id == id) return &token;
  }
  return nullptr;
}

const Tick* World::find_tick(const std::string& loop) const {
  const auto place = ticks.find(loop);
  return place == ticks.end() ? nullptr : &place->second;
}

const Project* World::find_project(const std::string& name) const {
  const auto place = projects.find(name);
  return place == projects.end() ? nullptr : &place->second;
}

RunnerStanding World::standing_of(const std::string& runner) const {
  const auto place = runners.find(runner);
  return place == runners.end() ? RunnerStanding::free : place->second.standing;
}

}  // namespace signalbox
