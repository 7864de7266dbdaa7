#include "server/replay/what_if/simulated_repositories.h"

namespace signalbox {

Stored<std::shared_ptr<const PolicyReading>> SimulatedRepositories::read_policy(
    const std::filesystem::path& repository, const std::string&, std::int64_t now_ns) {
  Policy in_force;
  std::size_t number = 0;  // of the policy, from 1; the simulated digest is made from it
  for (std::size_t index = 0; index < work_.policies.size(); ++index) {
    const RecordedPolicy& recorded = work_.policies[index];
    if (recorded.adopted_ns > now_ns || recorded.repository != repository) continue;
    in_force = recorded.policy;
    number = index + 1;
  }
  auto reading = std::make_shared<PolicyReading>();
  reading->is_there = true;
  for (std::size_t byte = 0; byte < sizeof number; ++byte) {
    reading->digest.bytes[byte] = static_cast<std::uint8_t>(number >> (8 * byte));
  }
  reading->digest.bytes.back() = 1;  // an all-zero digest means that there is no file
  reading->policy = policy_.changed(in_force);
  return std::shared_ptr<const PolicyReading>(std::move(reading));
}

}  // namespace signalbox
