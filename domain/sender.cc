#include "domain/sender.h"

#include <string>

#include "domain/world.h"

namespace signalbox {

bool may_use(const World& world, Token token, const Sender& by) {
  if (by.acts_for_all || (by.job_token != 0 && by.job_token == token)) return true;
  const auto holder = world.holders.find(token);
  return holder == world.holders.end() || holder->second == by.actor ||
         (!by.former_actor.empty() && holder->second == by.former_actor);
}

Decided<void> require_holder(const World& world, Token token, const Sender& by) {
  if (may_use(world, token, by)) return {};
  const std::string& holder = world.holders.find(token)->second;
  const std::string actor(by.actor);
  return reject(ErrorCode::FORBIDDEN,
                "this token was granted to " + holder + "; " + actor + " can't use it",
                {{"actor", actor}, {"holder", holder}, {"token", static_cast<std::int64_t>(token)}},
                {"signalbox events --from " + std::to_string(token) + " --limit 1"});
}

}  // namespace signalbox
