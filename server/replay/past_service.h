// The service as it was at a position of its log. It answers every query of the socket interface
// with the same methods as the live service, on the state folded up to that position.
//
// Nothing is written, so the data directory may be that of a running server. The clock stands still
// at the time of the position's record. Leases of attempts and locks end when they did; steps and
// timeouts have their full length, as after a start at that moment. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "domain/ids.h"
#include "projections/table.h"
#include "server/replay/past_leases.h"
#include "server/rpc/api.h"
#include "server/rpc/methods/families.h"
#include "store/store_error.h"

namespace signalbox {

class ArtifactStore;
class EventLog;
class JobOwnership;
class RunRootRule;
struct Method;
struct Principal;
struct World;

// What answers show that isn't in the log: settings, and what is on the disk, as they are now.
// Answers about a moment of the past show them, too. The defaults are those of a data directory
// without a service. What is shared is called on the thread of the past.
struct PresentFacts {
  ServerFacts server{};
  std::uint64_t incarnation = 0;  // that `server.started_at_ns` is of
  std::optional<AccessParts::RolesWithoutToken> roles_without_token{};
  std::shared_ptr<const RunRootRule> run_root_rule{};
  std::shared_ptr<const JobOwnership> ownership{};
  std::function<bool(const RunId&)> are_files_removed{};
};

class PastService {
 public:
  // Builds the service at position `at`, from 1 up to the log's tail. It starts from the newest
  // snapshot in `data` (the data directory) before `at`, and computes the read models in memory.
  // That costs one to two seconds per million events and a few hundred bytes per event. Fails if
  // `at` was dropped from the log, with `io` when the calling thread's work is canceled
  // (CallBounds), and as the log does. `log` outlives the service. Blocks.
  static Stored<std::unique_ptr<PastService>> open(const EventLog& log,
                                                   const std::filesystem::path& data, Position at);
  // The same, starting from `world` and `rows`, each as of a position at or before `at`. The rows
  // of a run index are written to `rows`. Artifacts are read from `artifacts`, or, if that is
  // nullptr, from where the data directory says that they are. Costs what the events up to `at` do.
  static Stored<std::unique_ptr<PastService>> open(
      const EventLog& log, const std::filesystem::path& data, Position at, World world,
      std::unique_ptr<Table> rows, std::shared_ptr<ArtifactStore> artifacts = nullptr);

  PastService(const PastService&) = delete;
  PastService& operator=(const PastService&) = delete;
  ~PastService();

  // Returns why a method can't be called with `params` about the past: it isn't a query, or shows
  // the present only. Returns nullopt for all others, also for a name that no method has.
  [[nodiscard]] std::optional<Rejection> refusal_of(std::string_view method,
                                                    const boost::json::object& params) const;
  // Returns the dispatch table, which is that of the live service.
  [[nodiscard]] const std::vector<Method>& methods() const;
  // Calls a method and returns the JSON-RPC response, with "result" or "error". The error is
  // NOT_ALLOWED for methods that aren't queries, because the past can't be changed. Blocks.
  boost::json::object call(std::string_view method, const boost::json::object& params);
  // Returns the response to a line of JSON-RPC of `principal`, which calls a query; nullopt for a
  // query that isn't answered at once. Blocks.
  std::optional<std::string> answer(std::string_view line, const Principal& principal);

  // Shows these facts in the answers from now on, instead of the defaults.
  void show(PresentFacts facts);

  [[nodiscard]] Position position() const;
  // Goes on to position `at`, which is at or after the present one. Costs what the events in
  // between do. Fails as open(); then this object can only be destroyed. Blocks.
  Stored<void> advance(Position at);

 private:
  struct Parts;
  PastService(const EventLog& log, std::filesystem::path data,
              std::shared_ptr<ArtifactStore> artifacts);

  // Folds the log onto `world` and `rows` up to position `at`, and builds the service of them.
  Stored<void> build(World world, std::unique_ptr<Table> rows, Position at);

  const EventLog& log_;
  const std::filesystem::path data_;
  const std::shared_ptr<ArtifactStore> artifacts_;
  PresentFacts present_;
  LeaseBegins leases_;  // of the present position
  std::unique_ptr<Parts> parts_;
};

}  // namespace signalbox
