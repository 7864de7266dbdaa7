#include "tests/simulation/simulated_database.h"

#include <utility>

#include <boost/describe/enum_to_string.hpp>

#include "domain/try.h"

namespace signalbox::simulation {
namespace {

// Returns how often the fault strikes in 10,000 opportunities, before the seed's multiple. Those of
// servers and the database have one each step, those of calls one each call.
std::uint32_t usual_weight(CellFault fault) {
  switch (fault) {
    case CellFault::server_killed:
      return 8;
    case CellFault::server_hangs:
      return 6;
    case CellFault::server_cut_off:
      return 6;
    case CellFault::cell_switched:
    case CellFault::server_stopped:
      return 4;
    case CellFault::database_away:
    case CellFault::standbys_away:
      return 3;
    case CellFault::database_fails_over:
      return 6;
    case CellFault::append_vanishes:
    case CellFault::append_untold:
    case CellFault::append_late:
      return 100;
    case CellFault::wait_canceled:
      return 100;
    case CellFault::append_orphaned:
      return 50;
    case CellFault::take_untold:
    case CellFault::take_failed_over:
      return 500;
    case CellFault::beat_untold:
      return 50;
  }
  return 0;
}

constexpr std::int64_t call_ns_max = 3 * ns_per_s;
constexpr std::int64_t old_beat_ns = 1'500 * ns_per_ms;
constexpr std::int64_t standby_look_ns = 20 * ns_per_ms;

tl::unexpected<StoreError> no_way() {
  return store_failure(StoreError::Kind::away, "the database can't be reached");
}
tl::unexpected<StoreError> no_answer_came() {
  return store_failure(StoreError::Kind::io, "the connection ended before the answer");
}

}  // namespace

SimulatedDatabase::SimulatedDatabase(Environment& environment) : environment_(environment) {
  constexpr std::array<std::uint32_t, 4> multiples{0, 1, 1, 3};
  for (std::size_t kind = 0; kind < fault_kinds; ++kind) {
    weights_[kind] =
        usual_weight(static_cast<CellFault>(kind)) * environment.random.any_of(multiples);
  }
}

bool SimulatedDatabase::strikes(CellFault fault) {
  const auto kind = static_cast<std::size_t>(fault);
  if (environment_.faults.stopped() || environment_.random.below(10'000) >= weights_[kind]) {
    return false;
  }
  ++counts_[kind];
  return true;
}

std::vector<std::pair<std::string, std::uint64_t>> SimulatedDatabase::counts() const {
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  for (std::size_t kind = 0; kind < fault_kinds; ++kind) {
    counts.emplace_back(boost::describe::enum_to_string(static_cast<CellFault>(kind), "?"),
                        counts_[kind]);
  }
  counts.emplace_back("links_removed", trimmed_.size());
  return counts;
}

void SimulatedDatabase::note_taken(const std::string& server) {
  tails_taken_[MemorySharedLog(chain_).state().value().epoch] = chain_->links().back().last;
  taken_(server);
}

void SimulatedDatabase::set_clock() { chain_->set_clock_ns(environment_.schedule.wall_ns()); }

void SimulatedDatabase::note_trimmed(std::span<const ChainLink> links) {
  if (links.empty()) return;
  environment_.note("the log in the database begins after " + std::to_string(links.back().last));
  trimmed_.insert(trimmed_.end(), links.begin(), links.end());
}

std::vector<ChainLink> SimulatedDatabase::all_links() const {
  std::vector<ChainLink> links = trimmed_;
  for (ChainLink& link : chain_->links()) links.push_back(std::move(link));
  return links;
}

void SimulatedDatabase::examine_writers() const {
  for (const ChainLink& link : all_links()) {
    const auto next = tails_taken_.upper_bound(link.epoch);
    environment_.expect(next == tails_taken_.end() || link.last <= next->second,
                        "the writer of epoch " + std::to_string(link.epoch) + " wrote " +
                            std::to_string(link.last) + " after the log was taken from it");
  }
}

void SimulatedDatabase::go_away(std::int64_t ns) {
  away_until_ns_ = now_ns() + ns;
  ++losses_;
  chain_->lose_connections();
}

void SimulatedDatabase::fail_over() {
  ++losses_;
  chain_->roll_back();
}

void SimulatedDatabase::lose_standbys(std::int64_t ns) { alone_until_ns_ = now_ns() + ns; }

SimulatedSharedLog::SimulatedSharedLog(Environment& environment, SimulatedDatabase& database,
                                       DatabaseWay& way, SimulatedThread& thread)
    : environment_(environment), database_(database), way_(way), thread_(thread) {
  connect();
}

void SimulatedSharedLog::connect() {
  connection_ = std::make_unique<MemorySharedLog>(database_.chain());
  losses_ = losses();
  ++session_;
}

bool SimulatedSharedLog::is_reachable() const {
  return !database_.is_away() && environment_.schedule.monotonic_ns() >= way_.cut_until_ns;
}

bool SimulatedSharedLog::is_connected(std::uint64_t losses) const {
  return is_reachable() && this->losses() == losses && !is_interrupted_;
}

Stored<void> SimulatedSharedLog::travel() {
  thread_.sleep(any_us(50, 800));
  if (is_interrupted_) return no_way();
  if (!is_reachable()) {
    thread_.sleep(any_us(100, 200'000));
    return no_way();
  }
  if (losses_ == losses()) return {};
  // It often shows only when something is sent.
  connect();
  if (environment_.random.one_in(2)) return no_way();
  return {};
}

bool SimulatedSharedLog::await_standbys() {
  const std::uint64_t before = losses();
  const std::int64_t until_ns = environment_.schedule.monotonic_ns() + call_ns_max;
  thread_.sleep(any_us(100, 3000));
  while (!database_.has_standbys()) {
    if (environment_.schedule.monotonic_ns() >= until_ns || !is_connected(before)) return false;
    thread_.sleep(standby_look_ns);
  }
  return is_connected(before);
}

Stored<void> SimulatedSharedLog::create(const ChainLink& first, const std::string& secret) {
  return connection_->create(first, secret);
}

Stored<CellState> SimulatedSharedLog::state() {
  TRY(travel());
  auto state = connection_->state();
  if (!state) return state;
  state->session = session_;
  state->database_wall_ns = environment_.schedule.wall_ns();
  // A beat that is old by the clock that people set counts as no beat.
  const std::int64_t age_ns = environment_.schedule.wall_ns() - state->beat_wall_ns;
  if (environment_.mutant == Mutant::beat_by_wall_clock && age_ns > old_beat_ns) {
    state->is_attended = false;
  }
  if (environment_.mutant == Mutant::follower_reads_unacked) {
    if (const auto last = connection_->last()) state->acked = last->last;
  }
  return state;
}

Stored<std::uint64_t> SimulatedSharedLog::take(std::uint64_t seen, const CellServer& server) {
  TRY(travel());
  if (!await_standbys()) return no_answer_came();
  MemoryChain& chain = *database_.chain();
  const bool is_read_only = environment_.mutant == Mutant::take_without_append;
  const std::size_t acknowledged = chain.acknowledged();
  // A read doesn't wait for what is under way.
  std::optional<ChainLink> under_way;
  if (environment_.mutant == Mutant::reads_believed) under_way = chain.take_delayed();
  auto epoch = connection_->take(seen, server);
  if (is_read_only) chain.set_acknowledged(acknowledged);
  if (under_way) {
    chain.delay(*std::move(under_way));
    environment_.schedule.after(any_us(100, 5000), outside,
                                [chain = database_.chain()] { chain->land_delayed(); });
  }
  if (epoch) {
    environment_.note("epoch " + std::to_string(*epoch) + " is " + server.name + "'s");
    database_.note_taken(server.name);
  }
  thread_.sleep(any_us(50, environment_.random.one_in(3) ? 50'000 : 800));
  if (epoch && database_.strikes(CellFault::take_untold)) return no_answer_came();
  if (epoch && database_.strikes(CellFault::take_failed_over)) database_.fail_over();
  return epoch;
}

Stored<void> SimulatedSharedLog::attend() {
  TRY(travel());
  return connection_->attend();
}

SharedAppend SimulatedSharedLog::append(const ChainLink& link) {
  using Status = SharedAppend::Status;
  const SharedAppend unknown{Status::unknown, "the connection ended before the answer"};
  if (const auto arrived = travel(); !arrived) return {Status::away, arrived.error().message};
  if (environment_.mutant == Mutant::append_without_epoch) return append_of_any_epoch(link);
  doubtful_ = link.prev;
  if (database_.strikes(CellFault::append_vanishes)) return unknown;
  MemoryChain& chain = *database_.chain();
  if (database_.strikes(CellFault::append_late)) {
    chain.lose_next_append(MemoryChain::LostAppend::lands_later);
    environment_.schedule.after(any_us(100, 3'000'000), outside,
                                [late = database_.chain()] { late->land_delayed(); });
    SharedAppend answer = connection_->append(link);
    chain.lose_next_append(std::nullopt);
    if (environment_.random.one_in(3)) environment_.crash("while an append is under way");
    return answer;
  }
  // It is there before it is acknowledged.
  chain.lose_next_append(MemoryChain::LostAppend::lands);
  const SharedAppend landed = connection_->append(link);
  chain.lose_next_append(std::nullopt);
  if (landed.status != Status::unknown) {
    thread_.sleep(any_us(50, 800));
    doubtful_.reset();
    return landed;
  }
  if (database_.strikes(CellFault::append_orphaned)) {
    environment_.crash("before an append is acknowledged");
    return unknown;
  }
  const bool is_canceled = database_.strikes(CellFault::wait_canceled);
  if (is_canceled && environment_.mutant == Mutant::warning_is_ok) return {};
  if (is_canceled || !await_standbys()) return unknown;
  chain.acknowledge_through(link.last);
  thread_.sleep(any_us(50, 800));
  if (database_.strikes(CellFault::append_untold)) return unknown;
  doubtful_.reset();
  return {};
}

// Appends the link if the one before it is there, whoever has taken the log.
SharedAppend SimulatedSharedLog::append_of_any_epoch(const ChainLink& link) {
  MemoryChain& chain = *database_.chain();
  chain.delay(link);
  chain.land_delayed();
  const bool has_landed = chain.links().back().last == link.last;
  if (has_landed) chain.acknowledge_through(link.last);
  thread_.sleep(any_us(50, 800));
  if (has_landed) return {};
  return {SharedAppend::Status::conflict, "the link doesn't follow the shared log's end"};
}

Stored<bool> SimulatedSharedLog::beat(const Beat& beat) {
  TRY(travel());
  if (!await_standbys()) return no_answer_came();
  auto is_writer = connection_->beat(beat);
  thread_.sleep(any_us(50, 800));
  if (database_.strikes(CellFault::beat_untold)) return no_answer_came();
  return is_writer;
}

Stored<bool> SimulatedSharedLog::raise_level(std::uint64_t epoch, FeatureLevel level) {
  TRY(travel());
  if (!await_standbys()) return no_answer_came();
  return connection_->raise_level(epoch, level);
}

Stored<std::vector<ChainLink>> SimulatedSharedLog::read(Position prev, std::size_t count) {
  TRY(travel());
  auto links = connection_->read(prev, count);
  const bool is_resent = doubtful_ == prev && links && !links->empty();
  // As if the same commits had been encoded with other salts.
  if (is_resent && environment_.mutant == Mutant::resend_with_new_salt) {
    links->front().bytes += "other salts";
  }
  return links;
}

Stored<ChainLink> SimulatedSharedLog::last() {
  TRY(travel());
  return connection_->last();
}

Stored<TrimmedChain> SimulatedSharedLog::trim(std::uint64_t epoch, Position through,
                                              std::size_t count) {
  TRY(travel());
  const std::vector<ChainLink> before = database_.chain()->links();
  auto trimmed = connection_->trim(epoch, through, count);
  if (trimmed) database_.note_trimmed(std::span(before).first(trimmed->links));
  return trimmed;
}

Stored<std::optional<ChainLink>> SimulatedSharedLog::find(Position position) {
  TRY(travel());
  return connection_->find(position);
}

Stored<bool> SimulatedSharedLog::rewrite(std::uint64_t epoch, const ChainLink& link,
                                         const std::string& bytes) {
  TRY(travel());
  if (!await_standbys()) return no_answer_came();
  return connection_->rewrite(epoch, link, bytes);
}

Stored<void> SimulatedSharedLog::report(const ReplicaReport& report) {
  TRY(travel());
  database_.set_clock();
  return connection_->report(report);
}

Stored<std::vector<ReplicaReport>> SimulatedSharedLog::replicas() {
  TRY(travel());
  database_.set_clock();
  auto reports = connection_->replicas();
  if (reports && environment_.mutant == Mutant::trimmed_too_far) {
    const Position tail = database_.chain()->links().back().last;
    for (ReplicaReport& each : *reports) each.applied = tail;
  }
  return reports;
}

Stored<void> SimulatedSharedLog::take_name(const ReplicaReport& former,
                                           const std::string& identity) {
  TRY(travel());
  return connection_->take_name(former, identity);
}

Stored<SharedDurability> SimulatedSharedLog::durability() {
  TRY(travel());
  return connection_->durability();
}

}  // namespace signalbox::simulation
