#include "projections/base_redaction.h"

#include <optional>
#include <utility>
#include <vector>

#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

#include "domain/boxed.h"
#include "domain/evolve.h"
#include "domain/try.h"
#include "projections/card_row.h"
#include "projections/history_base.h"
#include "projections/noun_rows.h"
#include "projections/row_codec.h"
#include "projections/run_index_keys.h"
#include "projections/run_row.h"
#include "projections/tick_ledger.h"

namespace signalbox {
namespace {

namespace keys = run_index_keys;

tl::unexpected<StoreError> not_what_was_kept(const std::string& what) {
  return store_failure(StoreError::Kind::unsupported,
                       "the base at the log's horizon has another " + what +
                           " than the records that were kept lead to");
}

// Carries the differences between `before` and `after` over to a state that equals `before` where
// the two differ. A state that equals `after` there, because this was done before, is good too.
class Carry {
 public:
  template <class T>
  void over(T& state, const T& before, const T& after) {
    if constexpr (boost::describe::has_describe_members<T>::value) {
      using Members = boost::describe::describe_members<T, boost::describe::mod_public>;
      boost::mp11::mp_for_each<Members>([&](auto member) {
        over(state.*member.pointer, before.*member.pointer, after.*member.pointer);
      });
    } else if (!(before == after) && !(state == after)) {
      if (state == before) {
        state = after;
      } else {
        parts(state, before, after);
      }
    }
  }

  [[nodiscard]] bool conflicts() const { return conflicts_; }

 private:
  template <class T>
  void parts(T& /*state*/, const T& /*before*/, const T& /*after*/) {
    conflicts_ = true;
  }
  template <class T>
  void parts(std::vector<T>& state, const std::vector<T>& before, const std::vector<T>& after) {
    if (state.size() != before.size() || state.size() != after.size()) {
      conflicts_ = true;
      return;
    }
    for (std::size_t index = 0; index < state.size(); ++index) {
      over(state[index], before[index], after[index]);
    }
  }
  template <class Optional>
  void optional_parts(Optional& state, const Optional& before, const Optional& after) {
    if (!state || !before || !after) {
      conflicts_ = true;
      return;
    }
    over(*state, *before, *after);
  }
  template <class T>
  void parts(std::optional<T>& state, const std::optional<T>& before,
             const std::optional<T>& after) {
    optional_parts(state, before, after);
  }
  template <class T>
  void parts(Boxed<T>& state, const Boxed<T>& before, const Boxed<T>& after) {
    optional_parts(state, before, after);
  }

