#include "projections/kept_rows.h"

#include <map>
#include <utility>
#include <vector>

#include "domain/check.h"
#include "domain/try.h"
#include "projections/noun_rows.h"
#include "projections/row_codec.h"
#include "projections/run_index.h"
#include "projections/run_index_keys.h"

namespace signalbox {
namespace {

namespace keys = run_index_keys;

using IsRemembered = std::function<bool(const std::string& idempotency_key)>;
using PutRow = std::function<void(std::string_view key, std::string_view value)>;

class KeptRowFilter {
 public:
  KeptRowFilter(const Table& table, const KeptNouns& kept, const IsRemembered& is_remembered,
                const PutRow& put)
      : table_(table),
        kept_(kept),
        is_remembered_(is_remembered),
        put_(put),
        pipelines_(kept.pipelines) {}

  // Goes through all rows. The rows of runs and cards come first: they decide which others are
  // kept.
  Stored<void> filter() {
    if (auto done = each("r", [this](auto key, auto value) { return run(key, value); }); !done) {
      return done;
    }
    if (auto done = each("w", [this](auto key, auto value) { return card(key, value); }); !done) {
      return done;
    }
    for (const char kind : std::string_view("ev")) {
      TRY(positions(kind));
    }
    if (auto done = each("k", [this](auto key, auto value) { return idempotency_key(key, value); });
        !done) {
      return done;
    }
    for (const auto& [ended, key] : dropped_keys_) put_(key, keys::number_bytes(ended));
    for (const char kind : std::string_view("abcdfghijlmnopqstuxyz")) {
      auto done = each(std::string(1, kind), [this](auto key, auto value) -> Stored<void> {
        if (is_kept(key, value)) put_(key, value);
        return {};
      });
      if (!done) return done;
    }
    put_counts();
    return {};
  }

 private:
  Stored<void> each(const std::string& prefix,
                    const std::function<Stored<void>(std::string_view, std::string_view)>& visit) {
    Stored<void> outcome;
    auto scanned = table_.scan(prefix, prefix, ScanOrder::ascending,
                               [&](std::string_view key, std::string_view value) {
                                 outcome = visit(key, value);
                                 return outcome.has_value();
                               });
    return scanned ? outcome : scanned;
  }

  Stored<void> run(std::string_view key, std::string_view value) {
    const auto row = TRY(decode_row<RunRow>(value));
    const Position started = row.started_position;
    if (!kept_.runs.contains(row.run_id)) {
      if (!row.idempotency_key.empty()) ends_of_dropped_.emplace(started, row.ended_position);
      return {};
    }
    runs_.insert(started);
    pipelines_.insert(row.pipeline_digest);
    ++run_counts_.of(row.status);
    const auto [place, is_first] =
        hours_.try_emplace(keys::hour_of(row.started_at_ns), started, started);
    place->second.second = started;  // the scan is in the order of the runs' starts
    put_(key, value);
    return {};
  }

  // A key outlasts its run, so that it never starts a second one.
  Stored<void> idempotency_key(std::string_view key, std::string_view value) {
    const Position started = keys::trailing_number(value);
    if (runs_.contains(started)) {
      put_(key, value);
      return {};
    }
    if (is_remembered_(std::string(key.substr(1)))) return {};
    // The row of a run that an earlier retention dropped has its end already.
    const auto dropped = ends_of_dropped_.find(started);
    dropped_keys_.emplace(dropped == ends_of_dropped_.end() ? started : dropped->second, key);
    if (dropped_keys_.size() > limits::dropped_run_keys_max) {
      dropped_keys_.erase(dropped_keys_.begin());
    }
    return {};
  }

  Stored<void> card(std::string_view key, std::string_view value) {
    auto row = TRY(decode_row<CardRow>(value));
    if (!kept_.cards.contains(row.card_id)) return {};
    cards_.insert(row.submitted_position);
    ++card_counts_[row.project].of(row.status);
    put_(key, value);
    return {};
  }

