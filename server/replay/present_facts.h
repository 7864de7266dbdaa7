// What answers show that isn't in the log: settings, and what is on the disk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "domain/ids.h"
#include "server/rpc/api.h"
#include "server/rpc/methods/families.h"

namespace signalbox {

class JobOwnership;
class RunRootRule;

// As they are now. Answers about a moment of the past show them, too. The defaults are those of a
// data directory without a service. What is shared is called on the thread of the past.
struct PresentFacts {
  ServerFacts server{};
  std::uint64_t incarnation = 0;  // that `server.started_at_ns` is of
  std::optional<AccessParts::RolesWithoutToken> roles_without_token{};
  std::shared_ptr<const RunRootRule> run_root_rule{};
  std::shared_ptr<const JobOwnership> ownership{};
  std::function<bool(const RunId&)> are_files_removed{};
};

}  // namespace signalbox