  bool conflicts_ = false;
};

using Records = std::vector<Record>;

// The records of one noun up to the horizon, as they are and with the replacement.
struct BothWays {
  Records before;
  Records after;
};

Stored<BothWays> records_of(const EventLog& log, const Record& record, const Event& replacement) {
  BothWays both;
  for (const PositionRange& range : log.horizon().kept) {
    TRY(log.scan(range.first, range.last, [&](Record&& each) {
      if (each.stream != record.stream) return true;
      both.before.push_back(each);
      if (each.position == record.position) each.event = replacement;
      both.after.push_back(std::move(each));
      return true;
    }));
  }
  return both;
}

template <class Row>
Stored<void> carry_row(HistoryBase& base, const std::string& key, const Row& before,
                       const Row& after, const char* what) {
  const auto place = base.rows.find(key);
  if (place == base.rows.end()) return {};
  auto row = TRY(decode_row<Row>(place->second));
  Carry carry;
  carry.over(row, before, after);
  if (carry.conflicts()) return not_what_was_kept(what);
  place->second = encode_row(row);
  return {};
}

std::optional<PipelineDefinition> pipeline_of(const HistoryBase& base, const Digest& digest) {
  const auto pinned = base.world.pipelines.find(digest);
  if (pinned != base.world.pipelines.end()) return *pinned->second.definition;
  const auto row = base.rows.find(keys::pipeline(digest));
  if (row == base.rows.end()) return std::nullopt;
  auto definition = decode_row<PipelineDefinition>(row->second);
  if (!definition) return std::nullopt;
  return *std::move(definition);
}

Stored<RunRow> run_row_of(const Records& records, const PipelineDefinition& pipeline) {
  RunRow row = row_of(records.front(), *event_as<RunStarted>(records.front().event), pipeline);
  for (const Record& record : records) {
    const bool is_start = event_as<RunStarted>(record.event) != nullptr;
    if (is_start || event_as<StationHeartbeat>(record.event) != nullptr) continue;
    TRY(apply(row, record));
  }
  return row;
}

// Moves the run in the lists by label. The values of labels are free text.
void carry_labels(HistoryBase& base, const RunRow& before, const RunRow& after) {
  const Position started = before.started_position;
  for (const auto& [name, value] : before.labels) {
    const auto blanked = after.labels.find(name);
    if (blanked == after.labels.end() || blanked->second == value) continue;
    if (base.rows.erase(keys::numbered(keys::label(name, value), started)) == 0) continue;
    base.rows.emplace(keys::numbered(keys::label(name, blanked->second), started), "");
  }
}

Stored<void> carry_run(HistoryBase& base, const RunId& id, const BothWays& both) {
  // A record may have been kept for another one of its command, and the base has nothing of its
  // run.
  if (!base.rows.contains(keys::raw(RunRows::ids, id))) return {};
  const auto* started = event_as<RunStarted>(both.before.front().event);
  if (started == nullptr) return not_what_was_kept("run");
  const auto pipeline = pipeline_of(base, started->pipeline_digest);
  if (!pipeline) return not_what_was_kept("pipeline");
  if (Run* run = base.world.find_run(id); run != nullptr) {
    const auto before = evolved_run(both.before, *pipeline);
    const auto after = evolved_run(both.after, *pipeline);
    if (before == nullptr || after == nullptr) return not_what_was_kept("run");
    Carry carry;
    carry.over(*run, *before, *after);
    if (carry.conflicts()) return not_what_was_kept("run");
  }
  const auto before = TRY(run_row_of(both.before, *pipeline));
  const auto after = TRY(run_row_of(both.after, *pipeline));
  carry_labels(base, before, after);
  return carry_row(base, keys::numbered("r", before.started_position), before, after, "run");
}

// Returns the card after its records, in a world with its project only; nullopt if it left the
// board.
std::optional<Card> card_of(const World& world, const Records& records) {
  const auto* submitted = event_as<CardSubmitted>(records.front().event);
  if (submitted == nullptr) return std::nullopt;
  const auto project = world.projects.find(submitted->project);
  if (project == world.projects.end()) return std::nullopt;
  World alone;
  alone.projects.insert(*project);
  for (const Record& record : records) {
    alone.position = record.position - 1;
    evolve(alone, record);
  }
  const Card* card = alone.board.find(records.front().stream.run_id);
  return card == nullptr ? std::nullopt : std::optional(*card);
}

Stored<void> carry_card(HistoryBase& base, const CardId& id, const BothWays& both) {
  if (!base.rows.contains(keys::raw(CardRows::ids, id))) return {};
  const auto* submitted = event_as<CardSubmitted>(both.before.front().event);
  if (submitted == nullptr) return not_what_was_kept("card");
  if (base.world.board.find(id) != nullptr) {
    const auto before = card_of(base.world, both.before);
    const auto after = card_of(base.world, both.after);
    if (!before || !after) return not_what_was_kept("card");
    Card& card = base.world.board.extract(id);
    Carry carry;
    carry.over(card, *before, *after);
    base.world.board.put_back(card);
    if (carry.conflicts()) return not_what_was_kept("card");
  }
  const auto row_after = [](const Records& records) -> Stored<CardRow> {
    CardRow row = card_row(records.front(), *event_as<CardSubmitted>(records.front().event));
    for (const Record& record : records) {
      if (event_as<CardSubmitted>(record.event) != nullptr) continue;
      TRY(apply(row, record));
    }
    return row;
  };
  const auto before = TRY(row_after(both.before));
  const auto after = TRY(row_after(both.after));
  return carry_row(base, keys::numbered("w", before.submitted_position), before, after, "card");
}

// A grant whose texts the state has: a lock's, a tick's. Other events of these leave none there.
Stored<void> carry_tick(HistoryBase& base, const Record& record, const Event& replacement) {
  Record replaced = record;
  replaced.event = replacement;
  const auto* before = event_as<TickStarted>(record.event);
  const auto* after = event_as<TickStarted>(replacement);
  Carry carry;
  const auto place = base.world.ticks.find(record.stream.name);
  if (before != nullptr && place != base.world.ticks.end() &&
      place->second.token == record.position) {
    Tick& tick = place->second;
    carry.over<std::string>(tick.stage, before->stage, after->stage);
    carry.over<std::string>(tick.reason, before->reason, after->reason);
  }
  if (carry.conflicts()) return not_what_was_kept("tick");
  // The rows of a tick's other events repeat the stage and the reason of its start.
  for (auto& [key, value] : base.rows) {
    if (key.empty() || key.front() != 't') continue;
    auto row = TRY(decode_row<TickRow>(value));
    if (row.position != record.position && (before == nullptr || row.token != record.position)) {
      continue;
    }
    if (row.position == record.position) {
      carry.over(row, tick_row(record, nullptr), tick_row(replaced, nullptr));
    } else {
      carry.over<std::string>(row.stage, before->stage, after->stage);
      if (row.reason == before->reason) row.reason = after->reason;
    }
    value = encode_row(row);
  }
  if (carry.conflicts()) return not_what_was_kept("tick");
  return {};
}

Stored<void> carry_lock(HistoryBase& base, const Record& record, const Event& replacement) {
  const auto* before = event_as<LockAcquired>(record.event);
  const auto place = base.world.locks.find(record.stream.name);
  if (before == nullptr || place == base.world.locks.end() ||
      place->second.token != record.position) {
    return {};
  }
  Carry carry;
  carry.over<std::string>(place->second.reason, before->reason,
                          event_as<LockAcquired>(replacement)->reason);
  if (carry.conflicts()) return not_what_was_kept("lock");
  return {};
}

Stored<void> carry_access(HistoryBase& base, const Record& record, const Event& replacement) {
  const auto* before = event_as<AccessTokenRevoked>(record.event);
  if (before == nullptr) return {};
  Carry carry;
  for (AccessToken& token : base.world.access.tokens) {
    if (token.id != before->id) continue;
    carry.over<std::string>(token.revoked_reason, before->reason,
                            event_as<AccessTokenRevoked>(replacement)->reason);
  }
  if (carry.conflicts()) return not_what_was_kept("token");
  return {};
}

// Of the service's own events only the pause in force leaves a free text in the state.
Stored<void> carry_server(HistoryBase& base, const Record& record, const Event& replacement) {
  const auto* before = event_as<ServicePaused>(record.event);
  auto& pause = base.world.server.pause;
  if (before == nullptr || !pause || pause->position != record.position) return {};
  Carry carry;
  carry.over<std::string>(pause->reason, before->reason,
                          event_as<ServicePaused>(replacement)->reason);
  if (carry.conflicts()) return not_what_was_kept("pause of the service");
  return {};
}

}  // namespace

Stored<std::string> redacted_base(const EventLog& log, const Record& record,
                                  const Event& replacement) {
  auto base = TRY(read_history_base(log));
  Stored<void> carried;
  switch (record.stream.kind) {
    case StreamKind::run:
    case StreamKind::card: {
      const auto both = TRY(records_of(log, record, replacement));
      if (both.before.empty()) return not_what_was_kept("run");
      carried = record.stream.kind == StreamKind::run
                    ? carry_run(base, record.stream.run_id, both)
                    : carry_card(base, record.stream.run_id, both);
      break;
    }
    case StreamKind::tick:
      carried = carry_tick(base, record, replacement);
      break;
    case StreamKind::lock:
      carried = carry_lock(base, record, replacement);
      break;
    case StreamKind::access:
      carried = carry_access(base, record, replacement);
      break;
    case StreamKind::server:
      carried = carry_server(base, record, replacement);
      break;
    case StreamKind::project:
      break;  // the state has no free text of theirs
  }
  TRY(carried);
  return encode_history_base(base);
}

}  // namespace signalbox