  // Copies the lists of positions. Each list is stored in one part per batch; the parts are joined
  // here, so that a base doesn't depend on how the records were batched.
  Stored<void> positions(char kind) {
    const std::set<Position>& kept_owners = kind == 'e' ? runs_ : cards_;
    Position owner = 0;
    std::vector<Position> gathered;
    const auto put_gathered = [&] {
      if (gathered.empty()) return;
      std::string list;
      Position before = 0;
      for (const Position each : gathered) {
        append_position(list, before, each);
        before = each;
      }
      put_(keys::numbered(keys::numbered(std::string(1, kind), owner), gathered.front()), list);
      gathered.clear();
    };
    auto done = each(std::string(1, kind), [&](auto key, auto value) -> Stored<void> {
      const Position of = keys::trailing_number(key.substr(0, 9));
      if (of != owner) put_gathered();
      owner = of;
      if (!kept_owners.contains(of)) return {};
      const auto part = decode_positions(value);
      if (!part) {
        StoreError error;
        error.kind = StoreError::Kind::damaged;
        error.message = "the run index has a list of positions that can't be read";
        return tl::unexpected(std::move(error));
      }
      gathered.insert(gathered.end(), part->begin(), part->end());
      return {};
    });
    put_gathered();
    return done;
  }

  // Decides by the kind of the key; run_index_keys.h lists the kinds.
  [[nodiscard]] bool is_kept(std::string_view key, std::string_view value) const {
    switch (key.front()) {
      case 'i':
        return runs_.contains(keys::trailing_number(value));
      case 's':
      case 'p':
      case 'l':
        return runs_.contains(keys::trailing_number(key));
      case 'd':
        return pipelines_.contains(digest_in(key));
      case 't':
      case 'o':
      case 'u':
        return kept_.ticks.contains(keys::trailing_number(key));
      case 'j':
      case 'x':
        return cards_.contains(keys::trailing_number(value));
      case 'm':
      case 'n':
      case 'q':
        return cards_.contains(keys::trailing_number(key));
      case 'f':
      case 'y':
      case 'z':
        return true;
      case 'b':  // written when a table is started from the base
      case 'c':
      case 'g':
      case 'h':  // computed anew by put_counts()
        return false;
      default:
        break;
    }
    SIGNALBOX_CHECK(!"this switch decides about every kind of row");
    return false;
  }

  static Digest digest_in(std::string_view key) {
    Digest digest;
    SIGNALBOX_CHECK(key.size() == 1 + digest.bytes.size());
    std::copy_n(key.begin() + 1, digest.bytes.size(), digest.bytes.begin());
    return digest;
  }

  void put_counts() {
    if (!runs_.empty()) put_(keys::counts, encode_row(run_counts_));
    for (const auto& [project, counts] : card_counts_) {
      put_(keys::text('g', project), encode_row(counts));
    }
    for (const auto& [hour, span] : hours_) {
      std::string value;
      keys::append_big_endian(value, span.first);
      keys::append_big_endian(value, span.second);
      put_(keys::hour(hour), value);
    }
  }

  const Table& table_;
  const KeptNouns& kept_;
  const IsRemembered& is_remembered_;
  const PutRow& put_;
  std::map<Position, Position> ends_of_dropped_;       // of runs with a key, by their starts
  std::multimap<Position, std::string> dropped_keys_;  // rows of keys, by the ends of their runs
  std::set<Position> runs_;                            // by the positions of their RunStarted
  std::set<Position> cards_;                           // by the positions of their CardSubmitted
  std::set<Digest> pipelines_;
  RunCounts run_counts_;
  std::map<std::string, CardCounts> card_counts_;
  std::map<std::uint64_t, std::pair<Position, Position>> hours_;
};

}  // namespace

Stored<void> for_each_kept_row(const Table& table, const KeptNouns& kept,
                               const IsRemembered& is_remembered, const PutRow& put) {
  return KeptRowFilter(table, kept, is_remembered, put).filter();
}

}  // namespace signalbox
