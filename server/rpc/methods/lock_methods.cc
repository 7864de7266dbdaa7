// `lock.*`: exclusive leases on a key.
#include "server/engine/engine.h"
#include "server/engine/timers.h"
#include "server/platform/clock.h"
#include "server/rpc/command_call.h"
#include "server/rpc/lock_queue.h"
#include "server/rpc/lock_views.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/page_cursor.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/run_root_call.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

void acquire(Api& api, Call& call, LockQueue& locks) {
  auto command = from_json<AcquireLock>(call.params);
  if (!command) return call.responder.reject(command.error());
  if (answered_before(api, call, acquire_result)) return;
  const std::optional<std::string> run_root = command->run_root;
  with_run_root_of_run(api, call, run_root,
                       [&locks, command = std::move(*command)](Api& again, Call& checked) {
                         if (command.run_root && answered_before(again, checked, acquire_result))
                           return;
                         locks.acquire(command, checked.origin, checked.responder);
                       });
}

// Applies a RefreshLock or ReleaseLock and answers. A rejection with LOCK_NOT_OWNED is recorded.
template <class T>
void apply_lock_command(Api& api, const Call& call, const T& command, ResultOf result_of) {
  const World& world = api.engine.world();
  const auto expired = api.timers.expired_lock(world, command.key, api.clock.monotonic_ns());
  const bool refused =
      expired.has_value() ||
      !decide(world, command, Now{api.engine.now_ns(), call.origin.sender()}).has_value();
  // The event of a rejection must not become the command's recorded result: without a command id in
  // the origin, a repeated command is decided again.
  Origin origin = call.origin;
  if (refused) origin = call.origin.without_command();
  Decided<json::object> outcome;
  {
    auto transaction = api.engine.begin(std::move(origin));
    if (expired) (void)transaction.apply(*expired);
    const auto applied = transaction.apply(command);
    if (applied) {
      outcome = result_of(api, transaction.records());
    } else {
      if (applied.error().code == ErrorCode::LOCK_NOT_OWNED) {
        (void)transaction.apply(
            NoteRefreshFailure{command.key, command.token, command.token_owner});
      }
      outcome = tl::unexpected(applied.error());
    }
  }
  answer_with_files(api, call.responder, std::move(outcome));
}

// Returns the owner to whom `token` was granted; "" if it isn't a token of `key`.
std::string owner_in_log(const EventLog& log, const std::string& key, Token token) {
  if (token == 0 || token > log.tail()) return {};
  const auto records = log.read(token, 1);
  if (!records || records->empty()) return {};
  const auto* acquired = event_as<LockAcquired>(records->front().event);
  return acquired != nullptr && acquired->key == key ? std::string(acquired->owner) : "";
}

// Returns true if the world has forgotten the token, so that only the log has its owner.
template <class T>
bool is_forgotten(const World& world, const T& command) {
  const Lock* lock = world.find_lock(command.key);
  const EndedLock* ended = world.ended_locks.find(command.key);
  return (lock == nullptr || lock->token != command.token) &&
         (ended == nullptr || ended->token != command.token);
}

template <class T, ResultOf result_of>
void handle_lock_command(Api& api, Call& call) {
  auto command = from_json<T>(call.params);
  if (!command) return call.responder.reject(command.error());
  if (answered_before(api, call, result_of)) return;
  if (!is_forgotten(api.engine.world(), *command)) {
    return apply_lock_command(api, call, *command, result_of);
  }
  api.log_readers.run({.name = "owners of locks"},
                      [&api, call = Call{{}, call.origin, call.responder},
                       command = std::move(*command)]() mutable -> std::function<void()> {
                        command.token_owner = owner_in_log(api.log, command.key, command.token);
                        return
                            [&api, call = std::move(call), command = std::move(command)]() mutable {
                              if (!answered_before(api, call, result_of))
                                apply_lock_command(api, call, command, result_of);
                            };
                      });
}

struct GetLock {
  std::string key;
};
BOOST_DESCRIBE_STRUCT(GetLock, (), (key))

struct ListLocks {
  std::optional<std::string> prefix;
  std::optional<std::string> owner;
  std::optional<std::uint32_t> limit;
  std::optional<std::string> cursor;
};
BOOST_DESCRIBE_STRUCT(ListLocks, (), (prefix, owner, limit, cursor))

void get_lock(Api& api, Call& call, LockQueue& locks) {
  const auto params = from_json<GetLock>(call.params);
  if (!params) return call.responder.reject(params.error());
  call.responder.result(lock_view(api, locks, params->key));
}

void list_locks(Api& api, Call& call, LockQueue& locks) {
  const auto params = from_json<ListLocks>(call.params);
  if (!params) return call.responder.reject(params.error());
  const auto limit = page_limit(params->limit, 100, lock_list_rows_max);
  if (!limit) return call.responder.reject(limit.error());
  auto cursor = read_cursor(params->cursor, "signalbox lock list");
  if (!cursor) return call.responder.reject(cursor.error());
  LockFilter filter;
  filter.prefix = params->prefix.value_or("");
  filter.owner = params->owner;
  filter.cursor = *std::move(cursor);
  filter.limit = *limit;
  call.responder.result(lock_list_view(api, locks, filter));
}

}  // namespace

std::vector<Method> lock_methods(LockQueue& locks) {
  return {
      {"lock.acquire", true, Role::worker, params_of<AcquireLock>(), with(locks, acquire)},
      {"lock.refresh", true, Role::worker, params_of<RefreshLock>(),
       handle_lock_command<RefreshLock, refresh_result>},
      {"lock.release", true, Role::worker, params_of<ReleaseLock>(),
       handle_lock_command<ReleaseLock, release_result>},
      {"lock.get", false, Role::viewer, params_of<GetLock>(), with(locks, get_lock)},
      {"lock.list", false, Role::viewer, params_of<ListLocks>(), with(locks, list_locks)},
  };
}

}  // namespace signalbox
